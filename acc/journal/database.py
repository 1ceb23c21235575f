"""What the journal asks of a database: to read in one snapshot, and to write in one transaction.

There are `acc.journal.sqlite.Sqlite` and `acc.journal.postgresql.Postgresql`. Everything above them speaks SQLAlchemy
Core, so that another database needs a class of this form, and migrations of its own.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Protocol, TypeVar

from sqlalchemy import URL, Connection

T = TypeVar("T")

_POLL = 0.002


class Database(Protocol):
    """A database with the journal's tables.

    Attributes:
        where: Names it in errors, without credentials.
        dialect: Names its migrations.
    """

    where: str
    dialect: str

    def read(self) -> AbstractContextManager[Connection]:
        """Give a connection that sees one state of the database; only what opens it is told (`told`)."""
        ...

    def write(self, job: Callable[[Connection], T], about: str = "") -> T:
        """Run ``job`` in a transaction of its own or with others, and return once it is on the disk.

        If ``job`` raises, nothing of it was written. It may be run again after a failure of the database, so that
        it must have no effect but on the connection. ``about`` names the thread that it writes to: jobs about one
        follow each other. A job about nothing in particular waits for all, and all wait for it.
        """
        ...

    def scrub(self) -> str:
        """Remove what was deleted or overwritten from where the database keeps it besides.

        Returns:
            Where it is left; empty if nothing is.
        """
        ...

    def back_up(self, path: Path) -> None:
        """Copy the database to a file while others write."""
        ...

    def damages(self) -> list[str]:
        """Return what the database's own check finds wrong with its pages."""
        ...

    def free_bytes(self) -> int:
        """Return how many bytes of it nothing uses, as far as it tells."""
        ...

    def size(self) -> int:
        """Return its bytes."""
        ...

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that hold it, as far as this process can read them."""
        ...

    @property
    def address(self) -> URL | None:
        """What another process opens it by (`acc.journal.connecting.connected`); None if only the caller knows."""
        ...

    def close(self) -> None:
        """Close every connection. A second call does nothing."""
        ...


class Gate:
    """Lets operations through, and holds them off while the process forks.

    It has no lock of Python's, which an interrupt of the main thread could leave held, so that every other thread
    would wait for ever. An interrupt may leave the main thread's name inside: if that thread forks, it is not inside.
    """

    def __init__(self) -> None:
        self._inside: deque[int] = deque()  # an operation on it is not divided
        self._is_shut = False

    def __enter__(self) -> None:
        while True:
            self._inside.append(threading.get_ident())
            if not self._is_shut:
                return
            self.__exit__()
            time.sleep(_POLL)

    def __exit__(self, *_: object) -> None:
        with suppress(ValueError):
            self._inside.remove(threading.get_ident())

    def shut(self, seconds: float) -> bool:
        """Let nobody in, and wait until nobody is inside; return whether that came about."""
        self._is_shut = True
        own, end = threading.get_ident(), time.monotonic() + seconds
        while any(each != own for each in list(self._inside)):
            if time.monotonic() > end:
                return False
            time.sleep(_POLL)
        self._inside.clear()
        return True

    def open(self) -> None:
        """Let operations through again."""
        self._is_shut = False


class Forkable(Protocol):
    """Something that has to know when the process forks."""

    def before_fork(self) -> None:
        """Close what a child must not inherit."""
        ...

    def after_fork_in_parent(self) -> None:
        """Go on."""
        ...

    def after_fork_in_child(self) -> None:
        """Go on without the parent's threads."""
        ...


_WATCHED: weakref.WeakSet[Forkable] = weakref.WeakSet()


def watch(each: Forkable) -> None:
    """Tell ``each`` of forks as long as it lives.

    A child that inherits an open SQLite connection believes that it holds the parent's locks. So there is none while
    a process forks.
    """
    _WATCHED.add(each)


def _tell(what: str) -> None:
    for each in list(_WATCHED):
        getattr(each, what)()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: _tell("before_fork"),
        after_in_parent=lambda: _tell("after_fork_in_parent"),
        after_in_child=lambda: _tell("after_fork_in_child"),
    )
