"""`MemoryController` and `AsyncMemoryController` on the core and the journal."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Self

from typing_extensions import TypeVar

from acc.clock import SystemClock, stamp
from acc.controller.acts import flushing, recording, retiring_everywhere
from acc.controller.behind import Behind, patient
from acc.controller.documents import document
from acc.controller.indexing import Indexing
from acc.controller.parts import Parts, Taken
from acc.controller.repeating import evidence_of
from acc.controller.room import with_room
from acc.controller.settings import Settings
from acc.controller.signing import keys_of, signed, signed_step
from acc.controller.turning import taking
from acc.driving import Doing, Io, aperform, perform
from acc.errors import ConfigurationError, InputError
from acc.folders import expanded
from acc.gate import Verdict
from acc.journal import Journal, Latest, StoredCommit, ThreadKey
from acc.journal.aio import AsyncJournal
from acc.journal.connecting import is_url
from acc.journal.opened import key_of as thread_of
from acc.logs import code, log_event
from acc.overflow import PinnedOverflow, raise_overflow
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.step import Cadence, Memory, Step
from acc.tail import Message
from acc.telemetry.observer import Observers
from acc.telemetry.step_log import StepLog
from acc.turn.observations import Evidence, Observation, is_ingested
from acc.turn.redact import redactor
from acc.turn.turn import Turn
from acc.update import Options, bound_of, memory_of

S = TypeVar("S", bound=CompressedCognitiveState, default=CompressedCognitiveState)
T = TypeVar("T")

_LOG = logging.getLogger(__name__)


def _parts(journal: Journal, settings: Settings, index: Indexing) -> Parts[Any]:
    redact = redactor(settings.redact, journal.key("secrets") if settings.redact else b"")
    options = Options(
        model=settings.model, compressor=settings.compressor, judge=settings.judge,
        cadence=settings.cadence, redact=redact,
    )  # fmt: skip
    policy = settings.policy or Policy(max_tokens=bound_of(options))
    memory: Memory[Any] = memory_of(options, policy)
    clock = settings.clock or SystemClock()
    own = [settings.telemetry] if settings.telemetry is not None else []
    observers = Observers(StepLog(), *own)
    return Parts(
        journal, memory, index, settings.gate, redact,
        lambda: stamp(clock.now()), settings.fork, keys_of(settings.state_key), observers,
    )  # fmt: skip


class _Common(Generic[S]):
    """What both controllers share.

    Attributes:
        settings: The settings.
        folder: The memory's folder; None for a journal that was opened elsewhere.
        journal: Where what happened is kept.
        index: The artifacts of the memory.
    """

    def __init__(
        self,
        journal: Journal,
        settings: Settings | None = None,
        folder: str | Path | None = None,
    ) -> None:
        """Create a controller over an open journal, which it closes; without ``folder`` and store, none is indexed."""
        self.settings = settings or Settings()
        self.journal = journal
        self.folder = expanded(folder).absolute() if folder is not None else None
        chosen = self.settings
        self.index = Indexing.of(journal, chosen.store, chosen.index, self.folder)
        self._whole: Parts[Any] = _parts(journal, chosen, self.index)
        self._parts, self._behind = self._whole, None
        if chosen.behind:
            memory = self._whole.memory
            self._parts = replace(
                self._whole, memory=replace(memory, cadence=patient(memory.cadence))
            )
            self._behind = Behind(self._whole, _tell_behind)

    @classmethod
    def open(cls, where: str | Path, **settings: Any) -> Self:
        """Open a memory; ``settings`` are fields of `Settings` by name.

        Args:
            where: Its folder; or the address of its journal in PostgreSQL, ``postgresql://...``, for several
                machines. Such a memory has no folder: name the Chroma server with ``store``, or say
                ``index="none"``.
            settings: The settings.

        Raises:
            ConfigurationError: A setting is invalid, or the model cannot be reached.
            StoreError: The journal cannot be opened.
        """
        chosen = Settings.of(settings)
        folder = None if is_url(where) else where
        if folder is None and chosen.store is None and chosen.index != "none":
            raise ConfigurationError(
                "a memory in a database has no folder for its index",
                where="open",
                hint='name a Chroma server, store="http://chroma:8000", or say index="none"',
            )
        key = chosen.policy.digest_key if chosen.policy else b""
        journal = Journal.open(where, digest_key=key, clock=chosen.clock)
        try:
            return cls(journal, chosen, folder)
        except BaseException:
            journal.close()
            raise

    @property
    def parts(self) -> Parts[Any]:
        """What a step needs: journal, memory, index, settings."""
        return self._whole

    @property
    def policy(self) -> Policy:
        """The policy of commits."""
        return self._whole.memory.policy

    @property
    def cadence(self) -> Cadence:
        """When the memory compresses."""
        return self._whole.memory.cadence

    def signed(self, state: S, *, thread: ThreadKey | str) -> S:
        """Sign a state that no commit of the thread made, such as a seed's, so that the thread may begin with it."""
        return signed(state, _key(thread), self._whole.keys)

    def threads(self, **prefixes: str) -> Iterator[ThreadKey]:
        """Yield the threads whose names begin so."""
        return self.journal.threads(**prefixes)

    def _stepping(
        self, state: S | None, turn: Turn, thread: ThreadKey | str, force: bool, adopt: bool
    ) -> Doing[Step[S]]:
        if not isinstance(turn, Turn):
            raise InputError(
                f"the turn is a {type(turn).__name__}",
                where="step",
                hint="give Turn.said(text), or Turn.from_messages",
            )
        key = _key(thread)
        parts, start, handler = self._parts, _checked(state), self.settings.on_overflow
        with parts.observers.watching(key, self.policy) as watch:
            asked = taking(parts, start, turn, key, watch=watch, force=force, adopt=adopt)
            taken: Taken[S] = yield from asked
            try:
                step = yield from with_room(parts, handler, key, taken, watch)
            except PinnedOverflow as overflow:
                watch.ends(overflow.step)
                raise
            watch.ends(step)
        if self._behind is not None:
            self._behind.stepped(key, step)
        return step

    def _flushing(self, thread: ThreadKey | str, branch: str) -> Doing[Step[S] | None]:
        key, behind = _key(thread), self._behind
        if behind is not None:
            yield Io(lambda: behind.settle(key))
        step: Step[S] | None = yield from flushing(self._whole, key, branch)
        return None if step is None else signed_step(step, key, self._whole.keys)

    def _recording(
        self, observations: Sequence[Observation], state: S | None, thread: ThreadKey | str
    ) -> Doing[bool]:
        return recording(self._parts, observations, _checked(state), _key(thread))

    def _retiring(
        self, ids: Sequence[str], reason: str, state: S | None, thread: ThreadKey | str
    ) -> Doing[Step[S]]:
        key, parts = _key(thread), self._parts
        step: Step[S] = yield from retiring_everywhere(parts, ids, reason, _checked(state), key)
        return signed_step(step, key, parts.keys)

    def _last_state(self, thread: ThreadKey | str, branch: str, at: str | int | None) -> S | None:
        schema: Any = self.policy.schema
        found: S | None = self.journal.state(_key(thread), at, branch=branch, schema=schema)
        return found

    def _latest(self, thread: ThreadKey | str, branch: str) -> Latest[S]:
        schema: Any = self.policy.schema
        found: Latest[S] = self.journal.latest(_key(thread), branch=branch, schema=schema)
        return found

    def _opened(self, ref: str, thread: ThreadKey | str, branch: str) -> Message:
        own = self.journal.texts(_key(thread), [ref], branch=branch)
        found = own[0] if own else None
        if found is None and is_ingested(ref):
            found = document(self.journal, _key(thread), ref)
        if found is None:
            raise InputError(
                f"there is no evidence {ref!r}",
                where=str(_key(thread)),
                hint="give a ref as the state shows it, such as u7; it may have been erased",
            )
        return found

    def admitted(
        self, verdicts: Sequence[Verdict], *, thread: ThreadKey | str, branch: str = "main"
    ) -> tuple[Evidence, ...]:
        """Return the evidence that a step's verdicts admitted, as the agent reads it. It blocks.

        What was erased since is left out.
        """
        return perform(evidence_of(self._parts, _key(thread), branch, verdicts))

    def _close(self) -> None:
        if self._behind is not None:
            self._behind.close()
        self.index.close()
        self.journal.close()


class MemoryController(_Common[S]):
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

        Args:
            state: The state to go on from; None for where the thread stopped. A state that another step went on from
                begins a branch of its own (`acc.controller.beginning`).
            turn: What happened since.
            thread: The thread.
            force: Compress now, whatever the size.
            adopt: Go on from ``state`` although the journal does not hold it, as after a restore from a backup that
                is older than a checkpoint. The step's ``warnings`` say so.

        Raises:
            PinnedOverflow: Rules and goals exceed their room. Everything else was committed: ``error.step``.
            ConflictError: Another worker committed meanwhile. Repeat the step from the new head.
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

    def last_state(self, thread: ThreadKey | str, *, branch: str = "main") -> S | None:
        """Return the state where a thread stopped; None if there is none."""
        return self._last_state(thread, branch, None)

    def state_at(self, thread: ThreadKey | str, at: str | int, *, branch: str = "main") -> S | None:
        """Return the state with the hash or the version ``at``; None if there is none, or if it was erased."""
        return self._last_state(thread, branch, at)

    def latest(self, thread: ThreadKey | str, *, branch: str = "main") -> Latest[S]:
        """Return where a branch stands: its head, its state, and the messages of its tail."""
        return self._latest(thread, branch)

    def history(
        self, thread: ThreadKey | str, *, branch: str = "main", after: int = 0
    ) -> Iterator[StoredCommit]:
        """Yield the commits of a branch after a version, with their records."""
        return self.journal.commits(_key(thread), branch, after)

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
        return await _to_thread(function, *args)

    def close(self) -> None:
        """Finish what runs behind, fill the index with what it lacks, and close it and the journal."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncMemoryController(_Common[S]):
    """The same for event loops: nothing blocks the loop."""

    def __init__(
        self,
        journal: Journal,
        settings: Settings | None = None,
        folder: str | Path | None = None,
    ) -> None:
        """Create a controller over an open journal, as `MemoryController`."""
        super().__init__(journal, settings, folder)
        self._aio = AsyncJournal(journal)

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

    async def last_state(self, thread: ThreadKey | str, *, branch: str = "main") -> S | None:
        """Do what `MemoryController.last_state` does."""
        return await self.beside(self._last_state, thread, branch, None)

    async def state_at(
        self, thread: ThreadKey | str, at: str | int, *, branch: str = "main"
    ) -> S | None:
        """Do what `MemoryController.state_at` does."""
        return await self.beside(self._last_state, thread, branch, at)

    async def latest(self, thread: ThreadKey | str, *, branch: str = "main") -> Latest[S]:
        """Do what `MemoryController.latest` does."""
        return await self.beside(self._latest, thread, branch)

    async def open_evidence(
        self, ref: str, *, thread: ThreadKey | str, branch: str = "main"
    ) -> Message:
        """Do what `MemoryController.open_evidence` does."""
        return await self.beside(self._opened, ref, thread, branch)

    async def beside(self, function: Callable[..., T], *args: Any) -> T:
        """Run something that may block, beside the event loop."""
        found: T = await self._aio.run(lambda: function(*args))
        return found

    async def aclose(self) -> None:
        """Finish what runs behind, fill the index with what it lacks, and close it and the journal."""
        if self._behind is not None:
            await self._aio.run(self._behind.close)
        await self._aio.run(self.index.close)
        await self._aio.aclose()

    def _done(self, doing: Doing[T]) -> Awaitable[T]:
        return aperform(doing, self._aio.run)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


async def _to_thread(function: Callable[..., T], *args: Any) -> T:
    import asyncio

    return await asyncio.to_thread(function, *args)


def _key(thread: ThreadKey | str) -> ThreadKey:
    return thread_of(thread)


def _checked(state: S | None) -> S | None:
    if state is not None and not isinstance(state, CompressedCognitiveState):
        raise InputError(
            f"the state is a {type(state).__name__}",
            where="step",
            hint="give the state of the last step, or None to go on where the thread stopped",
        )
    return state


def _tell_behind(thread: ThreadKey, why: str) -> None:
    log_event(
        _LOG, logging.WARNING, "behind", "a compression behind the agent came to nothing",
        thread=thread.thread, outcome=code(why),
    )  # fmt: skip


__all__ = ["AsyncMemoryController", "MemoryController", "Settings"]
