"""Background memories: on threads, and as asyncio tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import Context
from typing import Generic, Self, TypeVar

from acc.background.core import BackgroundCore, OnError
from acc.background.entries import Entry
from acc.board.board import Board
from acc.controller import AsyncMemoryController, MemoryController
from acc.errors import ConfigurationError
from acc.memory import whose
from acc.pipeline.update import Stored
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Thread
from acc.turn.observations import Observation
from acc.turn.turn import Turn

C = TypeVar("C", bound=MemoryController | AsyncMemoryController)


class _Background(Generic[C]):
    """What both background memories share: an entrance, and its use by asynchronous callers.

    A cancelled call loses nothing: what it was storing is stored first.
    """

    _memory: C
    entrance: BackgroundCore

    def _work(self, key: str) -> None:
        """Commit the finished turns of a thread, unless that is under way."""
        raise NotImplementedError

    def _started(self, thread: str | Thread) -> str:
        """Have the waiting turns of a thread, or of all, committed; return the thread's key, or an empty one."""
        key = whose(thread).key if thread else ""
        for name in self.entrance.backlog.ready(key):
            self._work(name)
        return key

    async def _abegin(
        self, state: Stored, turn: Turn, thread: str | Thread, seconds: float | None
    ) -> Entry:
        looked = await self._memory._beside(thread, self.entrance.look, state, turn, thread)
        key = looked.thread.key
        strict = self.entrance.must_wait(key)
        self._work(key)
        await _settled(self.entrance, key, None if strict else seconds)
        self.entrance.check_commits(key, strict=self.entrance.must_wait(key))
        entry = await self._memory._beside(thread, self.entrance.enter, looked)
        return self.entrance.with_news(entry)

    async def _afinish(
        self, entry: Entry, decision: Sequence[Observation] = ()
    ) -> CompressedCognitiveState:
        job = await self._memory._beside(entry.thread, self.entrance.store, entry, decision)
        self._work(job.thread.key)
        kept = await self._memory._beside(entry.thread, self.entrance.carrying, job)
        while (full := self.entrance.backlog.offer(job)) is not None:
            await _done([full], None)
        # Nothing is awaited any more: the caller of a queued turn receives its state.
        self._work(job.thread.key)
        return kept


class BackgroundMemory(_Background[MemoryController]):
    """A memory that commits after the agent's answer, on its own threads.

    Commits of one conversation run in order, one at a time; different conversations run in
    parallel. The caller keeps and checkpoints the state from `finish`. It is a normal state in
    which the finished turn is pending. Any process that continues from it includes the turn:
    `begin` finds the commit made meanwhile or starts it, and `MemoryController.step` includes
    the pending turn.
    """

    def __init__(
        self,
        memory: MemoryController,
        *,
        threads: int = 2,
        a_thread: int = 4,
        in_all: int = 64,
        on_error: OnError | None = None,
        board: Board | None = None,
    ) -> None:
        """Wrap a memory. The caller remains its owner and closes it after this object.

        Args:
            memory: The controller that commits.
            threads: Maximum number of parallel commits.
            a_thread: Maximum number of finished turns of one conversation that wait for their
                commit; `finish` blocks until there is room.
            in_all: The same limit for all conversations.
            on_error: Called with the conversation and the error when a commit raises, in the
                committing thread. Without it, the next entry raises the error.
            board: A board that the agents share (`acc.board`); `Entry.reads` begins with it.

        Raises:
            ConfigurationError: A limit or the number of threads is below 1.
        """
        if threads < 1:
            raise ConfigurationError(
                "commits need a thread to be made in", where="threads", hint="give 1 or more"
            )
        self._memory = memory
        self.entrance = BackgroundCore(
            memory, a_thread=a_thread, in_all=in_all, on_error=on_error, board=board
        )
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="acc-background")

    def begin(
        self, state: Stored, turn: Turn, *, thread: str | Thread, wait: float | None = 0.0
    ) -> Entry:
        """Begin a turn: find background commits, store the user's words, return what the agent reads.

        A finished turn without a commit is pending in `Entry.state` and visible to the agent. A
        commit of a state that ``state`` does not come from, for example after a rewind, is
        ignored.

        Args:
            state: The state from `finish`, or a committed state, or the canonical JSON of
                either; None for the first turn of a thread.
            turn: The user's words; pass the agent's words to `finish`.
            thread: The conversation.
            wait: Seconds to wait for commits in progress; None waits without limit.

        Raises:
            PinnedOverflow: The rules of an earlier turn did not fit (law 7). It is raised once:
                that turn is refused, and the next `begin` continues from the last good state
                without it.
            AccError: A background commit raised this error. The turns are stored and wait; each
                entry retries the commit once and waits for it. With ``on_error``, the error is
                not raised here and the agent continues.
            StateError: The state was edited or has another schema.
            StoreError: The words cannot be stored, or this memory is closed.
        """
        looked = self.entrance.look(state, turn, thread)
        key = looked.thread.key
        strict = self.entrance.must_wait(key)
        self._work(key)
        self._stand_still(key, None if strict else wait)
        self.entrance.check_commits(key, strict=self.entrance.must_wait(key))
        return self.entrance.with_news(self.entrance.enter(looked))

    def finish(
        self, entry: Entry, decision: Sequence[Observation] = ()
    ) -> CompressedCognitiveState:
        """Store the finished turn, schedule its commit, and return without waiting for it.

        Blocks only while the backlog is full.

        Args:
            entry: The entry from `begin`.
            decision: Tool results and the agent's calls and words, in order.

        Returns:
            The state to keep; the turn is pending in it.

        Raises:
            StoreError: The turn cannot be stored and will not be committed.
            ConflictError: Another process steps from the same state.
            AccError: The backlog is full because a commit raised this error. The turn is stored;
                `last_state` finds it.
        """
        job = self.entrance.store(entry, decision)
        self._work(job.thread.key)
        kept = self.entrance.carrying(job)
        while (full := self.entrance.backlog.offer(job)) is not None:
            wait([full])
        self._work(job.thread.key)
        return kept

    def last_state(
        self, thread: str | Thread, *, first: Stored = None
    ) -> CompressedCognitiveState | None:
        """Return the latest state of a thread, for callers that keep no state; also after a crash.

        Args:
            thread: The conversation.
            first: The thread's first state, such as a seed; used if nothing was ever committed.

        Returns:
            The newest committed state of the audit log, with finished but uncommitted turns
            pending in it; ``first`` if there is neither.
        """
        return self.entrance.resumed(thread, first)

    def drain(self, thread: str | Thread = "", *, seconds: float | None = None) -> bool:
        """Wait for the commits in progress, of one thread or of all.

        Args:
            thread: The conversation; empty for all.
            seconds: Maximum wait; None waits without limit.

        Returns:
            Whether every finished turn is committed.

        Raises:
            AccError: A commit raised this error, and it was not reported yet.
        """
        key = self._started(thread)
        self._stand_still(key, seconds)
        self.entrance.tell()
        return not self.entrance.backlog.unfinished(key)

    def close(self, *, seconds: float | None = None) -> bool:
        """Commit the waiting turns, then stop. A process that ends without `close` commits them, too.

        Turns that are not committed within ``seconds`` stay stored. A later `last_state` finds
        them, and a later `begin` commits them. Repeated calls are safe.

        Returns:
            Whether every finished turn is committed.

        Raises:
            AccError: A commit raised this error, and it was not reported yet.
        """
        self.entrance.shut()
        try:
            return self.drain(seconds=seconds)
        finally:
            self._pool.shutdown(wait=False)
            self.entrance.released()

    @property
    def memory(self) -> MemoryController:
        """The controller that commits."""
        return self._memory

    def _work(self, key: str) -> None:
        if self.entrance.backlog.start(key):
            self._pool.submit(self._commit_all, key)

    def _commit_all(self, key: str) -> None:
        """Commit the finished turns of a thread until none is left or a commit raises."""
        while (job := self.entrance.backlog.next(key)) is not None:
            try:
                step = self._memory.step(
                    job.prior, job.turn, thread=job.thread, board=self.entrance.board
                )
            except BaseException as error:  # no caller waits for this thread: keep and report it
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

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncBackgroundMemory(_Background[AsyncMemoryController]):
    """`BackgroundMemory` for asynchronous agents: one task per conversation with turns to commit."""

    def __init__(
        self,
        memory: AsyncMemoryController,
        *,
        a_thread: int = 4,
        in_all: int = 64,
        on_error: OnError | None = None,
        board: Board | None = None,
    ) -> None:
        """Like `BackgroundMemory`; ``on_error`` runs in the event loop."""
        self._memory = memory
        self.entrance = BackgroundCore(
            memory, a_thread=a_thread, in_all=in_all, on_error=on_error, board=board
        )
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def begin(
        self, state: Stored, turn: Turn, *, thread: str | Thread, wait: float | None = 0.0
    ) -> Entry:
        """Asynchronous `BackgroundMemory.begin`."""
        return await self._abegin(state, turn, thread, wait)

    async def finish(
        self, entry: Entry, decision: Sequence[Observation] = ()
    ) -> CompressedCognitiveState:
        """Asynchronous `BackgroundMemory.finish`."""
        return await self._afinish(entry, decision)

    async def last_state(
        self, thread: str | Thread, *, first: Stored = None
    ) -> CompressedCognitiveState | None:
        """Asynchronous `BackgroundMemory.last_state`."""
        return await self._memory._beside(thread, self.entrance.resumed, thread, first)

    async def drain(self, thread: str | Thread = "", *, seconds: float | None = None) -> bool:
        """Asynchronous `BackgroundMemory.drain`."""
        key = self._started(thread)
        await self._stand_still(key, seconds)
        self.entrance.tell()
        return not self.entrance.backlog.unfinished(key)

    async def close(self, *, seconds: float | None = None) -> bool:
        """Asynchronous `BackgroundMemory.close`; a loop that ends without it commits the turns, too."""
        self.entrance.shut()
        try:
            return await self.drain(seconds=seconds)
        finally:
            self.entrance.released()

    @property
    def memory(self) -> AsyncMemoryController:
        """The controller that commits."""
        return self._memory

    def _work(self, key: str) -> None:
        task = self._tasks.get(key)
        if task is not None and task.get_loop().is_closed():
            del self._tasks[key]
            if (left := task.get_coro()) is not None:
                left.close()  # its loop is closed: closing the coroutine releases the conversation
            self.entrance.backlog.interrupted(key)
        if self.entrance.backlog.start(key):
            # Use a new context, because the compressor's output is not part of the agent's run.
            self._tasks[key] = asyncio.create_task(self._commit_all(key), context=Context())

    async def _commit_all(self, key: str) -> None:
        """Commit the finished turns of a thread until none is left or a commit raises.

        After one cancellation, for example at the end of the loop, it commits the rest and then stops.
        """
        cancelled: asyncio.CancelledError | None = None
        while (job := self.entrance.backlog.next(key)) is not None:
            try:
                step = await self._memory.step(
                    job.prior, job.turn, thread=job.thread, board=self.entrance.board
                )
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
        await _settled(self.entrance, key, seconds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def _done(futures: Sequence[Future[None]], seconds: float | None) -> None:
    await asyncio.wait([asyncio.wrap_future(future) for future in futures], timeout=seconds)


async def _settled(entrance: BackgroundCore, key: str, seconds: float | None) -> None:
    under_way = entrance.backlog.working(key)
    if under_way and seconds != 0:
        await _done(under_way, seconds)
