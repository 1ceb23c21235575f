"""Open and close a journal."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, select

from acc.clock import Clock, SystemClock, stamp
from acc.errors import InputError
from acc.journal import files, places
from acc.journal.appending import Desk
from acc.journal.connecting import FILE, Where, connected
from acc.journal.database import Database
from acc.journal.migrate import migrate
from acc.journal.names import ThreadKey
from acc.journal.states import Recent
from acc.journal.tables import KEYS
from acc.turn.observations import storable

T = TypeVar("T")

Key = ThreadKey | str
"""A thread; a string is its name, without tenant, user and agent."""


class Opened:
    """A journal that is open (`acc.journal.journal.Journal`)."""

    def __init__(
        self,
        database: Database,
        digest_key: bytes = b"",
        clock: Clock | None = None,
        *,
        reads_only: bool = False,
    ) -> None:
        self._database = database
        self._digest_key = digest_key
        self._clock = clock or SystemClock()
        self._recent = Recent()
        self._reads_only = reads_only
        migrate(database, self._now(), reads_only=reads_only)

    @classmethod
    def open(
        cls,
        where: Where,
        *,
        digest_key: bytes = b"",
        clock: Clock | None = None,
        wait: float = 30.0,
        file_system: Callable[[Path], str] = files.file_system,
        reads_only: bool = False,
    ) -> Self:
        """Open a journal, and make it if it is missing.

        Args:
            where: The memory's folder, a URL of SQLite or PostgreSQL, or the caller's own engine for one
                (`acc.journal.connecting.Where`).
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
        database = connected(where, wait=wait, file_system=file_system, reads_only=reads_only)
        try:
            return cls(database, digest_key, clock, reads_only=reads_only)
        except BaseException:
            database.close()
            raise

    @property
    def where(self) -> str:
        """What names the journal."""
        return self._database.where

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that hold it, as far as this process can read them."""
        return self._database.files

    def size(self) -> int:
        """Return the bytes of the database."""
        return self._database.size()

    def key(self, name: str) -> bytes:
        """Return 32 random bytes that are the memory's own, made on first use; empty if nothing may be written."""
        statement = select(KEYS.c.value).where(KEYS.c.name == name)

        def found(c: Connection) -> bytes | None:
            return c.execute(statement).scalar()

        def made(c: Connection) -> bytes:
            if (known := found(c)) is None:
                c.execute(KEYS.insert(), {"name": name, "value": (known := os.urandom(32))})
            return known

        held = self._database.read(found)
        if held is None and not self._reads_only:
            held = self._database.write(made)
        return held or b""

    def close(self) -> None:
        """Close all connections. A second call does nothing."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, about: ThreadKey | None, job: Callable[[Connection, Desk], T]) -> T:
        """Do a job in a transaction that writes to a thread; to any if ``about`` is None."""
        desk = Desk(self._digest_key, self._now(), self._recent)
        name = about.digest(b"") if about is not None else ""
        return self._database.write(lambda connection: job(connection, desk), name)

    def _at(self, key: ThreadKey, branch: str, job: Callable[[Connection, Any], T]) -> T | None:
        def found(c: Connection) -> T | None:
            place = places.find(c, key, branch)
            return job(c, place) if place else None

        return self._database.read(found)

    def _forget(self) -> str:
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


__all__ = ["FILE", "Key", "Opened", "key_of"]
