"""What the journal asks of a database, and how what a database raises becomes an error of the library.

There are `acc.journal.sqlite.Sqlite` and `acc.journal.postgresql.Postgresql`. Everything above them speaks SQLAlchemy
Core, so that another database needs a subclass.
"""

from __future__ import annotations

import _thread
import os
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from sqlalchemy import Connection, exc

from acc.errors import AccError, AuditError, StoreError, StoreUnavailableError

T = TypeVar("T")


class Database(ABC):
    """A database with the journal's tables, for the process that opened it.

    Attributes:
        where: Names it in errors, without credentials.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self._process = os.getpid()
        self._is_closed = False

    def _check_usable(self) -> None:
        if self._is_closed:
            raise StoreError("the journal is closed", where=self.where, hint="open it again")
        if self._process != os.getpid():
            raise StoreError(
                "the process was forked after the journal was opened", where=self.where,
                hint="open it in the child",
            )  # fmt: skip

    @abstractmethod
    def read(self) -> AbstractContextManager[Connection]:
        """Give a connection that sees one state of the database.

        `told` translates what fails as it opens. The caller translates what fails later."""

    def write(self, job: Callable[[Connection], T], about: str = "") -> T:
        """Run ``job`` in a transaction, and return once it is on the disk.

        If ``job`` raises, nothing of it was written. It may be run again after a failure of the database, so that
        it must have no effect but on the connection. ``about`` names the thread that it writes to: jobs about one
        follow each other. A job about nothing in particular waits for all, and all wait for it.
        """
        self._check_usable()
        with told(self.where):
            return shielded(lambda: self._written(job, about))

    @abstractmethod
    def _written(self, job: Callable[[Connection], T], about: str) -> T: ...

    @abstractmethod
    def scrub(self) -> str:
        """Remove what was deleted from where the database keeps it besides; return where it is left, or nothing."""

    @abstractmethod
    def back_up(self, path: Path) -> None:
        """Copy the database to a new file while others write."""

    @abstractmethod
    def close(self) -> None:
        """Close every connection. A second call does nothing."""

    def damages(self) -> list[str]:
        """Return what the database's own check finds wrong with its pages."""
        return []

    def free_bytes(self) -> int:
        """Return how many bytes of it nothing uses, as far as it tells."""
        return 0

    def size(self) -> int:
        """Return its bytes, where no files tell them."""
        return 0

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that hold it, as far as this process can read them."""
        return ()


def shielded(act: Callable[[], T]) -> T:
    """Return what ``act`` returns; from the main thread it runs in another one, where no Ctrl-C arrives.

    Python raises an interrupt in the main thread alone. Between two instructions there it could leave a transaction
    open, or a lock held, and every writer of the process would wait for ever. What was interrupted is done all the
    same, unseen. The queue is written in C: an interrupt does not divide what it does.
    """
    if threading.current_thread() is not threading.main_thread():
        return act()
    done: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()
    context = copy_context()

    def work() -> None:
        try:
            done.put((context.run(act), None))
        except BaseException as error:
            done.put((None, error))

    try:
        _thread.start_new_thread(work, ())
    except RuntimeError:  # the interpreter ends: it starts no threads any more
        return act()
    value, error = done.get()
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


_REPEAT = "repeat the step: nothing of it was written, or it finds what was written"

_TOLD: dict[str, tuple[type[AccError], str, str]] = {
    "SQLITE_BUSY": (StoreUnavailableError, "another process is writing", _REPEAT),
    "SQLITE_FULL": (StoreError, "the disk is full", f"make room, then {_REPEAT}"),
    "SQLITE_READONLY": (StoreError, "the file may only be read", "make file and folder writable"),
    "SQLITE_CANTOPEN": (StoreError, "the file cannot be opened", "check the folder and its rights"),
    "SQLITE_NOTADB": (StoreError, "the file is no journal", "name another folder, or restore a backup"),
    "SQLITE_CORRUPT": (AuditError, "the file is damaged", "restore a backup; export what can be read"),
    "SQLITE_IOERR": (StoreError, "the disk fails", "check the disk, then repeat the step"),
    # PostgreSQL's codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
    "55P03": (StoreUnavailableError, "another worker is writing to the thread", _REPEAT),
    "40": (StoreUnavailableError, "another transaction was in the way", _REPEAT),
    "25P03": (StoreUnavailableError, "the transaction was idle for too long", _REPEAT),
    "3F": (StoreError, "there is no such schema", "create it, or name another"),
    "42501": (StoreError, "the role may not do this", "GRANT it, or use the role for it (roles.sql)"),
    "53100": (StoreError, "the server's disk is full", f"make room, then {_REPEAT}"),
    "53": (StoreUnavailableError, "the server is short of something", _REPEAT),
    "57": (StoreUnavailableError, "the server stopped the statement", _REPEAT),
    "XX": (AuditError, "the server finds damage", "see its log; restore a backup"),
}  # fmt: skip

_UNREACHED = "the server cannot be reached, or refuses the connection"
_UNDECODED = "Could not decode to UTF-8"
_CONNECT = f"check address, user and password; then {_REPEAT}"


@contextmanager
def told(where: object) -> Iterator[None]:
    """Raise a `StoreError`, `StoreUnavailableError` or `AuditError` for what a database or its driver raises.

    ``where`` names the journal without credentials.
    """
    try:
        yield
    except (exc.TimeoutError, TimeoutError) as error:
        raise StoreUnavailableError(
            "no connection became free", where=str(where), hint=_REPEAT
        ) from error
    except (exc.SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise _translated(error, where) from error


def _translated(error: BaseException, where: object) -> AccError:
    """Return the library's error for ``error``."""
    cause = getattr(error, "orig", None) or error
    name = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or ""
    if not name and "is not a database" in str(cause):
        name = "SQLITE_NOTADB"
    if not name and _UNDECODED in str(cause):
        name = "SQLITE_CORRUPT"
    for known, (kind, what, hint) in _TOLD.items():
        if name.startswith(known):
            return kind(f"{what}: {_first_line(cause)}", where=str(where), hint=hint)
    if isinstance(error, exc.OperationalError) and not isinstance(cause, sqlite3.Error):
        return StoreUnavailableError(
            f"{_UNREACHED}: {_first_line(cause)}", where=str(where), hint=_CONNECT
        )
    if isinstance(cause, OSError):
        said = cause.strerror or str(cause)
        return StoreError(said, where=str(where), hint="check the folder, its rights and the disk")
    return StoreError(
        f"{type(cause).__name__}: {cause}", where=str(where), hint="see the database's own log"
    )


def damaged(what: str, where: str) -> AuditError:
    """Return the error for rows that cannot be read."""
    return AuditError(what, where=where, hint="run acc verify; restore a backup")


def _first_line(cause: object) -> str:
    """Return what a driver says, without the text that it quotes: that may be somebody's."""
    said = next(iter(str(cause).splitlines()), "")
    return said.partition(" with text ")[0] if _UNDECODED in said else said
