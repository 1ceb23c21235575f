"""Delete a thread's checkpoints from LangGraph's checkpointers: they hold states and messages of their own.

A checkpoint is one blob, so that an erasure in a thread deletes all of them; the thread goes on from the memory's last
state. A checkpointer on SQLite gets its file rewritten. PostgreSQL's log, backups and free blocks are the deployer's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from acc.errors import ConfigurationError, StoreError
from acc.journal import ThreadKey
from acc.journal.opened import Key

_TABLES = ("checkpoints", "writes")


def name_of(thread: Key) -> str:
    """Return the name that a checkpointer has for a thread."""
    return thread.thread if isinstance(thread, ThreadKey) else thread


def delete_checkpoints(saver: Any, thread: Key) -> None:
    """Delete the checkpoints of a thread through a checkpointer's ``delete_thread``.

    Raises:
        ConfigurationError: It has no such method.
        StoreError: It failed.
    """
    delete = _method(saver, "delete_thread")
    with _translated(type(saver).__name__):
        delete(name_of(thread))
        connection = getattr(saver, "conn", None)
        if isinstance(connection, sqlite3.Connection):
            _rewrite(connection)


async def adelete_checkpoints(saver: Any, thread: Key) -> None:
    """Do what `delete_checkpoints` does through ``adelete_thread``; errors are the same."""
    delete = _method(saver, "adelete_thread")
    with _translated(type(saver).__name__):
        await delete(name_of(thread))
        connection = getattr(saver, "conn", None)
        if hasattr(connection, "executescript") and not isinstance(connection, sqlite3.Connection):
            await connection.commit()  # type: ignore[union-attr]
            await connection.execute("VACUUM")  # type: ignore[union-attr]


def delete_checkpoints_at(url: str, threads: Iterable[Key]) -> int:
    """Delete the checkpoints of threads from a database, ``sqlite:PATH``; return how many rows.

    Raises:
        ConfigurationError: There is no such file, or the URL is another one.
        StoreError: The database cannot be written.
    """
    names = [name_of(each) for each in threads]
    with _connected(url) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        count = sum(
            connection.execute(f"DELETE FROM {table} WHERE thread_id = ?", (name,)).rowcount
            for table in _TABLES
            for name in names
        )
        _rewrite(connection)
        return count


def names_at(url: str) -> tuple[str, ...]:
    """Return the names of the threads that have checkpoints in a database; errors as of `delete_checkpoints_at`."""
    with _connected(url) as connection:
        rows = connection.execute("SELECT DISTINCT thread_id FROM checkpoints").fetchall()
        return tuple(str(name) for (name,) in rows)


@contextmanager
def _connected(url: str) -> Iterator[sqlite3.Connection]:
    path = Path(url.removeprefix("sqlite:"))
    if not url.startswith("sqlite:") or not path.is_file():
        raise ConfigurationError(
            "there is no database of a checkpointer", where=url.partition("@")[2] or url,
            hint="give sqlite:PATH; for others call delete_checkpoints with the checkpointer",
        )  # fmt: skip
    with _translated(str(path), sqlite3.Error), closing(sqlite3.connect(path)) as connection:
        yield connection


def _rewrite(connection: sqlite3.Connection) -> None:
    connection.commit()
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _method(saver: Any, name: str) -> Any:
    method = getattr(saver, name, None)
    if method is None:
        raise ConfigurationError(
            f"the checkpointer has no {name}", where=type(saver).__name__,
            hint="delete the thread's checkpoints by its own means",
        )  # fmt: skip
    return method


@contextmanager
def _translated(where: str, kind: type[Exception] = Exception) -> Iterator[None]:
    try:
        yield
    except kind as error:
        what = f"the checkpoints cannot be deleted: {type(error).__name__}: {error}"[:300]
        hint = "stop the processes that use the database, then try again"
        raise StoreError(what, where=where, hint=hint) from error
