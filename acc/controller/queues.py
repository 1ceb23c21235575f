"""Who works on a thread, in one process: a queue for its steps, and a worker behind them.

Who comes while another is at work waits for it, or is told.

queues = Queues(wait=30)  # 0: is told at once
with queues.place("t7"):  # in an event loop: async with
    answer = agent.invoke(...)

It knows nothing of other processes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Self

from acc.errors import ConflictError
from acc.journal import ThreadKey
from acc.logs import code, log_event
from acc.step.result import Step

Name = tuple[int, Hashable]

WORKERS = 4
"""Threads that compress behind the agent at the same time."""

_LOG = logging.getLogger(__name__)


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


class Behind:
    """Compresses threads behind their steps, each by one worker at a time.

    The next step adopts what a worker committed; until then the tail carries the agent. If the worker fails, or
    something else was compressed meanwhile, nothing is lost: the words are still in the tail.

    Args:
        compress: Compresses what waits on a branch of a thread, if anything does.
    """

    def __init__(self, compress: Callable[[ThreadKey, str], Step[Any] | None]) -> None:
        self._do = compress
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="acc-behind")
        self._running: dict[tuple[ThreadKey, str], Future[None]] = {}
        self._lock = threading.Lock()

    def begin(self, key: ThreadKey, branch: str) -> None:
        """Begin to compress a branch, unless a worker does."""
        place = (key, branch)
        with self._lock:
            self._running = {p: each for p, each in self._running.items() if not each.done()}
            if place not in self._running:
                self._running[place] = self._pool.submit(self._compress, *place)

    def _compress(self, key: ThreadKey, branch: str) -> None:
        try:
            step = self._do(key, branch)
            failure = step.failure.partition(":")[0] if step is not None else ""
        except ConflictError:
            failure = "overtaken"
        except Exception as error:  # a worker has nobody above it who could be told
            failure = type(error).__name__
        if failure:
            log_event(
                _LOG, logging.WARNING, "behind", "a compression behind the agent came to nothing",
                thread=key.thread, outcome=code(failure),
            )  # fmt: skip

    def settle(self, key: ThreadKey | None = None, timeout: float | None = None) -> bool:
        """Wait until what runs for a thread, or for all, has ended; return False if the time was over."""
        with self._lock:
            running = [each for (of, _), each in self._running.items() if key in (None, of)]
        return not wait(running, timeout).not_done

    def close(self) -> None:
        """Wait for what runs."""
        self._pool.shutdown(wait=True)
