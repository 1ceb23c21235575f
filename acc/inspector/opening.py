"""Open a memory's journal to read it: nothing is made, migrated or written, whoever else uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import URL, create_engine, event

from acc.errors import InputError
from acc.folders import expanded
from acc.journal import Journal
from acc.journal.opened import FILE

_WITH_LOG = b"\x02"
"""Byte 18 of a database in SQLite's mode with a write-ahead log."""


def opened(folder: str | Path, *, digest_key: bytes = b"") -> Journal:
    """Return the journal of a memory's folder, whose connections cannot write.

    Raises:
        InputError: There is no memory in the folder.
        StoreError: The journal cannot be read.
    """
    path = expanded(folder) / FILE
    if not (header := _header(path)):
        raise InputError(
            "there is no memory in this folder", where=str(path.parent),
            hint="name the folder that MemoryController.open or acc got with --memory",
        )  # fmt: skip
    engine = create_engine(URL.create("sqlite+pysqlite", database=str(path)))
    event.listen(engine, "connect", _only_reading)
    # the file keeps its mode: a copy that `acc backup` made has no write-ahead log
    kind = "" if header[18:19] == _WITH_LOG else "nfs"
    return Journal.open(engine, digest_key=digest_key, file_system=lambda _: kind)


def _header(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(20)
    except OSError:
        return b""


def _only_reading(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA query_only=ON").close()
