"""A background memory whose commits are tasks of the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import Context
from types import TracebackType
from typing import Self

from acc.background.entrance import Entrance, OnError
from acc.background.entries import Entry
from acc.controller import AsyncMemoryController, Stored
from acc.memory import whose
from acc.state import CompressedCognitiveState
from acc.store import Thread
from acc.turn import Observation, Turn


class AsyncBackgroundMemory:
    """`BackgroundMemory` for asynchronous agents: a task for each thread that has turns to commit."""

    def __init__(
        self,
        memory: AsyncMemoryController,
        *,
        a_thread: int = 4,
        in_all: int = 64,
        on_error: OnError | None = None,
    ) -> None:
        """As `BackgroundMemory`; ``on_error`` is called in the event loop."""
        self._memory = memory
        self.entrance = Entrance(memory, a_thread=a_thread, in_all=in_all, on_error=on_error)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def begin(
        self, state: Stored, turn: Turn, *, thread: str | Thread, wait: float | None = 0.0
    ) -> Entry:
        """As `BackgroundMemory.begin`."""
        looked = await asyncio.to_thread(self.entrance.look, state, turn, thread)
        strict = self.entrance.must_wait(looked.thread.key)
        self._work(looked.thread.key)
        await self._stand_still(looked.thread.key, None if strict else wait)
        strict = self.entrance.must_wait(looked.thread.key)
        return await asyncio.to_thread(self.entrance.enter, looked, strict=strict)

    async def finish(
        self, entry: Entry, decision: Sequence[Observation] = ()
    ) -> CompressedCognitiveState:
        """As `BackgroundMemory.finish`."""
        job = await asyncio.to_thread(self.entrance.store, entry, decision)
        self._work(job.thread.key)
        while (full := self.entrance.backlog.offer(job)) is not None:
            await _done([full], None)
        kept = await asyncio.to_thread(self.entrance.carrying, job)
        self._work(job.thread.key)
        return kept

    async def last_state(
        self, thread: str | Thread, *, first: Stored = None
    ) -> CompressedCognitiveState | None:
        """As `BackgroundMemory.last_state`."""
        return await asyncio.to_thread(self.entrance.resumed, thread, first)

    async def drain(self, thread: str | Thread = "", *, seconds: float | None = None) -> bool:
        """As `BackgroundMemory.drain`."""
        key = whose(thread).key if thread else ""
        for name in self.entrance.backlog.ready(key):
            self._work(name)
        await self._stand_still(key, seconds)
        self.entrance.tell()
        return not self.entrance.backlog.unfinished(key)

    async def close(self, *, seconds: float | None = None) -> bool:
        """As `BackgroundMemory.close`; a loop that ends without it commits what waits too."""
        self.entrance.shut()
        try:
            return await self.drain(seconds=seconds)
        finally:
            self.entrance.released()

    @property
    def memory(self) -> AsyncMemoryController:
        """What commits."""
        return self._memory

    def _work(self, key: str) -> None:
        task = self._tasks.get(key)
        if task is not None and task.get_loop().is_closed():
            del self._tasks[key]
            if (left := task.get_coro()) is not None:
                left.close()  # nobody will ever go on with it: it lets the thread go
            self.entrance.backlog.interrupted(key)
        if self.entrance.backlog.start(key):
            # Not in the caller's context: what a compressor says is no part of the agent's run.
            self._tasks[key] = asyncio.create_task(self._commit_all(key), context=Context())

    async def _commit_all(self, key: str) -> None:
        """Commit the finished turns of a thread, until there are none, or one raises.

        Cancelled once, as when the loop ends, it commits the rest and ends then.
        """
        cancelled: asyncio.CancelledError | None = None
        while (job := self.entrance.backlog.next(key)) is not None:
            try:
                step = await self._memory.step(job.prior, job.turn, thread=job.thread)
            except asyncio.CancelledError as error:
                if cancelled is not None:
                    self.entrance.backlog.interrupted(key)
                    raise
                cancelled = error
            except Exception as error:
                if not self.entrance.failed(job, error):
                    break
            else:
                self.entrance.backlog.done(job, step)
        self._tasks.pop(key, None)
        if cancelled is not None:
            raise cancelled

    async def _stand_still(self, key: str, seconds: float | None) -> None:
        under_way = self.entrance.backlog.working(key)
        if under_way and seconds != 0:
            await _done(under_way, seconds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


async def _done(futures: Sequence[Future[None]], seconds: float | None) -> None:
    await asyncio.wait([asyncio.wrap_future(future) for future in futures], timeout=seconds)
