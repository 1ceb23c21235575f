"""The files of a SQLite journal: whether they have a log, and whether they are still there.

SQLite's locks and its write-ahead log lie in files beside the database. Who deletes one of them while a process has
it open, splits the journal in two without an error. So the journal looks before it tells a caller that a commit is
safe.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from acc.errors import InputError, StoreError
from acc.folders import opened_private, private_folder

_WITH_LOG = b"\x02"
"""Byte 18 of a database of SQLite with a write-ahead log."""


def create(path: Path) -> None:
    """Make a file for its owner alone, unless it is there."""
    private_folder(path.parent)
    with suppress(FileExistsError), opened_private(path, "xb"):
        pass


def mode_of(path: Path) -> str:
    """Return the mode of a journal's file.

    Raises:
        InputError: There is no journal.
    """
    header = b""
    with suppress(OSError), path.open("rb") as file:
        header = file.read(19)
    if not header:
        raise InputError(
            "there is no memory in this folder", where=str(path.parent),
            hint="name the folder that MemoryController.open or acc got with --memory",
        )  # fmt: skip
    return "wal" if header[18:] == _WITH_LOG else "delete"


class Files:
    """The files that the open connections of this process use: the database and, if it has one, its log."""

    def __init__(self, path: Path, *, has_log: bool) -> None:
        self._paths = [f"{path}{name}" for name in (["", "-wal", "-shm"] if has_log else [""])]
        self._seen: list[tuple[int, int] | None] = []

    def forget(self) -> None:
        """Look anew: no connection is open any more."""
        self._seen = []

    def remember(self) -> None:
        """Keep which files there are, unless they are known. A connection is open and has read."""
        if not self._seen or None in self._seen:
            self._seen = [_identity(path) for path in self._paths]

    def changed(self) -> list[str]:
        """Return the files that were deleted or replaced since, or that were missing while a connection had read."""
        now = [_identity(path) for path in self._paths]
        pairs = zip(self._paths, self._seen, now, strict=False)
        return [path for path, before, after in pairs if before is None or before != after]

    def lost(self, changed: list[str]) -> StoreError:
        """Return the error that says so."""
        return StoreError(
            f"{', '.join(Path(each).name for each in changed)} was deleted or replaced while in use",
            where=self._paths[0],
            hint="leave the files of a journal alone while a process runs; repeat the step, then run acc verify",
        )


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
