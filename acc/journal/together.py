"""Writers of one process commit together: whoever gets the lock runs what all of them wait for, in one transaction.

A transaction costs one wait for the disk. Sixty-four threads that each wait for their own take sixty-four; together
they take a few. Each job has a savepoint, so that one that fails takes nothing of the others with it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from sqlalchemy import Connection

from acc.journal.faults import is_of_database

MOST_TOGETHER = 64

T = TypeVar("T")


class Job:
    """Something to write, and what became of it."""

    def __init__(self, act: Callable[[Connection], Any]) -> None:
        self.act = act
        self.is_done = False
        self.value: Any = None
        self.error: BaseException | None = None

    def settle(self, value: Any = None, error: BaseException | None = None) -> None:
        """Say what became of it."""
        self.value, self.error, self.is_done = value, error, True


class Queue:
    """Runs jobs one transaction after the other.

    Args:
        transaction: Runs a function in a transaction that is on the disk when it returns.
    """

    def __init__(self, transaction: Callable[[Callable[[Connection], None]], None]) -> None:
        self._transaction = transaction
        self._waiting: deque[Job] = deque()
        self._leading = threading.Lock()

    def run(self, act: Callable[[Connection], T]) -> T:
        """Return what ``act`` returns, once it is on the disk."""
        mine = Job(act)
        self._waiting.append(mine)
        try:
            with self._leading:
                while not mine.is_done:
                    self._lead(mine)
        except BaseException:  # an interrupt: what nobody has begun is not begun
            with suppress(ValueError):
                self._waiting.remove(mine)
            raise
        if mine.error is not None:
            raise mine.error
        value: T = mine.value
        return value

    def _lead(self, mine: Job) -> None:
        batch: list[Job] = []
        while self._waiting and len(batch) < MOST_TOGETHER:
            batch.append(self._waiting.popleft())
        try:
            self._settle(batch)
        except BaseException:  # an interrupt of this thread: the others' jobs stay theirs
            self._waiting.extendleft(
                each for each in reversed(batch) if each is not mine and not each.is_done
            )
            raise

    def _settle(self, batch: Sequence[Job]) -> None:
        done: list[tuple[Any, BaseException | None]] = []

        def all_of_them(connection: Connection) -> None:
            done.clear()
            done.extend(_apart(connection, each, alone=len(batch) == 1) for each in batch)

        try:
            self._transaction(all_of_them)
        except Exception as error:
            if len(batch) == 1:
                batch[0].settle(error=error)
                return
            for each in batch:  # one of them broke the transaction: who did, is told alone
                self._settle([each])
            return
        for each, (value, failure) in zip(batch, done, strict=True):
            each.settle(value, failure)


def _apart(connection: Connection, job: Job, *, alone: bool) -> tuple[Any, BaseException | None]:
    """Return what a job returned or raised; what it wrote is undone if it raised."""
    if alone:
        return job.act(connection), None
    connection.exec_driver_sql("SAVEPOINT job")
    try:
        value = job.act(connection)
    except Exception as error:
        if is_of_database(error):
            raise
        connection.exec_driver_sql("ROLLBACK TO job")
        connection.exec_driver_sql("RELEASE job")
        return None, error
    connection.exec_driver_sql("RELEASE job")
    return value, None
