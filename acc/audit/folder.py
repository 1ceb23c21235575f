"""Audit logs in a folder, each in files (`acc.audit.segments`). All processes of a machine may share it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path

from filelock import BaseFileLock, FileLock

from acc.audit import segments
from acc.audit.medium import SUFFIX, AuditPlace, End, other_end
from acc.audit.record import changed, is_whole
from acc.errors import AuditError
from acc.folders import (
    PRIVATE_FILE,
    file_errors,
    is_private,
    opened_private,
    private_folder,
    replace_file,
    sync_folder,
    synced,
    tighten,
)

LOCK_SECONDS = 30
"""Maximum time in seconds that a writer waits for another process to write its record."""

_UNFINISHED = ".erasing"


class FolderLogs:
    """The logs in ``folder``; an `acc.audit.medium.AuditStore`. An edition of a log is its inode.

    ``sync`` writes each line to the disk before `append` returns.
    """

    def __init__(self, folder: Path, *, sync: bool = True) -> None:
        self.folder = folder
        self._sync = sync

    @property
    def shared(self) -> bool:
        return False

    @cached_property
    def lock(self) -> BaseFileLock:
        """The lock to hold while a log is written; all logs of a folder and all processes share it."""
        beside = self.folder.with_name(f"{self.folder.name}.lock")
        return FileLock(beside, timeout=LOCK_SECONDS, mode=PRIVATE_FILE)

    def where(self, name: str) -> str:
        return str(self.folder / name)

    def names(self) -> list[str]:
        with _readable(self.folder):
            return sorted(p.name for p in self.folder.glob(f"*{SUFFIX}"))

    def ends(self) -> dict[str, End]:
        found = ((name, self.end(name)) for name in self.names())
        return {name: end for name, end in found if end is not None}

    def end(self, name: str) -> End | None:
        path = self.folder / name
        with _readable(path):
            return _end(path)

    def append(self, name: str, line: bytes, after: End | None) -> End:
        path = self.folder / name
        hint = "free disk space, or choose another folder with audit=..."
        with file_errors(AuditError, "the audit record cannot be written", where=path, hint=hint):
            private_folder(self.folder)
            with self.lock:
                if _end(path) != after:
                    raise other_end(str(path))
                length = self._create(path, line) if after is None else self._extend(path, line)
                return End(path.stat().st_ino, length)

    def _extend(self, path: Path, line: bytes) -> int:
        _drop_torn_line(path)
        segments.rotate(path, sync=self._sync)
        with opened_private(path, "ab") as file:
            file.write(line)
            if self._sync:
                synced(file)
            return file.tell()

    def _create(self, path: Path, line: bytes) -> int:
        # A killed writer must not leave a new log without a whole record: an empty log means that
        # somebody emptied it.
        if segments.has_segments(path):
            raise AuditError(
                "the file of the log's newest records is missing, but its older records are there",
                where=str(path),
                hint="restore the file from a backup, or move its folder of segments away",
            )
        replace_file(path, [line], half=path.with_suffix(segments.HALF), sync=self._sync)
        return len(line)

    def lines(self, name: str) -> Iterator[bytes]:
        path = self.folder / name
        with _readable(path):
            yield from segments.lines(path)

    def newest_first(self, name: str, words: bytes = b"") -> Iterator[bytes]:
        path = self.folder / name
        with _readable(path):
            for line in segments.newest_first(path):
                if words in line:
                    yield line

    def rewrite(self, name: str, change: Callable[[], Iterable[bytes] | None]) -> None:
        path = self.folder / name
        unfinished = path.with_name(path.name + _UNFINISHED)
        _refuse_link(path)
        hint = (
            "free disk space, or give this user write access there, and open the memory again: an "
            "erasure then completes"
        )
        with file_errors(AuditError, "the audit log cannot be written", where=path, hint=hint):
            private_folder(self.folder)
            with self.lock:
                try:
                    if path.exists():
                        segments.drop_unused(path)
                    if (lines := change()) is None:
                        return
                    with opened_private(unfinished) as file:
                        file.writelines(lines)
                        synced(file)
                    segments.join(path)
                    os.replace(unfinished, path)
                    sync_folder(self.folder)
                finally:  # a kill may have left one, too
                    unfinished.unlink(missing_ok=True)

    def delete(self, name: str) -> None:
        path = self.folder / name
        _refuse_link(path)
        hint = "give this user write access to the folder"
        with file_errors(AuditError, "the audit log cannot be deleted", where=path, hint=hint):
            segments.remove(path)
            if path.exists():
                path.unlink()

    def tidy(self) -> None:
        """Remove the incomplete first records of killed writers; no log uses them."""
        if not self.folder.is_dir():
            return
        with _readable(self.folder), self.lock:
            for half in self.folder.glob(f"*{segments.HALF}"):
                half.unlink()

    def close(self) -> None:
        """Do nothing: a file is open only while it is read or written."""


def folder_beside(place: AuditPlace | None) -> Path | None:
    """Return the folder for a memory's own files: the parent of a folder of logs; None for a database."""
    if isinstance(place, FolderLogs):
        place = place.folder
    return place.absolute().parent if isinstance(place, Path) else None


def keep_private(place: AuditPlace | None) -> None:
    """Restrict the logs in a folder to their owner; older versions left them readable for others."""
    if isinstance(place, Path) and place.is_dir() and not is_private(place):
        tighten([*place.iterdir(), place, place.with_name(f"{place.name}.lock")])


def _end(path: Path) -> End | None:
    if not path.exists():
        return None
    found = path.stat()
    return End(found.st_ino, found.st_size)


def _refuse_link(path: Path) -> None:
    for each in (path, segments.folder_of(path)):
        if each.is_symlink():
            raise AuditError(
                "the audit log is a link: the file behind it would keep what is erased",
                where=str(each),
                hint="move the file or folder itself to this place",
            )


def _drop_torn_line(path: Path) -> None:
    """Complete or drop the last line of a file if it has no line feed, as after a kill."""
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        if file.read(1) in (b"\n", b""):
            return
        if (torn := segments.last(path)) is None:
            return  # a device, which has no size
        if is_whole(torn[:-1]) and not is_whole(torn):
            raise changed(str(path))
        if is_whole(torn):
            file.seek(end)
            file.write(b"\n")
        else:
            file.truncate(end - len(torn))


def _readable(path: Path) -> AbstractContextManager[None]:
    hint = "give the audit folder of a memory, and let this user read it"
    return file_errors(AuditError, "the audit log cannot be read", where=path, hint=hint)
