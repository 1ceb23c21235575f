"""Which calls may run at the same time: the steps of a thread one by one, and an erasure alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

MOST_STEPS = 8
"""Maximum number of steps at the same time, of different threads."""


class Turns:
    """Lets callers in. Only for one event loop."""

    def __init__(self) -> None:
        self._threads: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._places = asyncio.Semaphore(MOST_STEPS)
        self._erasing = asyncio.Lock()

    @asynccontextmanager
    async def step(self, thread_key: str) -> AsyncIterator[None]:
        """Wait until no other step of the thread runs, and for a place."""
        lock = self._threads.get(thread_key)
        if lock is None:
            lock = self._threads[thread_key] = asyncio.Lock()
        async with lock, self._places:
            yield

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Wait until no step runs at all, and keep others out."""
        async with self._erasing, AsyncExitStack() as stack:
            for _ in range(MOST_STEPS):
                await stack.enter_async_context(self._places)
            yield
