"""Erase a thread from LangGraph's checkpointers, which hold their own states and messages.

A checkpoint is one blob, so an erasure in a thread deletes all its checkpoints: the thread
continues from the memory's last state. SQLite's file and Postgres's tables are rewritten. The
deployer is responsible for Postgres's write-ahead log, backups and free disk blocks.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from fnmatch import filter as filter_names
from pathlib import Path
from typing import Any, NamedTuple

from acc.errors import AccError, ConfigurationError, StoreError
from acc.evidence.marks import Marks

_SECRET = re.compile(r"([?&])(?:ssl)?password=[^&#]*&?", re.IGNORECASE)


def lasting_url(url: str) -> str:
    """Return ``url`` in its stored form: without passwords, with an absolute path."""
    kind, _, path = url.partition(":")
    return f"sqlite:{Path(path).absolute()}" if kind == "sqlite" else without_password(url)


def without_password(url: str) -> str:
    """Return ``url`` without its passwords; of a malformed URL this removes more, not less."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url if scheme.startswith("sqlite:") else re.sub(r":.*", ":...", url)
    head, question, query = rest.partition("?")
    if "@" in head:
        head = _without(head)
    elif "@" in rest and ":" in rest.partition("@")[0]:
        head, question, query = _without(rest).partition("?")
    asked = _SECRET.sub(r"\1", f"{question}{query}").rstrip("?&")
    return f"{scheme}://{head}{asked}"


def _without(head: str) -> str:
    who, at, where = head.rpartition("@")
    return f"{who.partition(':')[0]}{at}{where}"


DeleteRows = Callable[[Sequence[str]], int]
"""Deletes all rows of threads by their names; returns the number of rows."""

_PASSWORD_HINT = (
    "the memory stores no password: run acc erase --checkpointer URL with the password, or set "
    "PGPASSWORD and open the memory again"
)
_HINT = "check the address, and end the transactions that lock the tables"

_SQLITE = ("checkpoints", "writes")
_POSTGRES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


def checkpointer_at(url: str) -> DeleteRows:
    """Return the function that deletes from the database of a checkpointer.

    Args:
        url: ``sqlite:PATH``, or ``postgresql://...``.

    Raises:
        ConfigurationError: The URL is neither, the file is missing, or psycopg is not installed.
    """
    if url.startswith("sqlite:"):
        path = Path(url.removeprefix("sqlite:"))
        if not path.is_file():
            raise ConfigurationError(
                "the database file does not exist", where=str(path), hint="correct the path"
            )
        return lambda threads: erase_sqlite(path, threads)
    if url.startswith(("postgresql://", "postgres://")):
        return _postgres(url)
    raise ConfigurationError(
        "the URL of the checkpointer has an unknown scheme",
        where=without_password(url),
        hint="give sqlite:PATH or postgresql://...",
    )


def rows_at(url: str, threads: Sequence[str]) -> int:
    """Count the rows that the function of `checkpointer_at` would delete now."""
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
            hint=_HINT,
        ) from error


def erase_sqlite(path: Path, threads: Sequence[str]) -> int:
    """Delete the threads' checkpoints in `SqliteSaver`'s file, and rewrite the file."""
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
            hint="stop the processes that use the database, then try again",
        ) from error


def _postgres(url: str) -> DeleteRows:
    try:
        import psycopg
    except ImportError as error:
        raise ConfigurationError(
            "psycopg is not installed", where="postgresql", hint="pip install 'psycopg[binary]'"
        ) from error

    def erase(threads: Sequence[str]) -> int:
        try:
            # VACUUM runs outside a transaction. Without the permission, Postgres only warns.
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
                hint=_PASSWORD_HINT if url == without_password(url) else _HINT,
            ) from error
        if warned:
            raise StoreError(
                f"the rows are deleted, but the tables cannot be rewritten: {warned[0]}",
                where="postgresql",
                hint="connect as the user who owns the tables",
            )
        return count

    return erase


def _counted(connection: Any, tables: Sequence[str], mark: str, threads: Sequence[str]) -> int:
    counted = _each(connection, "SELECT count(*)", tables, mark, threads)
    return sum(int(cursor.fetchone()[0]) for cursor in counted)


def _deleted(connection: Any, tables: Sequence[str], mark: str, threads: Sequence[str]) -> int:
    deleted = _each(connection, "DELETE", tables, mark, threads)
    return sum(max(0, cursor.rowcount) for cursor in deleted)


def _each(
    connection: Any, act: str, tables: Sequence[str], mark: str, threads: Sequence[str]
) -> Iterator[Any]:
    """Run a statement for each table and thread; yield its cursor."""
    for table in tables:
        for thread in threads:
            yield connection.execute(f"{act} FROM {table} WHERE thread_id = {mark}", (thread,))


DUE = "checkpoints-*.json"
"""Pattern of the names of these marks; the star stands for the erasure's id."""


class Due(NamedTuple):
    """A deletion of checkpoints that is due; its ``urls`` have no passwords."""

    erasure: str
    threads: tuple[str, ...]
    urls: tuple[str, ...]


class Settled(NamedTuple):
    """The result of a deletion: deleted rows, and an error for each database that is still due."""

    rows: int = 0
    left: tuple[str, ...] = ()


class CheckpointsDue:
    """Marks of due deletions."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    def owe(self, erasure: str, threads: Sequence[str], urls: Sequence[str]) -> Due:
        """Write a note of the deletion. On return it will be retried until it succeeds."""
        due = Due(erasure, tuple(threads), tuple(map(lasting_url, urls)))
        self._note(due)
        return due

    def settle(self, due: Due, given: Sequence[str] = ()) -> Settled:
        """Delete the due checkpoints; ``given`` are URLs with passwords, which no note contains."""
        rows, left, urls = 0, [], []
        whole = {lasting_url(url): url for url in given}
        for url in due.urls:
            try:
                rows += checkpointer_at(whole.get(lasting_url(url), url))(due.threads)
            except AccError as error:
                left.append(str(error))
                urls.append(lasting_url(url))
        self._note(due._replace(urls=tuple(urls)))
        return Settled(rows, tuple(left))

    def waiting(self) -> Iterator[Due]:
        """Yield deletions that earlier processes left."""
        for name in self.notes():
            said = self._marks.read(name)
            if said is not None:
                yield Due(said["erasure"], tuple(said["threads"]), tuple(said["urls"]))

    def notes(self) -> list[str]:
        """Return the names of the existing marks."""
        return filter_names(self._marks.names(), DUE)

    def _note(self, due: Due) -> None:
        name = DUE.replace("*", due.erasure)
        if due.urls and due.threads:
            self._marks.write(name, due._asdict())
        else:
            self._marks.remove(name)
