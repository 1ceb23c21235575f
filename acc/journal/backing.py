"""Copies and checks of the whole database, by SQLite's own means."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from acc.errors import AuditError, InputError
from acc.folders import opened_private, private_folder
from acc.journal.faults import told
from acc.journal.sqlite import Sqlite

PAGES = 2_000
"""Pages that a backup copies at a time; writers go on in between."""

MOST_FINDINGS = 100


def backup(database: Sqlite, path: Path) -> Path:
    """Copy the database to ``path``, which must not be there; return ``path``."""
    with told(path):
        private_folder(path.parent)
        try:
            opened_private(path, "xb").close()
        except FileExistsError as error:
            raise InputError(
                "the file is there already", where=str(path), hint="name a new one"
            ) from error
    try:
        with told(path), closing(sqlite3.connect(path)) as copy:
            database.raw(lambda source: source.backup(copy, pages=PAGES, sleep=0.01))
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, nothing beside it
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
    return path


def check_pages(database: Sqlite) -> list[str]:
    """Return what SQLite's own check finds; empty if all is well."""
    statement = f"PRAGMA integrity_check({MOST_FINDINGS})"
    try:
        rows = database.raw(lambda c: c.execute(statement).fetchall())
    except AuditError as error:
        return [error.what]
    return [str(row[0]) for row in rows if row[0] != "ok"]


def free_bytes(database: Sqlite) -> int:
    """Return how many bytes of the file nothing uses."""
    names = ("freelist_count", "page_size")
    pages, size = database.raw(
        lambda c: [int(c.execute(f"PRAGMA {name}").fetchone()[0]) for name in names]
    )
    return pages * size
