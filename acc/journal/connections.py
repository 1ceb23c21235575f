"""A pool of connections without locks of its own.

SQLAlchemy's pools hold a lock in Python around their lists. A Ctrl-C at the wrong instant leaves it held, and every
thread of the process waits for ever. Here the list is a deque, whose operations an interrupt does not divide.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from sqlalchemy.pool import ConnectionPoolEntry, Pool

KEPT = 8
"""Connections that are kept open while nobody uses them. More are opened if more threads read at once."""


class Connections(Pool):
    """Gives each caller a connection that nobody else has; opens one if none is left."""

    def __init__(self, creator: Any, **options: Any) -> None:
        super().__init__(creator, **options)
        self._idle: deque[ConnectionPoolEntry] = deque()

    def _do_get(self) -> ConnectionPoolEntry:
        try:
            return self._idle.pop()
        except IndexError:
            return self._create_connection()

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        if len(self._idle) < KEPT:
            self._idle.append(record)
        else:
            record.close()

    def recreate(self) -> Connections:
        """Return an empty pool of the same kind."""
        return type(self)(
            self._creator, recycle=self._recycle, echo=self.echo,
            logging_name=self._orig_logging_name, reset_on_return=self._reset_on_return,
            pre_ping=self._pre_ping, _dispatch=self.dispatch, dialect=self._dialect,
        )  # fmt: skip

    def dispose(self) -> None:
        """Close what nobody uses."""
        while self._idle:
            self._idle.pop().close()

    def status(self) -> str:
        """Describe the pool."""
        return f"{len(self._idle)} connections are idle"
