"""A queue for each thread, in one process: who comes while another is at work waits for it, or is told.

queues = Queues(wait=30)  # 0: is told at once
with queues.place("t7"):  # in an event loop: async with
    answer = agent.invoke(...)

It knows nothing of other processes.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Hashable
from concurrent.futures import Future
from typing import Any, Self

from acc.errors import ConflictError

Name = tuple[int, Hashable]


class Queues:
    """The queues of all threads.

    Args:
        wait: Seconds that somebody waits at most.
    """

    def __init__(self, wait: float) -> None:
        self.wait = wait
        self._guards: dict[int, threading.Lock] = {}
        self._queues: dict[Name, deque[Place]] = {}

    def place(self, thread: Hashable) -> Place:
        """Take the next place in a thread's queue."""
        name = os.getpid(), thread  # those who stood there are not in a fork
        with self._guard():
            queue = self._queues.setdefault(name, deque())
            place = Place(self, name, is_behind=bool(queue))
            queue.append(place)
        return place

    def leave(self, place: Place) -> None:
        """Give a place up; the next one's turn begins if it was this one's. Safe to repeat."""
        with self._guard():
            queue = self._queues.get(place.name, deque())
            if place not in queue:
                return
            was_first = queue[0] is place
            queue.remove(place)
            if not queue:
                del self._queues[place.name]
            elif was_first and queue[0].turn.set_running_or_notify_cancel():
                queue[0].turn.set_result(None)

    def _guard(self) -> threading.Lock:
        return self._guards.setdefault(os.getpid(), threading.Lock())


class Place:
    """A place in a queue; a context, and something that a computation waits for (`acc.driving`).

    Attributes:
        name: The process and the thread.
        wait: Seconds that it waits at most.
        is_behind: Whether somebody was there before.
        turn: Is done when it is this one's turn. Who cancels it gives the place up.
    """

    def __init__(self, queues: Queues, name: Name, *, is_behind: bool) -> None:
        self.name, self.wait, self.is_behind = name, queues.wait, is_behind
        self.turn: Future[None] = Future()
        if not is_behind:
            self.turn.set_result(None)
        self._queues = queues

    def complete(self) -> None:
        """Wait for this one's turn.

        Raises:
            ConflictError: It did not come in time. The place is given up.
        """
        try:
            self.turn.result(self.wait)
        except BaseException as error:
            raise self._given_up(error) from None

    async def acomplete(self) -> None:
        """Do what `complete` does, without blocking the event loop."""
        try:
            if not self.turn.done():
                await asyncio.wait_for(asyncio.wrap_future(self.turn), self.wait)
        except BaseException as error:
            raise self._given_up(error) from None

    def close(self) -> None:
        """Give the place up. Safe to repeat."""
        self._queues.leave(self)

    def _given_up(self, error: BaseException) -> BaseException:
        self.close()
        if not isinstance(error, TimeoutError):
            return error
        return ConflictError(
            "the thread is busy: what came before has not ended",
            where=str(self.name[1]),
            hint="send it again a moment later, or wait longer (busy_wait)",
        )

    def __enter__(self) -> Self:
        self.complete()
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await self.acomplete()
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.close()
