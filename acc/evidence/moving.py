"""Export and import: threads as JSON lines that `zcat`, `jq` and another memory read, with the chain of hashes.

The lines of each thread follow each other (`acc.journal.exchange`). What is exported is noted: an erasure names the
files that may still hold the words.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

from acc.errors import InputError, StoreError
from acc.evidence.base import Base
from acc.folders import expanded, file_errors, opened_private, private_folder
from acc.journal import ThreadKey
from acc.journal.opened import Key


@dataclass(frozen=True)
class Exported:
    """An export: the file, and how many threads and lines it holds."""

    path: Path
    threads: int
    lines: int


class Moving(Base):
    """Exports, imports, backups."""

    def lines(self, *, thread: Key | None = None, **scope: str | None) -> Iterator[str]:
        """Yield threads as JSON lines, with the chain (`acc.journal.exchange`)."""
        return chain.from_iterable(map(self.journal.export, self.threads(thread, **scope)))

    def export(self, to: Path | str, *, thread: Key | None = None, **scope: str | None) -> Exported:
        """Write threads to a new file of JSON lines, compressed if its name ends with ``.gz``.

        Raises:
            InputError: There is no such thread, or the file is there.
            StoreError: It cannot be written.
        """
        file, keys, count = expanded(to), list(self.threads(thread, **scope)), 0
        if not keys:
            raise InputError(
                "there is no such thread", where=str(file), hint="acc threads lists the threads"
            )
        with _created(file) as out:
            for line in chain.from_iterable(map(self.journal.export, keys)):
                out.write(f"{line}\n".encode())
                count += 1
        self.journal.note_copy(str(file.absolute()), f"an export of {len(keys)} threads")
        return Exported(file, len(keys), count)

    def import_(self, source: Path | str | Iterable[str]) -> tuple[ThreadKey, ...]:
        """Write the threads of an export, a file or lines, all or nothing.

        Raises:
            InputError: It is no export, or it was changed.
            ConflictError: A thread is in the memory already.
        """
        lines = _read(expanded(source)) if isinstance(source, str | Path) else source
        keys = self.journal.import_(lines)
        for key in keys:
            for head in self.journal.branches(key):
                with suppress(StoreError):  # it lags, and `health` says so
                    self.parts.index.refill(key, head.branch)
        return keys

    def backup(self, to: Path | str) -> Path:
        """Copy the journal to a new file while others write, and note where: an erasure names it.

        Raises:
            InputError: There is such a file.
        """
        path = self.journal.backup(to)
        self.journal.note_copy(str(path.absolute()), "a backup")
        return path


@contextmanager
def _created(to: Path) -> Iterator[IO[bytes]]:
    """Open a new file for its owner alone, packed if its name says so; what fails leaves none."""
    with file_errors(StoreError, "the export cannot be written", where=to, hint="check the disk"):
        private_folder(to.parent)
        try:
            file = opened_private(to, "xb")
        except FileExistsError as error:
            raise InputError(
                "the file is there already", where=str(to), hint="name a new one"
            ) from error
        try:
            with file:
                if to.suffix != ".gz":
                    yield file
                    return
                with gzip.GzipFile(to.stem, "wb", fileobj=file, mtime=0) as packed:
                    yield cast("IO[bytes]", packed)
        except BaseException:
            with suppress(OSError):
                to.unlink()
            raise


def _read(path: Path) -> Iterator[str]:
    opening: Any = gzip.open if path.suffix == ".gz" else open
    damaged = (EOFError, zlib.error, UnicodeDecodeError)
    hint = "give a file that acc export wrote"
    with (
        file_errors(InputError, "the file cannot be read", where=path, hint=hint, besides=damaged),
        opening(path, "rt", encoding="utf-8") as file,
    ):
        yield from file
