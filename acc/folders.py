"""Folders and files: only their owner can read what the library creates, whatever the umask is; and where they lie.

Files of other owners, and file systems without modes, are left unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from acc.errors import AccError, ConfigurationError, InputError

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600


def private_folder(folder: Path) -> Path:
    """Create ``folder`` and its missing parents for the owner alone; return ``folder``."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    if not folder.is_dir():
        folder.mkdir()  # raises FileExistsError: the path is a file
    return folder


def opened_private(file: Path, mode: str = "wb", **how: Any) -> IO[Any]:
    """Open ``file`` like `open`; a new file is readable by its owner alone."""
    return open(file, mode, opener=_private, **how)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, PRIVATE_FILE)


@contextmanager
def file_errors(
    kind: type[AccError],
    what: str,
    *,
    where: object,
    hint: str,
    besides: tuple[type[BaseException], ...] = (),
) -> Iterator[None]:
    """Raise an error of ``kind`` for an `OSError` in the block: ``what`` and the system's words.

    The time-out of a file lock is an `OSError`, too. ``besides`` are further exceptions with this meaning.
    """
    kinds: tuple[type[BaseException], ...] = (OSError, *besides)
    try:
        yield
    except kinds as error:
        said = getattr(error, "strerror", "") or error
        raise kind(f"{what}: {said}", where=str(where), hint=hint) from error


def refuse_memorys(out: Path) -> None:
    """Raise `InputError` if writing to ``out`` would overwrite a file of a memory."""
    folders = out.resolve().parents[:2]  # a memory's folder, or its folders of indexes
    names = ("journal.sqlite3", "chroma.sqlite3")
    if out.exists() and any((folder / name).exists() for folder in folders for name in names):
        raise InputError(
            "the output would overwrite a file of a memory",
            where=str(out),
            hint="choose a file outside the memory's folder",
        )


def expanded(path: str | Path) -> Path:
    """Return ``path`` with ``~`` replaced by the home folder; `ConfigurationError` if that is unknown."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ConfigurationError(
            f"the home folder in {path!s} is unknown: {error}",
            where="folder",
            hint="write the path without ~",
        ) from error


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
