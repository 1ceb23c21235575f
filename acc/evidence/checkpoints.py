"""Erasing a thread from LangGraph's checkpointers, which hold states and messages of their own.

A checkpoint is one blob, so what is erased of a thread takes all its checkpoints: the thread
goes on from the memory's own last state. SQLite's file is rewritten, and so are Postgres's tables;
its log of writes, its backups and the free blocks of its disk are the deployer's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from acc.errors import ConfigurationError, StoreError
from acc.evidence.database_urls import without_password

Hook = Callable[[Sequence[str]], int]
"""Deletes all rows of threads by their names; returns how many."""

_ABSENT = (
    "no password is kept: run acc erase --checkpointer URL with it, or set PGPASSWORD and open the "
    "memory again"
)
_OTHERWISE = "look at the address, and at what locks the tables"

_SQLITE = ("checkpoints", "writes")
_POSTGRES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


def checkpointer_at(url: str) -> Hook:
    """The hook of a checkpointer's database.

    Args:
        url: ``sqlite:PATH``, or ``postgresql://...``.

    Raises:
        ConfigurationError: Neither, no such file, or psycopg is not installed.
    """
    if url.startswith("sqlite:"):
        path = Path(url.removeprefix("sqlite:"))
        if not path.is_file():
            raise ConfigurationError("no such file", where=str(path), mend="name the database")
        return lambda threads: erase_sqlite(path, threads)
    if url.startswith(("postgresql://", "postgres://")):
        return _postgres(url)
    raise ConfigurationError(
        "no checkpointer that is known",
        where=without_password(url),
        mend="give sqlite:PATH or postgresql://...",
    )


def rows_at(url: str, threads: Sequence[str]) -> int:
    """Rows that the hook of `checkpointer_at` would delete now.

    Raises:
        ConfigurationError: As there.
        StoreError: The database cannot be read.
    """
    checkpointer_at(url)
    try:
        if url.startswith("sqlite:"):
            path = Path(url.removeprefix("sqlite:")).absolute()
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
                return _counted(connection, _SQLITE, "?", threads)
        import psycopg

        with psycopg.connect(url) as connected:
            return _counted(connected, _POSTGRES, "%s", threads)
    except Exception as error:
        raise StoreError(
            f"the checkpoints cannot be counted: {type(error).__name__}",
            where=without_password(url),
            mend=_OTHERWISE,
        ) from error


def erase_sqlite(path: Path, threads: Sequence[str]) -> int:
    """Delete the threads' checkpoints in `SqliteSaver`'s file, and rewrite it.

    Raises:
        StoreError: The file cannot be written, or somebody keeps it busy.
    """
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            count = _deleted(connection, _SQLITE, "?", threads)
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return count
    except sqlite3.Error as error:
        raise StoreError(
            f"the checkpoints cannot be erased: {error}",
            where=str(path),
            mend="end what uses the database, and run the same again",
        ) from error


def _postgres(url: str) -> Hook:
    try:
        import psycopg
    except ImportError as error:
        raise ConfigurationError(
            "psycopg is not installed", where="postgresql", mend="pip install 'psycopg[binary]'"
        ) from error

    def erase(threads: Sequence[str]) -> int:
        try:
            # VACUUM runs outside a transaction; where it may not run, Postgres only warns.
            warned: list[str] = []
            with psycopg.connect(url, autocommit=True) as connection:
                connection.add_notice_handler(lambda said: warned.append(str(said.message_primary)))
                count = _deleted(connection, _POSTGRES, "%s", threads)
                for table in _POSTGRES:
                    connection.execute(f"VACUUM FULL {table}")
        except psycopg.Error as error:
            raise StoreError(
                f"the checkpoints cannot be erased: {type(error).__name__}",
                where="postgresql",
                mend=_ABSENT if url == without_password(url) else _OTHERWISE,
            ) from error
        if warned:
            raise StoreError(
                f"the rows are deleted, their tables not rewritten: {warned[0]}",
                where="postgresql",
                mend="give the address of a user who owns the tables",
            )
        return count

    return erase


def _counted(connection: Any, tables: Sequence[str], mark: str, threads: Sequence[str]) -> int:
    count = 0
    for table in tables:
        for thread in threads:
            asked = f"SELECT count(*) FROM {table} WHERE thread_id = {mark}"
            count += int(connection.execute(asked, (thread,)).fetchone()[0])
    return count


def _deleted(connection: Any, tables: Sequence[str], mark: str, threads: Sequence[str]) -> int:
    count = 0
    for table in tables:
        for thread in threads:
            done = connection.execute(f"DELETE FROM {table} WHERE thread_id = {mark}", (thread,))
            count += max(0, done.rowcount)
    return count
