"""The files of an embedded Chroma: which indexes are cut, and what stays in them that was deleted.

Chroma only marks deletions: SQLite keeps texts in free pages, in its queue of writes and in the trigram index, and the
folder of a deleted collection's vectors stays. It writes a vector index at full capacity, from memory that it does not
clear. All functions are for a Chroma that is closed.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from uuid import UUID

DATABASE = "chroma.sqlite3"

_HEADER = struct.Struct("<i4Q")
"""Of an index's header.bin: format, offset, capacity, number of elements, size of an element."""

_SCRUB = (
    # The newest row stays, emptied: the numbers of later rows go on from it, and Chroma skips lower ones.
    "UPDATE embeddings_queue SET vector = NULL, metadata = NULL WHERE {gone}",
    "DELETE FROM embeddings_queue WHERE {gone} AND seq_id < (SELECT max(seq_id) FROM embeddings_queue)",
    "DELETE FROM embedding_metadata WHERE id NOT IN (SELECT id FROM embeddings)",
    "DELETE FROM embedding_fulltext_search WHERE rowid NOT IN (SELECT id FROM embeddings)",
    "INSERT INTO embedding_fulltext_search(embedding_fulltext_search) VALUES ('rebuild')",
)
_GONE = "substr(topic, -36) NOT IN (SELECT id FROM collections)"


def scrub(folder: Path) -> None:
    """Rewrite the files without what their collections no longer hold."""
    with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as database:
        database.execute("PRAGMA secure_delete = ON")
        database.execute("BEGIN IMMEDIATE")
        for statement in _SCRUB:
            database.execute(statement.format(gone=_GONE))
        database.execute("COMMIT")
        database.execute("VACUUM")
        live = {row[0] for row in database.execute("SELECT id FROM segments")}
    for path in _indexes(folder):
        if path.name not in live:
            shutil.rmtree(path)


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
