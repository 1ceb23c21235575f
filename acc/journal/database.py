"""What the journal asks of a database: to read in one snapshot, and to write in one transaction.

SQLite's is `acc.journal.sqlite.Sqlite`. Everything above it speaks SQLAlchemy Core, so that another database needs a
class of this form, and migrations of its own.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Protocol, TypeVar

from sqlalchemy import Connection

T = TypeVar("T")


class Database(Protocol):
    """A database with the journal's tables.

    Attributes:
        where: Names it in errors, without credentials.
    """

    where: str

    def read(self, job: Callable[[Connection], T]) -> T:
        """Return what ``job`` reads. It sees one state of the database."""
        ...

    def write(self, job: Callable[[Connection], T]) -> T:
        """Run ``job`` in a transaction of its own or with others, and return once it is on the disk.

        If ``job`` raises, nothing of it was written. It may be run again after a failure of the database, so that
        it must have no effect but on the connection.
        """
        ...

    def scrub(self) -> bool:
        """Remove what was deleted or overwritten from the files beside the database, as far as nobody reads them.

        Returns:
            Whether nothing is left.
        """
        ...

    def close(self) -> None:
        """Close every connection. A second call does nothing."""
        ...


class Gate:
    """Lets operations through, and holds them off while the process forks."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._is_shut = False

    def __enter__(self) -> None:
        with self._changed:
            while self._is_shut:
                self._changed.wait()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def shut(self, seconds: float) -> bool:
        """Let nobody in, and wait until nobody is inside; return whether that came about."""
        with self._changed:
            self._is_shut = True
            return self._changed.wait_for(lambda: self._inside == 0, seconds)

    def open(self) -> None:
        """Let operations through again."""
        with self._changed:
            self._is_shut = False
            self._changed.notify_all()


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
