"""`MemoryController` and `AsyncMemoryController` on the core and the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Generic, Literal, Self, TypeVar, get_args

from acc.artifacts.filling import Index
from acc.artifacts.protocol import ArtifactStore
from acc.clock import Clock, SystemClock, stamp
from acc.core_controller.driving import aperform, perform
from acc.core_controller.indexing import Indexing
from acc.core_controller.turning import Parts, Taken, flushing, taking
from acc.errors import ConfigurationError, InputError
from acc.journal import Journal, ThreadKey
from acc.journal.aio import AsyncJournal
from acc.next.overflow import raise_overflow
from acc.next.state.model import CompressedCognitiveState
from acc.next.state.policy import Policy
from acc.next.step import Cadence, Memory, Step
from acc.next.update import Options, bound_of, check_types, memory_of
from acc.turn.redact import Redact, redactor
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)


@dataclass(frozen=True)
class Settings:
    """What a memory needs beside its place; every field has a default.

    Attributes:
        model: A model that compresses and judges (`acc.next.models.choosing.as_model`); None for the keyless rules.
        policy: Schema, bounds, how rules end; by default with the bound that `acc.next.update` names.
        cadence: When to compress; by default that of the same.
        redact: Removes secrets before anything is kept.
        store: Where artifacts are indexed, which `close` closes; None for Chroma in the memory's folder.
        index: ``now``: a step returns when the store has its messages; ``behind``: a worker adds them; ``none``:
            recall reads the journal alone, and finds by words.
        clock: Dates turns that carry no time.
    """

    model: Any = None
    policy: Policy | None = None
    cadence: Cadence | None = None
    redact: Redact | Literal["secrets"] | None = "secrets"
    store: ArtifactStore | None = None
    index: Index = "now"
    clock: Clock | None = None

    def __post_init__(self) -> None:
        check_types(
            "Settings", ("policy", self.policy, Policy), ("cadence", self.cadence, Cadence),
            ("store", self.store, ArtifactStore),
        )  # fmt: skip
        if self.index not in get_args(Index):
            raise ConfigurationError(
                f"index is {self.index!r}", where="Settings", hint="give now, behind or none"
            )


def _parts(journal: Journal, settings: Settings, index: Indexing) -> Parts[Any]:
    options = Options(model=settings.model, cadence=settings.cadence)
    policy = settings.policy or Policy(max_tokens=bound_of(options))
    memory: Memory[Any] = memory_of(options, policy)
    clock = settings.clock or SystemClock()
    now: Callable[[], str] = lambda: stamp(clock.now())  # noqa: E731
    return Parts(journal, memory, index, redact=redactor(settings.redact), now=now)


class _Common(Generic[S]):
    """What both controllers share."""

    def __init__(
        self,
        journal: Journal,
        settings: Settings | None = None,
        folder: str | Path | None = None,
    ) -> None:
        """Create a controller over an open journal, which it closes; without ``folder`` and store, none is indexed."""
        chosen = settings or Settings()
        self.journal = journal
        if chosen.store is None and folder is not None:
            self.index = Indexing.in_folder(journal, folder, chosen.index)
        else:
            self.index = Indexing(journal, chosen.store, chosen.index)
        self._parts: Parts[Any] = _parts(journal, chosen, self.index)

    @classmethod
    def open(cls, folder: str | Path, **settings: Any) -> Self:
        """Open a memory in a folder; ``settings`` are fields of `Settings` by name.

        Raises:
            ConfigurationError: A setting is invalid, or the model cannot be reached.
            StoreError: The journal cannot be opened.
        """
        unknown = settings.keys() - {each.name for each in fields(Settings)}
        if unknown:
            raise ConfigurationError(
                f"there is no setting {', '.join(sorted(unknown))}", where="open",
                hint=f"the settings are {', '.join(each.name for each in fields(Settings))}",
            )  # fmt: skip
        chosen = Settings(**settings)
        key = chosen.policy.digest_key if chosen.policy else b""
        journal = Journal.open(folder, digest_key=key, clock=chosen.clock)
        try:
            return cls(journal, chosen, folder)
        except BaseException:
            journal.close()
            raise

    def threads(self, **prefixes: str) -> Iterator[ThreadKey]:
        """Yield the threads whose names begin so."""
        return self.journal.threads(**prefixes)

    def _taking(self, state: S | None, turn: Turn, thread: ThreadKey | str, force: bool) -> Any:
        if not isinstance(turn, Turn):
            raise InputError(
                f"the turn is a {type(turn).__name__}",
                where="step",
                hint="give Turn.said(text), or Turn.from_messages",
            )
        if state is not None and not isinstance(state, CompressedCognitiveState):
            raise InputError(
                f"the state is a {type(state).__name__}", where="step",
                hint="give the state of the last step, or None to go on where the thread stopped",
            )  # fmt: skip
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
        """Fill the index with what it lacks, and close it and the journal."""
        self.index.close()
        self.journal.close()

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
        """Fill the index with what it lacks, and close it and the journal."""
        await self._aio.run(self.index.close)
        await self._aio.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _key(thread: ThreadKey | str) -> ThreadKey:
    return thread if isinstance(thread, ThreadKey) else ThreadKey(thread)
