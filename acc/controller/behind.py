"""Compress behind the agent: a worker asks the model after a step, and the next step adopts what it committed.

Until then the tail carries the agent. If the worker fails, or something else was compressed meanwhile, nothing is
lost: the words are still in the tail, and the next step has them compressed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from acc.controller.acts import flushing
from acc.controller.parts import Parts
from acc.driving import perform
from acc.errors import ConflictError
from acc.journal import ThreadKey
from acc.step import Cadence, Step

WORKERS = 4


def patient(cadence: Cadence) -> Cadence:
    """Return a cadence that asks no model before the tail is full."""
    return replace(cadence, compress_over=cadence.tail_bound)


class Behind:
    """Compresses threads behind their steps, each by one worker at a time.

    Args:
        parts: The memory, with the cadence that says when to compress.
        told: Gets each compression that came to nothing: its thread, and why in one word.
    """

    def __init__(self, parts: Parts[Any], told: Callable[[ThreadKey, str], None]) -> None:
        self._parts, self._told = parts, told
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="acc-behind")
        self._running: dict[tuple[ThreadKey, str], Future[None]] = {}
        self._lock = threading.Lock()

    def stepped(self, key: ThreadKey, step: Step[Any]) -> None:
        """Learn of a step; begin to compress if enough waits."""
        waiting = sum(entry.tokens for entry in step.state.unread if entry.status == "unread")
        if waiting <= self._parts.memory.cadence.compress_over:
            return
        place = (key, step.state.branch)
        with self._lock:
            running = self._running.get(place)
            if running is None or running.done():
                self._running[place] = self._pool.submit(self._compress, *place)

    def _compress(self, key: ThreadKey, branch: str) -> None:
        try:
            step: Step[Any] | None = perform(flushing(self._parts, key, branch))
        except ConflictError:
            self._told(key, "overtaken")
        except Exception as error:  # a worker has nobody above it who could be told
            self._told(key, type(error).__name__)
        else:
            if step is not None and step.failure:
                self._told(key, step.failure.partition(":")[0])

    def settle(self, key: ThreadKey | None = None, timeout: float | None = None) -> bool:
        """Wait until what runs for a thread, or for all, has ended; return False if the time was over."""
        with self._lock:
            running = [each for (of, _), each in self._running.items() if key in (None, of)]
        try:
            for each in running:
                each.result(timeout)
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Wait for what runs."""
        self._pool.shutdown(wait=True)
