"""Open and close a journal; what a method of it does is one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import wraps
from pathlib import Path
from string import ascii_letters, digits
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    CursorResult,
    Engine,
    Executable,
    literal_column,
    select,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from acc.clock import Clock, SystemClock, stamp
from acc.errors import ConfigurationError, InputError, StoreError
from acc.folders import expanded
from acc.folders import file_system as of_folder
from acc.journal.database import Database, told
from acc.journal.names import Key, Place, ThreadKey, key_of
from acc.journal.postgresql import Postgresql
from acc.journal.sqlite import Sqlite
from acc.journal.tables import prepare
from acc.state.model import CompressedCognitiveState

FILE = "journal.sqlite3"

Where = str | Path | URL | Engine
"""A memory's folder, a URL ``sqlite:///FILE`` or ``postgresql://...``, or the caller's own engine for PostgreSQL."""

_IN_SCHEME = frozenset(f"{ascii_letters}{digits}+.-")

_HINT = "give a folder, sqlite:///FILE, postgresql://HOST/DATABASE, or an engine for PostgreSQL"

P = ParamSpec("P")
T = TypeVar("T")
J = TypeVar("J", bound="Opened")


class Opened:
    """A journal that is open (`acc.journal.journal.Journal`).

    Its methods are transactions (`reads`, `writes`). One that calls another makes it part of its own: within a
    transaction the journal is a copy that has the connection.

    Attributes:
        database: Where its rows lie: it tells files, size, free bytes and damaged pages.
    """

    def __init__(
        self,
        database: Database,
        digest_key: bytes = b"",
        clock: Clock | None = None,
        *,
        reads_only: bool = False,
    ) -> None:
        self.database = database
        self._digest_key = digest_key
        self._clock = clock or SystemClock()
        self._recent: dict[str, CompressedCognitiveState] = {}
        self._reads_only = reads_only
        self._connection: Connection | None = None
        self._has_ended = False
        self._time = ""
        self._seen: dict[tuple[ThreadKey, str], Place | None] = {}
        prepare(database, self._now(), reads_only=reads_only)

    @classmethod
    def open(
        cls,
        where: Where,
        *,
        digest_key: bytes = b"",
        clock: Clock | None = None,
        wait: float = 30.0,
        file_system: Callable[[Path], str] = of_folder,
        reads_only: bool = False,
    ) -> Self:
        """Open a journal, and make it if it is missing.

        Args:
            where: The memory's folder, a URL of SQLite or PostgreSQL, or the caller's own engine for PostgreSQL
                (`Where`).
            digest_key: Key of the messages' digests: that of the policy.
            clock: Dates the rows. Nothing is decided by it.
            wait: Seconds to wait for the database, and for another process that is writing.
            file_system: Tells the type of the file system that a folder lies on.
            reads_only: Whether nothing can be written, as beside agents. The journal has to be there.

        Raises:
            InputError: There is no journal, and ``reads_only`` is True.
            ConfigurationError: ``where`` names no database that the journal writes, or its driver is not installed.
            StoreError: The journal cannot be opened, or a newer version wrote it.
        """
        database = _database(where, wait=wait, file_system=file_system, reads_only=reads_only)
        try:
            return cls(database, digest_key, clock, reads_only=reads_only)
        except BaseException:
            database.close()
            raise

    @property
    def where(self) -> str:
        """What names the journal."""
        return self.database.where

    def close(self) -> None:
        """Close all connections. A second call does nothing."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def snapshot(self) -> Iterator[Self]:
        """Give the journal as it stands now, for several reads: one transaction, which finds a thread's place once.

        Use it in one thread, for as long as its ``with`` block runs. It writes nothing. The block should be short: on
        a network file system, nobody commits before it ends.
        """
        if self._has_ended:
            raise StoreError(
                "the snapshot has ended", where=self.where, hint="read from the journal itself"
            )
        if self._connection is not None:
            yield self
            return
        with self.database.read() as connection:
            seen = self._within(connection, "")
            try:
                yield seen
            finally:
                seen._has_ended = True

    def _read(self, job: Callable[[Self], T]) -> T:
        """Return what ``job`` makes of the journal in one snapshot, or in the transaction that this is part of."""
        if self._time:  # a transaction that writes tells its errors as it ends
            return job(self)
        with told(self.where), self.snapshot() as seen:
            return job(seen)

    def _write(self, about: Key | None, job: Callable[[Self], T]) -> T:
        """Do a job in one transaction that writes to a thread; to any if ``about`` is None."""
        if self._time:
            return job(self)
        if self._connection is not None:
            raise InputError(
                "a snapshot only reads", where=self.where, hint="write to the journal itself"
            )
        now = self._now()
        name = key_of(about).digest(b"") if about is not None else ""
        return self.database.write(lambda connection: job(self._within(connection, now)), name)

    def _within(self, connection: Connection, now: str) -> Self:
        journal = copy(self)
        journal._connection, journal._time, journal._seen = connection, now, {}
        return journal

    def _execute(self, statement: Executable, given: Any = None) -> CursorResult[*tuple[Any, ...]]:
        return self._sql.execute(statement, given)

    def _is_there(self, *conditions: ColumnElement[bool]) -> bool:
        """Whether a table has a row of which these are true."""
        found = self._execute(select(literal_column("1")).where(*conditions).limit(1))
        return found.first() is not None

    @property
    def _sql(self) -> Connection:
        """The connection of the transaction that this is part of."""
        if self._connection is None:
            raise RuntimeError("this needs a transaction: reads, writes")
        return self._connection

    def scrub(self) -> str:
        """Remove what was erased from where the database keeps it besides; return where it is left, or nothing."""
        self._recent.clear()
        return self.database.scrub()

    def _now(self) -> str:
        return self._time or stamp(self._clock.now())


def is_url(where: object) -> bool:
    """Whether a place is named by a URL: it has no folder. One letter and a colon are a drive."""
    if not isinstance(where, str):
        return False
    scheme, colon, _ = where.partition(":")
    return bool(colon) and len(scheme) > 1 and scheme[0].isalpha() and not set(scheme) - _IN_SCHEME


def _database(
    where: Where, *, wait: float, file_system: Callable[[Path], str], reads_only: bool
) -> Database:
    """Return the database of a journal; a file is made if it is missing."""
    engine = where if isinstance(where, Engine) else None
    if isinstance(where, Path) or (isinstance(where, str) and not is_url(where)):
        path = expanded(where) / FILE
    else:
        url = engine.url if engine is not None else _url(where)
        kind = url.get_backend_name()
        if kind in ("postgresql", "postgres"):
            return Postgresql(url, wait=wait, engine=engine, reads_only=reads_only)
        if kind != "sqlite" or engine or not url.database or url.database == ":memory:":
            raise ConfigurationError(
                f"{kind} is no database that the journal writes", where="journal", hint=_HINT
            )
        path = expanded(url.database)
    kind = file_system(path.parent)
    return Sqlite(path, file_system=kind, wait=wait, reads_only=reads_only)


def _url(where: object) -> URL:
    try:
        url = make_url(where)  # type: ignore[arg-type]
    except (ArgumentError, AttributeError, ValueError):  # their messages repeat the address
        raise ConfigurationError(
            "the place names no journal", where="journal", hint=_HINT
        ) from None
    return url.set(drivername="postgresql") if url.drivername == "postgres" else url


def reads(method: Callable[Concatenate[J, P], T]) -> Callable[Concatenate[J, P], T]:
    """Let a method see one state of the journal."""

    @wraps(method)
    def run(self: J, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._read(lambda journal: method(journal, *args, **kwargs))

    return run


def writes(method: Callable[Concatenate[J, Key, P], T]) -> Callable[Concatenate[J, Key, P], T]:
    """Let a method that writes to a thread do so whole or not at all. It may be run again."""

    @wraps(method)
    def run(self: J, thread: Key, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._write(thread, lambda journal: method(journal, thread, *args, **kwargs))

    return run
