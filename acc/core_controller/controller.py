"""`MemoryController` and `AsyncMemoryController` on the core and the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, Self, TypeVar

from acc.clock import Clock, SystemClock, stamp
from acc.core_controller.driving import aperform, perform
from acc.core_controller.turning import Fills, Parts, Recalls, Taken, flushing, taking
from acc.core_controller.turning import _idle as idle
from acc.core_controller.turning import _nothing as nothing
from acc.journal import Journal, ThreadKey
from acc.journal.aio import AsyncJournal
from acc.next.overflow import raise_overflow
from acc.next.state.model import CompressedCognitiveState
from acc.next.state.policy import Policy
from acc.next.step import Cadence, Memory, Step
from acc.next.update import Options, memory_of
from acc.turn.redact import Redact, redactor
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)

WITH_A_MODEL = (1_600, Cadence(compress_over=2_000))
KEYLESS = (1_100, Cadence())
"""Bound and cadence where nothing else is said: docs/core.md has the curve."""


@dataclass(frozen=True)
class Settings:
    """What a memory needs beside its place; every field has a default.

    Attributes:
        model: A model that compresses and judges; None for the keyless rules.
        policy: Schema, bounds, how rules end.
        cadence: When to compress; by default as the curve says, for a model or without.
        redact: Removes secrets before anything is kept.
        recall: Finds candidates in a thread.
        fill: Told after each commit, as by an index behind it.
        clock: Dates turns that carry no time.
    """

    model: Any = None
    policy: Policy | None = None
    cadence: Cadence | None = None
    redact: Redact | Literal["secrets"] | None = "secrets"
    recall: Recalls = nothing
    fill: Fills = idle
    clock: Clock | None = None


def _parts(journal: Journal, settings: Settings) -> Parts[Any]:
    bound, cadence = KEYLESS if settings.model is None else WITH_A_MODEL
    policy = settings.policy or Policy(max_tokens=bound)
    options = Options(model=settings.model, cadence=settings.cadence or cadence)
    memory: Memory[Any] = memory_of(options, policy)
    clock = settings.clock or SystemClock()
    now: Callable[[], str] = lambda: stamp(clock.now())  # noqa: E731
    return Parts(
        journal, memory, settings.recall, fill=settings.fill,
        redact=redactor(settings.redact), now=now,
    )  # fmt: skip


class _Common(Generic[S]):
    """What both controllers share."""

    def __init__(self, journal: Journal, settings: Settings | None = None) -> None:
        """Create a controller over an open journal, which stays the caller's to close."""
        self.journal = journal
        self._parts: Parts[Any] = _parts(journal, settings or Settings())

    @classmethod
    def open(cls, folder: str | Path, **settings: Any) -> Self:
        """Open a memory in a folder; ``settings`` are fields of `Settings` by name.

        Raises:
            ConfigurationError: A setting is invalid, or the model cannot be reached.
            StoreError: The journal cannot be opened.
        """
        chosen = Settings(**settings)
        key = chosen.policy.digest_key if chosen.policy else b""
        return cls(Journal.open(folder, digest_key=key, clock=chosen.clock), chosen)

    def threads(self, **prefixes: str) -> Iterator[ThreadKey]:
        """Yield the threads whose names begin so."""
        return self.journal.threads(**prefixes)

    def _taking(self, state: S | None, turn: Turn, thread: ThreadKey | str, force: bool) -> Any:
        return taking(self._parts, state, turn, _key(thread), force=force)

    def _flushing(self, thread: ThreadKey | str, branch: str) -> Any:
        return flushing(self._parts, _key(thread), branch)


class MemoryController(_Common[S]):
    """A memory: each turn recalls, qualifies, compresses where it pays, commits and persists.

    Threads of a process may share it, and processes may share its folder.
    """

    def step(
        self, state: S | None, turn: Turn, *, thread: ThreadKey | str, force: bool = False
    ) -> Step[S]:
        """Take a turn of a thread, and return what became of it.

        Args:
            state: The state to go on from; None for where the thread stopped. A state that another step went on from
                begins a branch of its own.
            turn: What happened since.
            thread: The thread.
            force: Compress now, whatever the size.

        Raises:
            PinnedOverflow: Rules and goals exceed their room. Everything else was committed: ``error.step``.
            ConflictError: Another worker committed meanwhile. Repeat the step from the new head.
            StateError: The memory does not hold ``state``.
            StoreError: The journal cannot be used. What was said is not lost silently: the step failed.
        """
        taken: Taken[S] = perform(self._taking(state, turn, thread, force))
        return raise_overflow(taken.step)

    def flush(self, thread: ThreadKey | str, *, branch: str = "main") -> Step[S] | None:
        """Compress what waits in a thread's tail; None if nothing does."""
        step: Step[S] | None = perform(self._flushing(thread, branch))
        return raise_overflow(step) if step is not None else None

    def last_state(self, thread: ThreadKey | str, *, branch: str = "main") -> S | None:
        """Return the state where a thread stopped; None if there is none."""
        schema: Any = self._parts.memory.policy.schema
        found: S | None = self.journal.state(_key(thread), branch=branch, schema=schema)
        return found

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncMemoryController(_Common[S]):
    """The same for event loops: nothing blocks the loop."""

    def __init__(self, journal: Journal, settings: Settings | None = None) -> None:
        """Create a controller over an open journal."""
        super().__init__(journal, settings)
        self._aio = AsyncJournal(journal)

    async def step(
        self, state: S | None, turn: Turn, *, thread: ThreadKey | str, force: bool = False
    ) -> Step[S]:
        """Do what `MemoryController.step` does."""
        taken: Taken[S] = await aperform(self._taking(state, turn, thread, force), self._aio.run)
        return raise_overflow(taken.step)

    async def flush(self, thread: ThreadKey | str, *, branch: str = "main") -> Step[S] | None:
        """Do what `MemoryController.flush` does."""
        step: Step[S] | None = await aperform(self._flushing(thread, branch), self._aio.run)
        return raise_overflow(step) if step is not None else None

    async def last_state(self, thread: ThreadKey | str, *, branch: str = "main") -> S | None:
        """Do what `MemoryController.last_state` does."""
        schema = self._parts.memory.policy.schema
        found: S | None = await self._aio.state(_key(thread), branch=branch, schema=schema)
        return found

    async def aclose(self) -> None:
        """Close the journal."""
        await self._aio.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _key(thread: ThreadKey | str) -> ThreadKey:
    return thread if isinstance(thread, ThreadKey) else ThreadKey(thread)
