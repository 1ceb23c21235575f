"""Run what may block beside an event loop, in a small pool of threads, so that the loop goes on.

A call that is cancelled may still be carried out, whole or not at all. The step is repeated as after a crash: it finds
what was written.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

THREADS = 4

T = TypeVar("T")


class Beside:
    """A pool of threads that several loops may share, and that a forked child makes anew."""

    def __init__(self) -> None:
        self._threads: tuple[int, ThreadPoolExecutor] | None = None

    async def run(self, act: Callable[[], T]) -> T:
        """Return what ``act`` returns; it runs in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool(), act)

    def close(self) -> None:
        """Let the threads end when they are done."""
        self._pool().shutdown(wait=False)

    def _pool(self) -> ThreadPoolExecutor:
        process = os.getpid()
        if self._threads is None or self._threads[0] != process:  # threads do not survive a fork
            self._threads = process, ThreadPoolExecutor(THREADS, "acc-journal")
        return self._threads[1]
