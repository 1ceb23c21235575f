"""Copies of the whole database, by its own means."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from acc.errors import InputError
from acc.folders import opened_private, private_folder
from acc.journal.database import Database
from acc.journal.faults import told


def backup(database: Database, path: Path) -> Path:
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
        with told(path):
            database.back_up(path)
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
    return path
