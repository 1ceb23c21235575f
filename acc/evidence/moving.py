"""Export and import: threads as JSON lines that `zcat`, `jq` and another memory read, with the chain of hashes.

The lines of each thread follow each other (`acc.journal.exchange`). What is exported is noted: an erasure names the
files that may still hold the words.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

from acc.controller.parts import Parts
from acc.errors import InputError, StoreError
from acc.folders import file_errors, opened_private, private_folder
from acc.journal import Journal, ThreadKey


@dataclass(frozen=True)
class Exported:
    """An export: the file, and how many threads and lines it holds."""

    path: Path
    threads: int
    lines: int


def export(journal: Journal, threads: Iterable[ThreadKey], to: Path) -> Exported:
    """Write threads to a new file, for its owner alone; compressed if its name ends with ``.gz``.

    Raises:
        InputError: There is no such thread, or the file is there.
        StoreError: It cannot be written.
    """
    keys = list(threads)
    if not keys:
        raise InputError(
            "there is no such thread", where=str(to), hint="acc threads lists the threads"
        )
    count = 0
    with file_errors(StoreError, "the export cannot be written", where=to, hint="check the disk"):
        private_folder(to.parent)
        try:
            file = opened_private(to, "xb")
        except FileExistsError as error:
            raise InputError(
                "the file is there already", where=str(to), hint="name a new one"
            ) from error
        try:
            with file, _packed(file, to) as out:
                for line in chain.from_iterable(map(journal.export, keys)):
                    out.write(f"{line}\n".encode())
                    count += 1
        except BaseException:
            with suppress(OSError):
                to.unlink()
            raise
    journal.note_copy(str(to.absolute()), f"an export of {len(keys)} threads")
    return Exported(to, len(keys), count)


def _packed(file: IO[bytes], to: Path) -> IO[bytes]:
    if to.suffix == ".gz":
        return cast("IO[bytes]", gzip.GzipFile(to.stem, "wb", fileobj=file, mtime=0))
    return file


def import_(parts: Parts[Any], source: Path | Iterable[str]) -> tuple[ThreadKey, ...]:
    """Write the threads of an export, all or nothing, and index them.

    Raises:
        InputError: It is no export, or it was changed.
        ConflictError: A thread is in the memory already.
    """
    lines = _read(source) if isinstance(source, Path) else source
    keys = parts.journal.import_all(lines)
    for key in keys:
        for head in parts.journal.branches(key):
            with suppress(StoreError):  # it lags, and `health` says so
                parts.index.refill(key, head.branch)
    return keys


def _read(path: Path) -> Iterator[str]:
    opening: Any = gzip.open if path.suffix == ".gz" else open
    damaged = (EOFError, zlib.error, UnicodeDecodeError)
    hint = "give a file that acc export wrote"
    with (
        file_errors(InputError, "the file cannot be read", where=path, hint=hint, besides=damaged),
        opening(path, "rt", encoding="utf-8") as file,
    ):
        yield from file
