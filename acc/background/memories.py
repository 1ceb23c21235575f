"""A background memory on threads."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import Context
from types import TracebackType
from typing import Self

from acc.background.core import BackgroundCore, OnError
from acc.background.entries import Entry
from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import ConfigurationError
from acc.memory import whose
from acc.pipeline.update import Stored
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Thread
from acc.turn.observations import Observation
from acc.turn.turn import Turn


class BackgroundMemory:
    """A memory whose commits are made behind the agent, on threads of their own.

    Per thread in order and one at a time, across threads at the same time. What `finish` returns
    is what the caller keeps, and checkpoints: a state like any other, in which the finished turn is
    pending. Whoever goes on from it, in whatever process, has the turn: `begin` finds the commit
    that was made of it meanwhile, or makes it now; `MemoryController.step` folds it in.
    """

    def __init__(
        self,
        memory: MemoryController,
        *,
        threads: int = 2,
        a_thread: int = 4,
        in_all: int = 64,
        on_error: OnError | None = None,
    ) -> None:
        """Take a memory. It stays the caller's, to be closed after this one.

        Args:
            memory: What commits.
            threads: Commits that are made at the same time.
            a_thread: Finished turns of one conversation that may wait for their commit; `finish`
                waits for a place.
            in_all: Those of all conversations.
            on_error: Called with the conversation and the error when a commit raises, in the
                thread that made it. Without it the next entry tells.

        Raises:
            ConfigurationError: No place for a single turn, or no thread.
        """
        if threads < 1:
            raise ConfigurationError(
                "commits need a thread to be made in", where="threads", hint="give 1 or more"
            )
        self._memory = memory
        self.entrance = BackgroundCore(memory, a_thread=a_thread, in_all=in_all, on_error=on_error)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="acc-background")

    def begin(
        self, state: Stored, turn: Turn, *, thread: str | Thread, wait: float | None = 0.0
    ) -> Entry:
        """Begin a turn: join what was committed, store the user's words, tell what to read.

        A finished turn whose commit is not there yet is pending in `Entry.state`, and among what
        the agent reads. A commit of a state that ``state`` does not come from, as after a
        rewind, is not joined.

        Args:
            state: What `finish` returned, or a committed state, or the canonical JSON of either;
                None for the first turn of a thread.
            turn: The user's words; the agent's are given to `finish`.
            thread: The conversation.
            wait: Seconds to wait for commits under way; None until they are made.

        Raises:
            PinnedOverflow: The rules of a turn before found no room (law 7). It is raised once: that
                turn is refused, and the next `begin` goes on from the last good state, without it.
            AccError: A commit behind raised this; the turns are stored, and wait. Each entry tries
                it once more and waits for it, until it is mended. With an ``on_error`` it is not
                raised here, and the agent goes on behind it.
            StateError: The state was edited, or is not of this schema.
            StoreError: The words cannot be stored, or this memory is closed.
        """
        looked = self.entrance.look(state, turn, thread)
        strict = self.entrance.must_wait(looked.thread.key)
        self._work(looked.thread.key)
        self._stand_still(looked.thread.key, None if strict else wait)
        return self.entrance.enter(looked, strict=self.entrance.must_wait(looked.thread.key))

    def finish(
        self, entry: Entry, decision: Sequence[Observation] = ()
    ) -> CompressedCognitiveState:
        """Store the finished turn, have it committed behind, and return at once.

        Args:
            entry: What `begin` returned.
            decision: What tools told and the agent did and said, in its order.

        Returns:
            The state to keep: the turn is pending in it.

        Raises:
            StoreError: The turn cannot be stored; nothing of it will be committed.
            ConflictError: Another process is stepping from the same state.
            AccError: There is no place left behind a commit that raised this. The turn is stored;
                `last_state` finds it.
        """
        job = self.entrance.store(entry, decision)
        self._work(job.thread.key)
        while (full := self.entrance.backlog.offer(job)) is not None:
            wait([full])
        kept = self.entrance.carrying(job)
        self._work(job.thread.key)
        return kept

    def last_state(
        self, thread: str | Thread, *, first: Stored = None
    ) -> CompressedCognitiveState | None:
        """Where a thread stands, for callers that keep no state: also after a kill.

        Args:
            thread: The conversation.
            first: The state that it began with, such as a seed: used where nothing was ever committed.

        Returns:
            The newest committed state by the audit log, with the finished turns that no commit
            has taken in pending in it; ``first`` where there is neither.
        """
        return self.entrance.resumed(thread, first)

    def drain(self, thread: str | Thread = "", *, seconds: float | None = None) -> bool:
        """Wait until nothing is committed any more, of one thread or of all.

        Returns:
            Whether every finished turn is committed.

        Raises:
            AccError: A commit raised this, and nobody was told yet.
        """
        key = whose(thread).key if thread else ""
        for name in self.entrance.backlog.ready(key):
            self._work(name)
        self._stand_still(key, seconds)
        self.entrance.tell()
        return not self.entrance.backlog.unfinished(key)

    def close(self, *, seconds: float | None = None) -> bool:
        """Commit what waits, then stop. A process that ends without it does so too.

        What is not committed within ``seconds`` stays stored, and is committed after a later
        `begin` or `last_state`. Safe to repeat.

        Returns:
            Whether every finished turn is committed.

        Raises:
            AccError: A commit raised this, and nobody was told yet.
        """
        self.entrance.shut()
        try:
            return self.drain(seconds=seconds)
        finally:
            self._pool.shutdown(wait=False)
            self.entrance.released()

    @property
    def memory(self) -> MemoryController:
        """What commits."""
        return self._memory

    def _work(self, key: str) -> None:
        if self.entrance.backlog.start(key):
            self._pool.submit(self._commit_all, key)

    def _commit_all(self, key: str) -> None:
        """Commit the finished turns of a thread, until there are none, or one raises."""
        while (job := self.entrance.backlog.next(key)) is not None:
            try:
                step = self._memory.step(job.prior, job.turn, thread=job.thread)
            except BaseException as error:  # nobody waits for this thread: it is kept, and told
                if not self.entrance.failed(job, error):
                    return
            else:
                self.entrance.backlog.done(job, step)

    def _stand_still(self, key: str, seconds: float | None) -> None:
        under_way: list[Future[None]] = self.entrance.backlog.working(key)
        if under_way and seconds != 0:
            wait(under_way, seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


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
        self.entrance = BackgroundCore(memory, a_thread=a_thread, in_all=in_all, on_error=on_error)
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
