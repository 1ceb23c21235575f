"""A consistent copy of a memory's folder, while other processes write to it.

A step stores its evidence first and writes its audit record last. While the lock of the audit folder is
held, no step ends: every thread is at most one begun turn ahead of its log. The logs are copied first, then
the database by SQLite's own backup. The copy is therefore what a kill at that moment would have left, and
the next opening recovers it exactly. Vector indexes are left out: ACC uses none.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from acc.audit.folder import FolderLogs
from acc.audit.medium import AuditPlace
from acc.audit.segments import files_of
from acc.errors import ConfigurationError, ConflictError, InputError, StoreError
from acc.evidence.marks import FolderMarks
from acc.evidence.upkeep import interrupted
from acc.folders import file_errors, opened_private, private_folder, sync_folder, synced

DATABASE = "chroma.sqlite3"

WAIT_SECONDS = 60
"""Maximum time in seconds to wait for a writer to release the database."""

_KEPT = ("acc.key", "erasures.jsonl", "checkpoints-*.json")
"""Further files of a memory that a copy needs. Locks, and marks of work under way, belong to the original."""


class Copied(NamedTuple):
    """The result of a backup.

    Attributes:
        logs: Number of copied audit logs.
        bytes: Size of the copy.
    """

    logs: int
    bytes: int


def back_up(folder: Path, audit: AuditPlace | None, to: Path) -> Copied:
    """Copy the memory in ``folder`` with its audit logs to the new folder ``to``.

    Steps wait while the copy is made. A failure or a kill leaves no folder ``to``. To restore the memory,
    put the copy in the place of its folder.

    Args:
        folder: The folder of the memory.
        audit: The folder of its audit logs; the copy has them in ``audit``. None if it keeps none.
        to: The folder to create.

    Raises:
        ConfigurationError: The audit logs are not in a folder.
        InputError: ``to`` exists, or ``folder`` holds no database.
        ConflictError: An erasure, a prune, an import or a vacuum is under way.
        StoreError: The files cannot be read or written, or the database is damaged.
    """
    if audit is not None and not isinstance(audit, Path):
        raise ConfigurationError(
            "the audit logs are not in a folder",
            where=repr(audit),
            hint="stop the workers, and back up both databases by their own means",
        )
    if to.exists():
        raise InputError("the path exists already", where=str(to), hint="name a new folder")
    if not (folder / DATABASE).is_file():
        raise InputError(
            "no memory in this folder", where=str(folder), hint="name the memory's folder"
        )
    half = to.with_name(f".{to.name}.half")
    translated = file_errors(
        StoreError, "the memory cannot be copied", where=f"{folder} to {to}", besides=(sqlite3.Error,),
        hint="free disk space, and let this user read the memory and write to the other folder; a "
        "memory that is in use at every moment is copied when a writer pauses",
    )  # fmt: skip
    try:
        with translated:
            shutil.rmtree(half, ignore_errors=True)
            private_folder(half)
            found = _copied(folder, audit, half)
            half.replace(to)
            sync_folder(to.parent)
    finally:
        shutil.rmtree(half, ignore_errors=True)
    return found


def _copied(folder: Path, audit: Path | None, half: Path) -> Copied:
    _refuse_under_way(folder)
    # A folder without logs has its lock too: an append would create it.
    with FolderLogs(audit or folder / "audit").lock:
        logs = sorted(audit.glob("*.jsonl")) if audit is not None and audit.is_dir() else []
        if logs:
            private_folder(half / "audit")
        for log in logs:
            for file in files_of(log):
                copy = half / "audit" / file.relative_to(log.parent)
                private_folder(copy.parent)
                _copy(file, copy)
        for kept in (path for name in _KEPT for path in sorted(folder.glob(name))):
            _copy(kept, half / kept.name)
        _copy_database(folder / DATABASE, half / DATABASE)
    _refuse_under_way(folder)
    for each in (half / "audit", half):
        sync_folder(each)
    return Copied(len(logs), sum(p.stat().st_size for p in half.rglob("*") if p.is_file()))


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as read, opened_private(target) as write:
        shutil.copyfileobj(read, write)
        synced(write)


def _copy_database(source: Path, target: Path) -> None:
    """Copy a database in one transaction, and check the copy."""
    opened_private(target).close()
    with (
        closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True, timeout=WAIT_SECONDS)) as read,
        closing(sqlite3.connect(target)) as write,
    ):  # fmt: skip
        read.execute("SELECT 1 FROM sqlite_master").fetchone()  # waits for a writer, unlike backup
        read.backup(write)
        found = write.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise StoreError(
            f"the database is damaged: {found}",
            where=str(source),
            hint="restore an earlier backup, and go on with memory.adopt(state, thread=thread)",
        )
    with target.open("rb") as file:
        os.fsync(file.fileno())


def _refuse_under_way(folder: Path) -> None:
    if found := interrupted(FolderMarks(folder)):
        raise ConflictError(
            f"the memory is being changed: {found[0]}, or is still under way",
            where=str(folder),
            hint="wait until it ends; after a kill, run acc doctor --repair; then back up again",
        )
