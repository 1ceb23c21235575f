"""On which file system a folder lies: a write-ahead log of SQLite needs memory that its readers share."""

from __future__ import annotations

from pathlib import Path

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
