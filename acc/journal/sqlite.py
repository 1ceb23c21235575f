"""SQLite as the journal uses it.

A write-ahead log with ``synchronous=FULL``: a commit that was told is on the disk. On a network file system, where a
write-ahead log damages the database, a rollback journal. The lock is SQLite's own, on the data itself.

SQLite's locks and its log lie in files beside the database. Who deletes one of them while a process has it open,
splits the journal in two without an error. So the journal looks before it tells a caller that a commit is safe.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote
from weakref import WeakSet

from sqlalchemy import Connection, NullPool, create_engine, event

from acc.errors import AuditError, InputError, StoreError
from acc.folders import is_network, opened_private, private_folder
from acc.journal.database import Database, told

CHECKPOINT_PAGES = 1_000

COPIED_PAGES = 2_000
"""Pages that a backup copies at a time; writers go on in between."""

MOST_DAMAGES = 100

KEPT = 8
"""Connections that are kept open while nobody uses them. More are opened if more threads read at once."""

_POLL = 0.02
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

_WITH_LOG = b"\x02"
"""Byte 18 of a database of SQLite with a write-ahead log."""

_STILL_READ = "another process still reads the journal's log: erase again when it is done"

T = TypeVar("T")


class Sqlite(Database):
    """One database file, for all threads and event loops of a process, beside other processes.

    Args:
        path: The file. It is made, for its owner alone, if it is missing.
        file_system: Type of the file system it lies on.
        wait: Seconds to wait for another process that is writing.
        reads_only: Whether its connections can write nothing. The file has to be there.
    """

    def __init__(
        self,
        path: Path,
        *,
        file_system: str = "",
        wait: float = 30.0,
        reads_only: bool = False,
    ) -> None:
        super().__init__(str(path))
        self.path, self._reads_only, self._wait = path, reads_only, wait
        self.mode = "delete" if is_network(file_system) else "wal"
        if reads_only:  # the file keeps its mode: a copy that `acc backup` made has no log
            self.mode = _mode_of(path)
        self._seen: dict[Path, tuple[int, int] | None] = {}
        self._idle: deque[Connection] = deque()  # Ctrl-C could leave the lock of a pool held
        self._writing = threading.Lock()
        with told(self.where):
            if not reads_only:
                private_folder(path.parent)
                with suppress(FileExistsError), opened_private(path, "xb"):
                    pass
            self._engine = create_engine(
                "sqlite+pysqlite://", creator=self._connect, poolclass=NullPool,
                isolation_level="AUTOCOMMIT",
            )  # fmt: skip
            event.listen(self._engine, "connect", self._set_up)
        _OPEN.add(self)

    def _connect(self) -> sqlite3.Connection:
        # mode=rw: a file that was deleted is an error, no empty journal
        return sqlite3.connect(
            f"file:{quote(str(self.path))}?mode=rw", uri=True, timeout=self._wait,
            isolation_level=None, check_same_thread=False, cached_statements=256,
        )  # fmt: skip

    def _set_up(self, connection: Any, _: Any) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute(f"PRAGMA busy_timeout={int(self._wait * 1000)}")
            self._set_mode(cursor)
            # In rollback mode EXTRA also syncs the folder after the journal file was deleted.
            cursor.execute(f"PRAGMA synchronous={'FULL' if self.mode == 'wal' else 'EXTRA'}")
            for name in ("secure_delete", "cell_size_check", "foreign_keys"):
                cursor.execute(f"PRAGMA {name}=ON")
            cursor.execute("PRAGMA trusted_schema=OFF")
            cursor.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
            if self._reads_only:
                cursor.execute("PRAGMA query_only=ON")

    def _set_mode(self, cursor: Any) -> None:
        """Set the mode of the file. SQLite's busy handler does not wait for this lock."""
        until = time.monotonic() + self._wait
        while True:
            try:
                if cursor.execute(f"PRAGMA journal_mode={self.mode}").fetchone()[0] == self.mode:
                    return
                problem = sqlite3.OperationalError(f"its mode cannot be set to {self.mode}")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in _BUSY:
                    raise
                problem = error
            if time.monotonic() > until:
                raise problem
            time.sleep(_POLL)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self._connected() as connection:
            connection.exec_driver_sql("BEGIN")
            yield connection
            self._remember()

    def _written(self, job: Callable[[Connection], T], about: str) -> T:
        with self._writing, self._connected() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            self._remember()
            done = job(connection)
            connection.exec_driver_sql("COMMIT")
            self._check_files(connection)
            return done

    def raw(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Return what ``job`` makes of a driver's connection, outside any transaction."""
        with told(self.where), self._connected() as connection:
            driver: Any = connection.connection.driver_connection
            return job(driver)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """Give a connection. Before that, check that nobody has replaced the files of the database."""
        self._check_usable()
        with told(self.where):
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._engine.connect()
            self._check_files(connection)
        try:
            yield connection
        finally:
            self._give_back(connection)

    def _give_back(self, connection: Connection) -> None:
        """Roll back what is open, and keep the connection, unless it is of no use any more."""
        try:
            if not connection.invalidated:
                driver: Any = connection.connection.driver_connection
                driver.rollback()
        except sqlite3.Error:  # SQLite may have ended the transaction by itself
            connection.invalidate()
        if connection.invalidated or self._is_closed or len(self._idle) >= KEPT:
            connection.close()
        else:
            self._idle.append(connection)

    def _remember(self) -> None:
        """Keep which files there are, unless they are known. A connection is open and has read."""
        if not self._seen or None in self._seen.values():
            names = ("", "-wal", "-shm") if self.mode == "wal" else ("",)
            self._seen = {path: _identity(path) for path in map(self._beside, names)}

    def _check_files(self, connection: Connection) -> None:
        """Raise if a file was deleted or replaced since. What a deleted log holds is saved as it is closed.

        If somebody made a new log meanwhile, it is not: what was committed last may be lost.
        """
        changed = [p.name for p, seen in self._seen.items() if seen is None or seen != _identity(p)]
        if changed:
            connection.invalidate()  # as long as one is open, new ones share its deleted files
            self._forget()
            raise StoreError(
                f"{', '.join(changed)} was deleted or replaced while in use", where=self.where,
                hint="leave the files of a journal alone while a process runs; repeat the step, then run acc verify",
            )  # fmt: skip

    def _forget(self) -> None:
        """Close the connections that nobody uses; new ones may find other files."""
        self._seen = {}
        with suppress(IndexError):
            while True:
                self._idle.pop().close()
        self._engine.dispose()

    def _beside(self, ending: str) -> Path:
        return Path(f"{self.path}{ending}")

    def scrub(self) -> str:
        until, is_busy = time.monotonic() + self._wait, self.mode == "wal"
        while is_busy and time.monotonic() <= until:
            row = self.raw(lambda c: c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone())
            if is_busy := bool(row[0]):
                time.sleep(_POLL)
        return _STILL_READ if is_busy else ""

    def back_up(self, path: Path) -> None:
        private_folder(path.parent)
        opened_private(path, "xb").close()
        try:
            with closing(sqlite3.connect(path)) as copy:
                self.raw(lambda source: source.backup(copy, pages=COPIED_PAGES, sleep=0.01))
                copy.execute("PRAGMA journal_mode=DELETE")  # one file, nothing beside it
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def damages(self) -> list[str]:
        statement = f"PRAGMA integrity_check({MOST_DAMAGES})"
        try:
            rows = self.raw(lambda c: c.execute(statement).fetchall())
        except AuditError as error:
            return [error.what]
        return [str(row[0]) for row in rows if row[0] != "ok"]

    def free_bytes(self) -> int:
        names = "freelist_count", "page_size"
        pages, size = self.raw(lambda c: [c.execute(f"PRAGMA {n}").fetchone()[0] for n in names])
        return int(pages * size)

    @property
    def files(self) -> tuple[Path, ...]:
        every = map(self._beside, ("", "-wal", "-shm"))
        return tuple(path for path in every if path.is_file())

    def close(self) -> None:
        self._is_closed = True
        self._forget()


_OPEN: WeakSet[Sqlite] = WeakSet()


def _before_fork() -> None:
    """Close what a child must not inherit: SQLite would believe there that it holds the parent's locks."""
    for each in list(_OPEN):
        each._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)


def _mode_of(path: Path) -> str:
    """Return the mode of a journal's file.

    Raises:
        InputError: There is no journal.
    """
    header = b""
    with suppress(OSError), path.open("rb") as file:
        header = file.read(19)
    if not header:
        raise InputError(
            "there is no memory in this folder", where=str(path.parent),
            hint="name the folder that MemoryController.open or acc got with --memory",
        )  # fmt: skip
    return "wal" if header[18:] == _WITH_LOG else "delete"


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
