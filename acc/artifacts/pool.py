"""Async callers: the calls of store, recall and filling in a few threads, so that no event loop waits for a disk."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Pool:
    """A few threads: ``found = await pool.run(store.query, thread, question)``.

    A call that is cancelled goes on to its end: what it adds can be added again.
    """

    def __init__(self, workers: int = 4) -> None:
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="acc-artifacts")

    async def run(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return what ``call`` returns, in the caller's context."""
        context = contextvars.copy_context()
        bound = partial(context.run, call, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, bound)

    def close(self) -> None:
        """Wait for the calls that run, and end the threads."""
        self._threads.shutdown()
