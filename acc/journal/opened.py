"""Open and close a journal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from acc.clock import Clock, SystemClock, stamp
from acc.errors import ConfigurationError, InputError
from acc.folders import expanded
from acc.journal import files, places
from acc.journal.appending import Desk
from acc.journal.migrate import migrate
from acc.journal.names import ThreadKey
from acc.journal.sqlite import Sqlite
from acc.journal.states import Recent
from acc.turn.observations import storable

FILE = "journal.sqlite3"

T = TypeVar("T")

Key = ThreadKey | str
"""A thread; a string is its name, without tenant, user and agent."""


class Opened:
    """A journal that is open (`acc.journal.journal.Journal`)."""

    def __init__(
        self, database: Sqlite, digest_key: bytes = b"", clock: Clock | None = None
    ) -> None:
        self._database = database
        self._digest_key = digest_key
        self._clock = clock or SystemClock()
        self._recent = Recent()
        migrate(database, "sqlite", self._now())

    @classmethod
    def open(
        cls,
        where: str | Path | Engine,
        *,
        digest_key: bytes = b"",
        clock: Clock | None = None,
        wait: float = 30.0,
        file_system: Callable[[Path], str] = files.file_system,
    ) -> Self:
        """Open a journal, and make it if it is missing.

        Args:
            where: The memory's folder, a ``sqlite:///`` URL, or the caller's own engine for SQLite.
            digest_key: Key of the messages' digests: that of the policy.
            clock: Dates the rows. Nothing is decided by it.
            wait: Seconds to wait for another process that is writing.
            file_system: Tells the type of the file system that a folder lies on.

        Raises:
            ConfigurationError: ``where`` is no folder, and no URL or engine of SQLite.
            StoreError: The journal cannot be opened, or a newer version wrote it.
        """
        engine = where if isinstance(where, Engine) else None
        path = _path_of(where)
        database = Sqlite(path, file_system=file_system(path.parent), wait=wait, engine=engine)
        try:
            return cls(database, digest_key, clock)
        except BaseException:
            database.close()
            raise

    @property
    def where(self) -> str:
        """What names the journal."""
        return self._database.where

    def close(self) -> None:
        """Close all connections. A second call does nothing."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, job: Callable[[Connection, Desk], T]) -> T:
        desk = Desk(self._digest_key, self._now(), self._recent)
        return self._database.write(lambda connection: job(connection, desk))

    def _at(self, key: ThreadKey, branch: str, job: Callable[[Connection, Any], T]) -> T | None:
        def found(c: Connection) -> T | None:
            place = places.find(c, key, branch)
            return job(c, place) if place else None

        return self._database.read(found)

    def _forget(self) -> bool:
        self._recent.clear()
        return self._database.scrub()

    def _now(self) -> str:
        return stamp(self._clock.now())


def key_of(thread: Key) -> ThreadKey:
    """Return the key of a thread.

    Raises:
        InputError: A name is empty, or no database can hold it.
    """
    key = thread if isinstance(thread, ThreadKey) else ThreadKey(thread)
    parts = (key.thread, key.tenant, key.user, key.agent)
    if not key.thread or any(not isinstance(p, str) or storable(p) != p for p in parts):
        raise InputError(
            f"{thread!r} is no name of a thread",
            where="thread",
            hint="give text that is not empty, without NUL and without half of a surrogate pair",
        )
    return key


def _path_of(where: str | Path | Engine) -> Path:
    """Return the file of a journal."""
    if isinstance(where, Path) or (isinstance(where, str) and "://" not in where):
        return expanded(where) / FILE
    try:
        url = where.url if isinstance(where, Engine) else make_url(where)
    except (ArgumentError, AttributeError) as error:
        raise ConfigurationError(
            f"{where!r} names no journal",
            where="Journal.open",
            hint="give a folder, or sqlite:///file",
        ) from error
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        raise ConfigurationError(
            f"{url.get_backend_name()} is no database that the journal writes",
            where="Journal.open",
            hint="give a folder, sqlite:///file, or an engine for such a file",
        )
    return expanded(url.database)
