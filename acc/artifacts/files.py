"""The vector indexes of an embedded Chroma: which are cut, and what stays in them that was deleted.

Chroma writes a vector index at full capacity, from memory that it does not clear. All functions are for a Chroma that
is closed.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

_HEADER = struct.Struct("<i4Q")
"""Of an index's header.bin: format, offset, capacity, number of elements, size of an element."""


def drop_cut_indexes(folder: Path) -> bool:
    """Delete vector indexes that a power cut has left cut, as Chroma would crash on them; return whether any was.

    Chroma starts such a collection with an empty index.
    """
    cut = [each for each in _indexes(folder) if (each / "header.bin").exists() and not _is_whole(each)]  # fmt: skip
    for each in cut:
        shutil.rmtree(each)
    return bool(cut)


def blank_unused(folder: Path) -> None:
    """Overwrite the part of the vector indexes that no element uses: a text erased since can be there."""
    for index in filter(_is_whole, _indexes(folder)):
        count, size = _sizes(index)
        for name, used in (("data_level0.bin", count * size), ("length.bin", count * 4)):
            with (index / name).open("r+b") as file:
                rest = file.seek(0, os.SEEK_END) - used
                file.seek(used)
                file.write(bytes(rest))


def _indexes(folder: Path) -> Iterator[Path]:
    """Yield the folders of vector indexes: Chroma names them by UUIDs."""
    for path in folder.glob("*"):
        with suppress(ValueError):
            if path.is_dir() and str(UUID(path.name)) == path.name:
                yield path


def _is_whole(index: Path) -> bool:
    try:
        count, size = _sizes(index)
        data, lengths = ((index / n).stat().st_size for n in ("data_level0.bin", "length.bin"))
    except (OSError, struct.error):
        return False
    named = not count or (index / "index_metadata.pickle").is_file()
    return named and data >= count * size and lengths >= count * 4


def _sizes(index: Path) -> tuple[int, int]:
    """Return how many elements an index has, and the bytes of one."""
    *_, count, size = _HEADER.unpack_from((index / "header.bin").read_bytes())
    return count, size
