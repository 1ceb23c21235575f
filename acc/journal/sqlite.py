"""SQLite as the journal uses it.

A write-ahead log with ``synchronous=FULL``: a commit that was told is on the disk. On a network file system, where a
write-ahead log damages the database, a rollback journal. The lock is SQLite's own, on the data itself.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event

from acc.errors import AuditError, StoreError
from acc.folders import is_network, opened_private, private_folder
from acc.journal.connections import Connections
from acc.journal.database import Gate, watch
from acc.journal.faults import told
from acc.journal.files import Files, mode_of
from acc.journal.shield import Shield
from acc.journal.together import Queue

CHECKPOINT_PAGES = 1_000

COPIED_PAGES = 2_000
"""Pages that a backup copies at a time; writers go on in between."""

MOST_DAMAGES = 100

_AUTOCOMMIT = "AUTOCOMMIT"

_STILL_READ = "another process still reads the journal's log: erase again when it is done"

T = TypeVar("T")


class Sqlite:
    """One database file, for all threads and event loops of a process, beside other processes.

    Args:
        path: The file. It is made, for its owner alone, if it is missing.
        file_system: Type of the file system it lies on.
        wait: Seconds to wait for another process that is writing.
        engine: The caller's own engine on this file, instead of one of the journal's. Its new connections get the
            journal's settings.
        reads_only: Whether its connections can write nothing. The file has to be there.
    """

    dialect = "sqlite"

    def __init__(
        self,
        path: Path,
        *,
        file_system: str = "",
        wait: float = 30.0,
        engine: Engine | None = None,
        reads_only: bool = False,
    ) -> None:
        self.path, self._reads_only = path, reads_only
        self.where = str(path)
        self.mode = "delete" if is_network(file_system) else "wal"
        if reads_only:  # the file keeps its mode: a copy that `acc backup` made has no log
            self.mode = mode_of(path)
        self._wait = wait
        self._files = Files(path, has_log=self.mode == "wal")
        with told(self.where):
            if not reads_only:
                _create(path)
            made = engine or create_engine(
                "sqlite+pysqlite://", creator=self._connect, poolclass=Connections,
                isolation_level=_AUTOCOMMIT,
            )  # fmt: skip
            made.dispose()  # a connection that the caller had open would lack the settings
            event.listen(made, "connect", self._set_up)
            # Per connection it is set and reset at each use, which takes as long as a query.
            self._engine = engine.execution_options(isolation_level=_AUTOCOMMIT) if engine else made
            self._begin()
        self._is_closed = self._is_torn = False
        watch(self)

    def _begin(self) -> None:
        self._gate = Gate()
        self._queue = Queue(self._transaction)
        self._shield = Shield()

    def _connect(self) -> sqlite3.Connection:
        # mode=rw: a file that was deleted is an error, no empty journal
        return sqlite3.connect(
            f"file:{quote(str(self.path))}?mode=rw", uri=True, timeout=self._wait,
            isolation_level=None, check_same_thread=False, cached_statements=256,
        )  # fmt: skip

    def _set_up(self, connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        try:
            cursor.execute(f"PRAGMA busy_timeout={int(self._wait * 1000)}")
            self._set_mode(cursor)
            # In rollback mode EXTRA also syncs the folder after the journal file was deleted.
            cursor.execute(f"PRAGMA synchronous={'FULL' if self.mode == 'wal' else 'EXTRA'}")
            cursor.execute("PRAGMA secure_delete=ON")
            cursor.execute("PRAGMA cell_size_check=ON")
            cursor.execute("PRAGMA trusted_schema=OFF")
            cursor.execute("PRAGMA foreign_keys=ON")
            cursor.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
            if self._reads_only:
                cursor.execute("PRAGMA query_only=ON")
        finally:
            cursor.close()

    def _set_mode(self, cursor: Any) -> None:
        """Set the mode of the file. SQLite's busy handler does not wait for this lock."""
        until = time.monotonic() + self._wait
        while True:
            try:
                if cursor.execute("PRAGMA journal_mode").fetchone()[0] == self.mode:
                    return
                if cursor.execute(f"PRAGMA journal_mode={self.mode}").fetchone()[0] == self.mode:
                    return
                problem = sqlite3.OperationalError(f"its mode cannot be set to {self.mode}")
            except sqlite3.OperationalError as error:
                if getattr(error, "sqlite_errorname", "")[:11] not in (
                    "SQLITE_BUSY",
                    "SQLITE_LOCK",
                ):
                    raise
                problem = error
            if time.monotonic() > until:
                raise problem
            time.sleep(0.02)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """See `acc.journal.database.Database.read`."""
        with self._gate:
            with told(self.where):
                connection = self._open()
            with connection:
                driver: Any = connection.connection.driver_connection
                driver.execute("BEGIN")  # SQLAlchemy would take as long for it as for a query
                try:
                    yield connection
                    self._files.remember()
                finally:
                    with suppress(Exception):  # it was read; SQLite may have ended it by itself
                        driver.execute("ROLLBACK")

    def write(self, job: Callable[[Connection], T], about: str = "") -> T:
        """See `acc.journal.database.Database.write`."""
        return self._shield.run(lambda: self._written(job))

    def _written(self, job: Callable[[Connection], T]) -> T:
        with self._gate, told(self.where):
            self._check_usable()
            return self._queue.run(job)

    def raw(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Return what ``job`` makes of a driver's connection, outside any transaction."""
        with self._gate, told(self.where), self._open() as connection:
            driver: Any = connection.connection.driver_connection
            return job(driver)

    def _check_usable(self) -> None:
        if self._is_closed:
            raise StoreError("the journal is closed", where=self.where, hint="open it again")
        if self._is_torn:
            raise StoreError(
                "this process was forked while the journal was being written",
                where=self.where,
                hint="open the journal in the child",
            )

    def _open(self) -> Connection:
        """Return a connection to files that are the ones seen before."""
        self._check_usable()
        connection = self._engine.connect()
        if changed := self._files.changed():
            with connection:
                self._mend(connection, changed)
            connection = self._engine.connect()
        return connection

    def _transaction(self, act: Callable[[Connection], None]) -> None:
        with self._open() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            try:
                self._files.remember()
                act(connection)
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                with suppress(Exception):  # SQLite ends the transaction itself after some errors
                    connection.exec_driver_sql("ROLLBACK")
                raise
            if changed := self._files.changed():
                self._mend(connection, changed)

    def _mend(self, connection: Connection, changed: list[str]) -> None:
        """Bring what a deleted log holds into the database, or raise.

        The open connection still has the log, though its name is gone. If nobody made a new one, all of it goes into
        the database, and the connections are opened anew.
        """
        is_gone = not any(Path(each).exists() for each in changed)
        row = None
        if is_gone and str(self.path) not in changed:
            row = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self._files.forget()
        self._engine.dispose()
        connection.invalidate()  # as long as one is open, new ones share its deleted files
        if row is None or row[0]:
            raise self._files.lost(changed)

    def scrub(self) -> str:
        """See `acc.journal.database.Database.scrub`."""
        for _ in range(20 if self.mode == "wal" else 0):
            row = self.raw(lambda c: c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone())
            if row[0] == 0:
                return ""
            time.sleep(0.05)
        return _STILL_READ if self.mode == "wal" else ""

    def back_up(self, path: Path) -> None:
        """See `acc.journal.database.Database.back_up`: by SQLite's online backup."""
        with closing(sqlite3.connect(path)) as copy:
            self.raw(lambda source: source.backup(copy, pages=COPIED_PAGES, sleep=0.01))
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, nothing beside it

    def damages(self) -> list[str]:
        """See `acc.journal.database.Database.damages`."""
        statement = f"PRAGMA integrity_check({MOST_DAMAGES})"
        try:
            rows = self.raw(lambda c: c.execute(statement).fetchall())
        except AuditError as error:
            return [error.what]
        return [str(row[0]) for row in rows if row[0] != "ok"]

    def free_bytes(self) -> int:
        """See `acc.journal.database.Database.free_bytes`."""
        return self._numbers("freelist_count")

    def size(self) -> int:
        """See `acc.journal.database.Database.size`."""
        return self._numbers("page_count")

    def _numbers(self, of: str) -> int:
        names = (of, "page_size")
        pages, size = self.raw(
            lambda c: [int(c.execute(f"PRAGMA {name}").fetchone()[0]) for name in names]
        )
        return pages * size

    @property
    def files(self) -> tuple[Path, ...]:
        """See `acc.journal.database.Database.files`."""
        every = (Path(f"{self.path}{name}") for name in ("", "-wal", "-shm"))
        return tuple(path for path in every if path.is_file())

    @property
    def address(self) -> URL:
        """See `acc.journal.database.Database.address`."""
        return URL.create("sqlite", database=str(self.path.absolute()))

    def close(self) -> None:
        """See `acc.journal.database.Database.close`."""
        if not self._is_closed:
            with self._gate:
                self._is_closed = True
                self._files.forget()
                self._engine.dispose()
            self._shield.close()

    def before_fork(self) -> None:
        """See `acc.journal.database.Forkable`."""
        self._is_torn = not self._gate.shut(self._wait + 5)
        if not self._is_torn:
            self._files.forget()
            self._engine.dispose()

    def after_fork_in_parent(self) -> None:
        """See `acc.journal.database.Forkable`."""
        self._is_torn = False
        self._gate.open()

    def after_fork_in_child(self) -> None:
        """See `acc.journal.database.Forkable`."""
        self._begin()


def _create(path: Path) -> None:
    private_folder(path.parent)
    with suppress(FileExistsError), opened_private(path, "xb"):
        pass
