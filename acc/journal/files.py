"""The files of a SQLite journal: on which file system they lie, and whether they are still there.

SQLite's locks and its write-ahead log lie in files beside the database. Who deletes one of them while a process has
it open, splits the journal in two without an error. So the journal looks before it tells a caller that a commit is
safe.
"""

from __future__ import annotations

import os
from pathlib import Path

from acc.errors import InputError, StoreError

NETWORK = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "9p", "afs", "ncpfs", "ceph",
        "glusterfs", "lustre", "beegfs", "gpfs", "ocfs2", "gfs2", "davfs", "virtiofs", "vboxsf",
        "prl_fs", "vmhgfs", "acfs", "coda", "orangefs", "pvfs2",
    }
)  # fmt: skip
"""File systems without memory that several machines share, which a write-ahead log needs."""

_LOCAL_FUSE = frozenset({"fuseblk", "fuse.ntfs-3g", "fuse.ext2", "fuse.gocryptfs", "fuse.encfs"})


def is_network(kind: str) -> bool:
    """Whether a file system of this type may lie on another machine; unknown ones of FUSE may."""
    name = kind.lower()
    return name in NETWORK or (name.startswith("fuse") and name not in _LOCAL_FUSE)


_WITH_LOG = b"\x02"
"""Byte 18 of a database of SQLite with a write-ahead log."""


def mode_of(path: Path) -> str:
    """Return the mode of a journal's file.

    Raises:
        InputError: There is no journal.
    """
    try:
        with path.open("rb") as file:
            header = file.read(19)
    except OSError:
        header = b""
    if not header:
        raise InputError(
            "there is no memory in this folder", where=str(path.parent),
            hint="name the folder that MemoryController.open or acc got with --memory",
        )  # fmt: skip
    return "wal" if header[18:] == _WITH_LOG else "delete"


def file_system(folder: Path, mounts: str = "/proc/mounts") -> str:
    """Return the type of the file system that ``folder`` lies on; empty where it cannot be told."""
    try:
        lines = Path(mounts).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    place, best, kind = folder.resolve(), -1, ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(fields[1].replace("\\040", " ").replace("\\011", "\t"))
        depth = len(point.parts)
        if depth >= best and (place == point or point in place.parents):  # the last mount covers
            best, kind = depth, fields[2]
    return kind


class Files:
    """The files that the open connections of this process use.

    Args:
        path: The database.
        has_log: Whether there is a write-ahead log beside it.
    """

    def __init__(self, path: Path, *, has_log: bool) -> None:
        self.path = path
        names = ["", "-wal", "-shm"] if has_log else [""]
        self._paths = [f"{path}{name}" for name in names]
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
        if now == self._seen and None not in now:
            return []
        pairs = zip(self._paths, self._seen, now, strict=False)
        return [path for path, before, after in pairs if before is None or before != after]

    def lost(self, changed: list[str]) -> StoreError:
        """Return the error that says so."""
        return StoreError(
            f"{', '.join(Path(each).name for each in changed)} was deleted or replaced while in use",
            where=str(self.path),
            hint="leave the files of a journal alone while a process runs; repeat the step, then run acc verify",
        )


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
