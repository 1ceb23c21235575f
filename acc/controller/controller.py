"""`MemoryController` and `AsyncMemoryController`: a memory for threads, and for event loops."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import Any, Self

from typing_extensions import TypeVar

from acc.controller import acts
from acc.controller.memory import OpenMemory
from acc.controller.one_turn import stepped
from acc.controller.settings import Settings
from acc.controller.texts import document
from acc.driving import Doing, aperform, awaited, beside, perform
from acc.errors import InputError
from acc.journal import Latest, StoredCommit
from acc.journal.names import Key, key_of
from acc.state.model import CompressedCognitiveState
from acc.state.render import render
from acc.state.tail import Message
from acc.step.result import Step
from acc.text.sentences import identifier
from acc.turn.chat_messages import SUMMARY
from acc.turn.observations import Observation, is_ingested
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState, default=CompressedCognitiveState)
T = TypeVar("T")

THREADS = 4
"""Threads of an event loop's memory for what may block."""


class MemoryController(OpenMemory[S]):
    """A memory: each turn recalls, qualifies, compresses where it pays, commits and persists.

    Threads of a process may share it, and processes may share its folder.
    """

    def step(self, state: S | None, turn: Turn, *, thread: Key, force: bool = False) -> Step[S]:
        """Take a turn of a thread, and return what became of it.

        Steps of a thread are made one after the other (`Settings.busy_wait`).

        Args:
            state: The state to go on from; None for where the thread stopped. A state that another step went on from
                begins a branch of its own (`acc.controller.beginning`).
            turn: What happened since. A step that failed is repeated with the same state and turn, and does nothing
                twice; with None, if the turn's messages carry ids.
            thread: The thread.
            force: Compress now, whatever the size.

        Raises:
            PinnedOverflow: Rules and goals exceed their room. Everything else was committed: ``error.step``.
            ConflictError: Another step of the thread did not end in time, or another worker committed first. Repeat the
                step with the same state and turn.
            StateError: The memory does not hold ``state``.
            StoreError: The journal cannot be used. What was said is not lost silently: the step failed.
        """
        return perform(stepped(self, state, turn, thread=thread, force=force))

    def flush(self, thread: Key, *, branch: str = "main") -> Step[S] | None:
        """Compress what waits in a thread's tail; None if nothing does."""
        return perform(self.flushing(thread, branch=branch))

    def record(
        self, observations: Sequence[Observation], *, thread: Key, state: S | None = None
    ) -> bool:
        """Keep what the agent said, called and got as soon as it exists. Safe to repeat.

        It belongs to the next step of the thread, which says nothing twice if its turn begins with the same words.

        Args:
            observations: What happened, in order.
            thread: The thread.
            state: The state that the agent acts on; None for where the thread stopped.

        Returns:
            Whether it is kept. False: the thread went on from ``state``, and the step from it has to bring the words
            along in its turn.
        """
        return acts.record(self, observations, thread, state)

    def retire(
        self, ids: Sequence[str], reason: str = "", *, thread: Key, state: S | None = None
    ) -> Step[S]:
        """End rules, goals or other items as the operator, on every branch of the thread that holds them.

        A step from a state of before goes on without them.

        Args:
            ids: Ids of items, such as ``c17``.
            reason: Why. The commit's record keeps it.
            thread: The thread.
            state: A state of the branch whose ids these are; None for the main branch.

        Raises:
            InputError: There is no such item.
            ConflictError: Another worker committed meanwhile. Repeat it.
        """
        return acts.retire(self, ids, reason, thread, state)

    def withdraw(
        self, refs: Sequence[str], reason: str = "", *, thread: Key, branch: str = "main"
    ) -> Step[S]:
        """Withdraw messages: nothing in the state rests on them any more, and no compressor reads them.

        For words that were never meant to reach the agent: a guard blocked them, or their application took them
        back. They stay in the journal; to erase them is `acc.evidence.evidence.Evidence.erase`.

        Args:
            refs: Refs of messages, such as ``u7``.
            reason: Why. The commit's record keeps it.
            thread: The thread.
            branch: The branch.

        Raises:
            InputError: The thread has no such branch.
            ConflictError: Another worker committed meanwhile. Repeat it.
        """
        return acts.withdraw(self, refs, reason, thread, branch)

    def last_state(self, thread: Key, *, branch: str = "main") -> S | None:
        """Return the state where a thread stopped; None if there is none."""
        return self.standing(thread, branch).state

    def state_at(self, thread: Key, at: str | int, *, branch: str = "main") -> S | None:
        """Return the state with the hash or the version ``at``; None if there is none, or if it was erased."""
        schema: Any = self.policy.schema
        found: S | None = self.journal.state(key_of(thread), at, branch=branch, schema=schema)
        return found

    def latest(self, thread: Key, *, branch: str = "main") -> Latest[S]:
        """Return where a branch stands: its head, its state, and the messages of its tail."""
        return self.standing(thread, branch)

    def export_messages(self, thread: Key, *, branch: str = "main") -> list[dict[str, str]]:
        """Return a thread as plain chat messages: a summary, then what no compression has read, word for word.

        Any summariser, and an agent without a memory, goes on from them.

        Raises:
            InputError: There is no such thread.
        """
        latest = self.standing(thread, branch)
        if latest.state is None:
            raise InputError(
                f"there is no thread {key_of(thread)}", where="export_messages",
                hint="name it with its user: MemoryController.threads() tells the names",
            )  # fmt: skip
        step = self.as_step(latest.state, latest.tail)
        said = replace(step, tail=(*step.tail, *latest.waiting.messages)).messages(SUMMARY)
        is_empty = not render(latest.state, self.policy.style)
        return said[1:] if is_empty else [{**said[0], "role": "user"}, *said[1:]]

    def history(
        self, thread: Key, *, branch: str = "main", after: int = 0
    ) -> Iterator[StoredCommit]:
        """Yield the commits of a branch after a version, with their records."""
        return self.journal.commits(key_of(thread), branch, after)

    def open_evidence(self, ref: str, *, thread: Key, branch: str = "main") -> Message:
        """Return the message behind a ref that the branch sees, or a document that the thread may read.

        ``doc.8f1c22ab90.2`` is a part of a document; without the last number it is the whole document.

        Raises:
            InputError: There is none, or it was erased.
        """
        key = key_of(thread)
        found = next(iter(self.journal.texts(key, [ref], branch=branch)), None)
        if found is None and is_ingested(ref):
            found = document(self.journal, key, ref)
        if found is None:
            raise InputError(
                f"there is no evidence {ref!r}",
                where=str(key),
                hint="give a ref as the state shows it, such as u7; it may have been erased",
            )
        return found

    def settle(self, timeout: float | None = None) -> bool:
        """Wait for what is compressed behind the agent, and for the index; False if it failed or time was over."""
        is_done = self.behind is None or self.behind.settle(timeout=timeout)
        return self.index.drain(timeout) and is_done

    async def beside(self, function: Callable[..., T], *args: Any) -> T:
        """Run something that may block, beside the event loop."""
        return await asyncio.to_thread(function, *args)

    def close(self) -> None:
        """Finish what runs behind, fill the index with what it lacks, and close it and the journal."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncMemoryController(OpenMemory[S]):
    """The same for event loops: nothing blocks the loop. A method does what that of `MemoryController` does."""

    _threads: tuple[int, ThreadPoolExecutor] | None = None

    step = awaited(stepped)
    flush = awaited(OpenMemory[S].flushing)
    record = beside(MemoryController[S].record)
    retire = beside(MemoryController[S].retire)
    withdraw = beside(MemoryController[S].withdraw)
    last_state = beside(MemoryController[S].last_state)
    state_at = beside(MemoryController[S].state_at)
    latest = beside(MemoryController[S].latest)
    export_messages = beside(MemoryController[S].export_messages)
    open_evidence = beside(MemoryController[S].open_evidence)

    async def beside(self, function: Callable[..., T], *args: Any) -> T:
        """Run something that may block, beside the event loop.

        In threads of its own: in those of `asyncio.to_thread`, tools may wait for a step of the same thread.
        A call that is cancelled may still be carried out, whole or not at all. The step is repeated as after a crash.
        """
        process = os.getpid()
        if self._threads is None or self._threads[0] != process:  # threads do not survive a fork
            self._threads = process, ThreadPoolExecutor(THREADS, "acc-beside")
        run = asyncio.get_running_loop().run_in_executor
        act = partial(
            copy_context().run, function, *args
        )  # a run knows by it whose sub-agent it is
        return await run(self._threads[1], act)

    async def carried_out(self, doing: Doing[T]) -> T:
        """Carry out a computation."""
        if not identifier.cache_info().currsize:
            # To load it here would block the loop for half a second.
            await self.beside(identifier)
        return await aperform(doing, self.beside)

    async def aclose(self) -> None:
        """Finish what runs behind, fill the index with what it lacks, and close it and the journal."""
        await self.beside(self._close)
        if self._threads is not None:
            self._threads[1].shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


__all__ = ["AsyncMemoryController", "MemoryController", "Settings"]
