"""`MemoryController` and `AsyncMemoryController`: a memory for threads, and for event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from typing_extensions import TypeVar

from acc.controller.common import Common
from acc.controller.settings import Settings
from acc.driving import Doing, aperform, perform
from acc.journal import Latest, StoredCommit, ThreadKey
from acc.journal.opened import key_of
from acc.journal.threads import Beside
from acc.overflow import raise_overflow
from acc.state.model import CompressedCognitiveState
from acc.step import Step
from acc.tail import Message
from acc.text.language import identifier
from acc.turn.observations import Observation
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState, default=CompressedCognitiveState)
T = TypeVar("T")


class MemoryController(Common[S]):
    """A memory: each turn recalls, qualifies, compresses where it pays, commits and persists.

    Threads of a process may share it, and processes may share its folder.
    """

    def step(
        self,
        state: S | None,
        turn: Turn,
        *,
        thread: ThreadKey | str,
        force: bool = False,
        adopt: bool = False,
    ) -> Step[S]:
        """Take a turn of a thread, and return what became of it.

        Steps of a thread are made one after the other (`Settings.busy_wait`).

        Args:
            state: The state to go on from; None for where the thread stopped. A state that another step went on from
                begins a branch of its own (`acc.controller.beginning`).
            turn: What happened since. A step that failed is repeated with the same state and turn, and does nothing
                twice; with None, if the turn's messages carry ids.
            thread: The thread.
            force: Compress now, whatever the size.
            adopt: Go on from ``state`` although the journal does not hold it, as after a restore from a backup that
                is older than a checkpoint. The step's ``warnings`` say so.

        Raises:
            PinnedOverflow: Rules and goals exceed their room. Everything else was committed: ``error.step``.
            ConflictError: Another step of the thread did not end in time, or another worker committed first. Repeat the
                step with the same state and turn.
            StateError: The memory does not hold ``state``.
            StoreError: The journal cannot be used. What was said is not lost silently: the step failed.
        """
        return perform(self._stepping(state, turn, thread, force, adopt))

    def flush(self, thread: ThreadKey | str, *, branch: str = "main") -> Step[S] | None:
        """Compress what waits in a thread's tail; None if nothing does."""
        step = perform(self._flushing(thread, branch))
        return raise_overflow(step) if step is not None else None

    def record(
        self,
        observations: Sequence[Observation],
        *,
        thread: ThreadKey | str,
        state: S | None = None,
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
        return perform(self._recording(observations, state, thread))

    def retire(
        self,
        ids: Sequence[str],
        reason: str = "",
        *,
        thread: ThreadKey | str,
        state: S | None = None,
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
        return perform(self._retiring(ids, reason, state, thread))

    def withdraw(
        self,
        refs: Sequence[str],
        reason: str = "",
        *,
        thread: ThreadKey | str,
        branch: str = "main",
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
        return self.withdrawn(refs, reason, thread=thread, branch=branch)

    def last_state(self, thread: ThreadKey | str, *, branch: str = "main") -> S | None:
        """Return the state where a thread stopped; None if there is none."""
        return self._state(thread, branch)

    def state_at(self, thread: ThreadKey | str, at: str | int, *, branch: str = "main") -> S | None:
        """Return the state with the hash or the version ``at``; None if there is none, or if it was erased."""
        return self._state(thread, branch, at)

    def latest(self, thread: ThreadKey | str, *, branch: str = "main") -> Latest[S]:
        """Return where a branch stands: its head, its state, and the messages of its tail."""
        return self._latest(thread, branch)

    def export_messages(
        self, thread: ThreadKey | str, *, branch: str = "main"
    ) -> list[dict[str, str]]:
        """Return a thread as plain chat messages: a summary, then what no compression has read, word for word.

        Any summariser, and an agent without a memory, goes on from them.

        Raises:
            InputError: There is no such thread.
        """
        return self._exported(thread, branch)

    def history(
        self, thread: ThreadKey | str, *, branch: str = "main", after: int = 0
    ) -> Iterator[StoredCommit]:
        """Yield the commits of a branch after a version, with their records."""
        return self.journal.commits(key_of(thread), branch, after)

    def open_evidence(self, ref: str, *, thread: ThreadKey | str, branch: str = "main") -> Message:
        """Return the message behind a ref that the branch sees, or a document that the thread may read.

        ``doc.8f1c22ab90.2`` is a part of a document; without the last number it is the whole document.

        Raises:
            InputError: There is none, or it was erased.
        """
        return self._opened(ref, thread, branch)

    def back_up(self, to: str | Path) -> Path:
        """Copy the journal to a new file while others write. The index is rebuilt from it.

        Raises:
            InputError: There is such a file.
        """
        return self.journal.backup(to)

    def settle(self, timeout: float | None = None) -> bool:
        """Wait for what is compressed behind the agent, and for the index; False if the time was over."""
        is_done = self._behind is None or self._behind.settle(timeout=timeout)
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


class AsyncMemoryController(Common[S]):
    """The same for event loops: nothing blocks the loop."""

    @cached_property
    def _beside(self) -> Beside:
        return Beside()

    async def step(
        self,
        state: S | None,
        turn: Turn,
        *,
        thread: ThreadKey | str,
        force: bool = False,
        adopt: bool = False,
    ) -> Step[S]:
        """Do what `MemoryController.step` does."""
        return await self._done(self._stepping(state, turn, thread, force, adopt))

    async def flush(self, thread: ThreadKey | str, *, branch: str = "main") -> Step[S] | None:
        """Do what `MemoryController.flush` does."""
        step = await self._done(self._flushing(thread, branch))
        return raise_overflow(step) if step is not None else None

    async def record(
        self,
        observations: Sequence[Observation],
        *,
        thread: ThreadKey | str,
        state: S | None = None,
    ) -> bool:
        """Do what `MemoryController.record` does."""
        return await self._done(self._recording(observations, state, thread))

    async def retire(
        self,
        ids: Sequence[str],
        reason: str = "",
        *,
        thread: ThreadKey | str,
        state: S | None = None,
    ) -> Step[S]:
        """Do what `MemoryController.retire` does."""
        return await self._done(self._retiring(ids, reason, state, thread))

    async def withdraw(
        self,
        refs: Sequence[str],
        reason: str = "",
        *,
        thread: ThreadKey | str,
        branch: str = "main",
    ) -> Step[S]:
        """Do what `MemoryController.withdraw` does."""
        return await self._done(self._withdrawing(refs, reason, thread, branch))

    async def last_state(self, thread: ThreadKey | str, *, branch: str = "main") -> S | None:
        """Do what `MemoryController.last_state` does."""
        return await self.beside(self._state, thread, branch)

    async def state_at(
        self, thread: ThreadKey | str, at: str | int, *, branch: str = "main"
    ) -> S | None:
        """Do what `MemoryController.state_at` does."""
        return await self.beside(self._state, thread, branch, at)

    async def latest(self, thread: ThreadKey | str, *, branch: str = "main") -> Latest[S]:
        """Do what `MemoryController.latest` does."""
        return await self.beside(self._latest, thread, branch)

    async def export_messages(
        self, thread: ThreadKey | str, *, branch: str = "main"
    ) -> list[dict[str, str]]:
        """Do what `MemoryController.export_messages` does."""
        return await self.beside(self._exported, thread, branch)

    async def open_evidence(
        self, ref: str, *, thread: ThreadKey | str, branch: str = "main"
    ) -> Message:
        """Do what `MemoryController.open_evidence` does."""
        return await self.beside(self._opened, ref, thread, branch)

    async def beside(self, function: Callable[..., T], *args: Any) -> T:
        """Run something that may block, beside the event loop."""
        return await self._beside.run(lambda: function(*args))

    async def aclose(self) -> None:
        """Finish what runs behind, fill the index with what it lacks, and close it and the journal."""
        await self.beside(self._close)
        self._beside.close()

    async def _done(self, doing: Doing[T]) -> T:
        if not identifier.cache_info().currsize:
            # To load it here would block the loop for half a second.
            await self.beside(identifier)
        return await aperform(doing, self._beside.run)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


__all__ = ["AsyncMemoryController", "MemoryController", "Settings"]
