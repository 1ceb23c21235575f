"""PostgreSQL as the journal uses it: one journal for several machines.

Who writes to a thread holds its advisory lock until the transaction ends, so that the writers of one thread follow
each other, as those of one file do on SQLite, and those of other threads do not wait. A server that drops the
connection drops the lock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, text
from sqlalchemy.exc import DBAPIError, NoSuchModuleError

from acc.errors import ConfigurationError, StoreError, StoreUnavailableError
from acc.journal.database import Database, told

DRIVER = "postgresql+psycopg"

POOL = 16
"""Connections of one process at most. The caller's own engine has its own bound."""

LOCKS = 0x414343
"""Names the journal's advisory locks among those of other programs."""

IDLE_SECONDS = 60
"""A worker that is stopped in the middle of a transaction loses it after so long."""

_BEGIN = text(
    "SELECT set_config('lock_timeout', :wait, true),"
    " set_config('idle_in_transaction_session_timeout', :idle, true),"
    " set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
    " WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)"
)
_LOCK_THREAD = text(
    "SELECT pg_advisory_xact_lock_shared(:locks, 0), pg_advisory_xact_lock(:locks, :thread)"
)
_LOCK_ALL = text("SELECT pg_advisory_xact_lock(:locks, 0)")

_ERASED_FROM = ("messages", "commits", "turns")

_LEFT = (
    "PostgreSQL keeps what was erased in its log and in its backups, and in free blocks of its files until"
    " VACUUM FULL"
)

T = TypeVar("T")


class Postgresql(Database):
    """A database of a PostgreSQL server, for all threads and event loops of a process, beside other machines.

    Args:
        url: Its address; ``options=-csearch_path=NAME`` in it names another schema.
        wait: Seconds to wait for the server, for a free connection, and for another writer of the thread.
        engine: The caller's own engine for it, instead of one of the journal's. `close` leaves it open.
        reads_only: Whether nothing can be written.
    """

    def __init__(
        self,
        url: URL,
        *,
        wait: float = 30.0,
        engine: Engine | None = None,
        reads_only: bool = False,
    ) -> None:
        super().__init__(url.set(drivername="postgresql", query={}).render_as_string())
        self._is_own = engine is None
        self._engine = engine or _engine(url, wait)
        self._writing = self._engine.execution_options(
            isolation_level="READ COMMITTED", postgresql_readonly=reads_only
        )
        self._reading = self._engine.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        self._free = self._engine.execution_options(
            isolation_level="AUTOCOMMIT", postgresql_readonly=False
        )
        self._wait = wait

    @contextmanager
    def read(self) -> Iterator[Connection]:
        self._check_usable()
        with told(self.where):
            connection = self._reading.connect()
        with _given_back(connection):
            yield connection

    def _written(self, job: Callable[[Connection], T], about: str) -> T:
        times = {
            "wait": f"{int(self._wait * 1000)}ms",
            "idle": f"{max(IDLE_SECONDS, int(self._wait))}s",
        }
        with _given_back(self._writing.connect()) as connection:
            connection.execute(_BEGIN, times)
            lock = {"locks": LOCKS, "thread": _number(about)} if about else {"locks": LOCKS}
            connection.execute(_LOCK_THREAD if about else _LOCK_ALL, lock)
            done = job(connection)
            try:
                connection.commit()
            except DBAPIError as error:
                if not error.connection_invalidated:
                    raise
                raise StoreUnavailableError(
                    "the connection was lost while the transaction was committed: it may be written or not",
                    where=self.where,
                    hint="repeat the step with the state that it began from, which finds what was written; if it"
                    " began with None, so do its messages if they have ids; otherwise see last_state first",
                ) from error
            return done

    def scrub(self) -> str:
        # a role that may not, leaves it to the server
        with suppress(StoreError), told(self.where), self._free.connect() as connection:
            connection.exec_driver_sql(f"VACUUM {', '.join(_ERASED_FROM)}")
        return _LEFT

    def back_up(self, path: Path) -> None:
        """Raise `ConfigurationError`: the server has means of its own."""
        raise ConfigurationError(
            "a journal in PostgreSQL is copied by the server's own means", where=self.where,
            hint=f"use pg_dump or a base backup instead of {path.name}; acc export copies threads",
        )  # fmt: skip

    def size(self) -> int:
        tables = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n"
        here = "ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'"
        with told(self.where), self.read() as connection:
            return int(connection.exec_driver_sql(f"{tables} {here}").scalar_one())

    def close(self) -> None:
        self._is_closed = True
        if self._is_own:
            self._engine.dispose()


@contextmanager
def _given_back(connection: Connection) -> Iterator[Connection]:
    try:
        yield connection
    finally:
        with suppress(DBAPIError):
            connection.close()


def _number(about: str) -> int:
    """Return a number that names a lock; two threads with one number only wait for each other."""
    digest = hashlib.blake2b(about.encode(), digest_size=4).digest()
    return int.from_bytes(digest, signed=True) or 1


def _engine(url: URL, wait: float) -> Engine:
    seconds = max(2, int(wait))
    try:
        return create_engine(
            url.set(drivername=DRIVER), pool_size=POOL, max_overflow=0, pool_timeout=wait,
            pool_pre_ping=True,  # a connection that the server dropped is made anew
            connect_args={
                "connect_timeout": seconds, "tcp_user_timeout": seconds * 1000,
                "client_encoding": "utf8",
            },
        )  # fmt: skip
    except (ImportError, NoSuchModuleError) as error:
        raise ConfigurationError(
            "the driver of PostgreSQL is not installed", where="journal",
            hint="pip install 'agent-cognitive-compressor[postgres]'",
        ) from error  # fmt: skip
