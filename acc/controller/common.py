"""What `MemoryController` and `AsyncMemoryController` share: a memory that is open, and its acts as computations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Self

from typing_extensions import TypeVar

from acc.controller.acts import (
    Behind,
    flushing,
    patient,
    recording,
    retiring_everywhere,
    withdrawing,
)
from acc.controller.indexing import Indexing
from acc.controller.joining import evidence_of
from acc.controller.queues import Queues
from acc.controller.settings import Parts, Settings
from acc.controller.turning import Taken, taking, with_room
from acc.driving import Doing, Io, perform
from acc.errors import ConfigurationError, InputError, PinnedOverflow
from acc.folders import expanded
from acc.gate import Verdict
from acc.journal import Journal, Latest, ThreadKey
from acc.journal.connecting import is_url
from acc.journal.opened import key_of
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.step.step import Cadence, Step, raise_overflow
from acc.turn.observations import Evidence, Observation
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState, default=CompressedCognitiveState)

Key = ThreadKey | str
"""A thread; a string is its name, without tenant, user and agent."""


class Common(Generic[S]):
    """What both controllers share.

    Attributes:
        settings: The settings.
        folder: The memory's folder; None for a journal that was opened elsewhere.
        journal: Where what happened is kept.
        index: The artifacts of the memory.
        parts: What a step needs, made of these.
    """

    def __init__(
        self, journal: Journal, settings: Settings | None = None, folder: str | Path | None = None
    ) -> None:
        """Create a controller over an open journal, which it closes; without ``folder`` and store, none is indexed."""
        self.settings = chosen = settings or Settings()
        self.journal = journal
        self.folder = expanded(folder).absolute() if folder is not None else None
        self.index = Indexing.of(journal, chosen.store, chosen.index, self.folder)
        self.parts: Parts[Any] = Parts.of(journal, chosen, self.index)
        self._queues = Queues(chosen.busy_wait)
        self._behind = Behind(self.parts) if chosen.behind else None

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
    def policy(self) -> Policy:
        """The policy of commits."""
        return self.parts.memory.policy

    @property
    def cadence(self) -> Cadence:
        """When the memory compresses."""
        return self.parts.memory.cadence

    def signed(self, state: S, *, thread: Key) -> S:
        """Sign a state that no commit of the thread made, such as a seed's, so that the thread may begin with it."""
        mine: S = self.parts.signed_state(state, key_of(thread))
        return mine

    def loaded(self, raw: Any) -> S:
        """Return a state that was kept elsewhere, such as in a checkpoint (`CompressedCognitiveState.load`).

        Raises:
            StateError: It is no state, or was edited after its commit.
        """
        schema: Any = self.policy.schema
        found: S = schema.load(raw, lambda digest: self.journal.recent(digest, schema))
        return found

    def threads(self, **prefixes: str) -> Iterator[ThreadKey]:
        """Yield the threads whose names begin so."""
        return self.journal.threads(**prefixes)

    def withdrawn(self, refs: Sequence[str], reason: str, *, thread: Key, branch: str) -> Step[S]:
        """Do what `withdraw` does. It blocks."""
        return perform(self._withdraw(refs, reason, thread=thread, branch=branch))

    def admitted(
        self, *asked: Sequence[Verdict], thread: Key, branch: str = "main"
    ) -> list[tuple[Evidence, ...]]:
        """Return the evidence that the verdicts of each step admitted, as the agent reads it. It blocks.

        What was erased since is left out.
        """
        return perform(evidence_of(self.parts, key_of(thread), branch, asked))

    def _step(
        self, state: S | None, turn: Turn, *, thread: Key, force: bool = False, adopt: bool = False
    ) -> Doing[Step[S]]:
        """Do what `MemoryController.step` says."""
        if not isinstance(turn, Turn):
            raise InputError(
                f"the turn is a {type(turn).__name__}",
                where="step",
                hint="give Turn.said(text), or Turn.from_messages",
            )
        key, start, parts = key_of(thread), _checked(state), self.parts
        if self._behind is not None:
            parts = replace(parts, memory=patient(parts.memory))
        with (
            parts.observers.watching(key, self.policy) as watch,
            closing(self._queues.place(key)) as place,
        ):
            taken: Taken[S] = yield from taking(
                parts, start, turn, key, watch=watch, place=place, force=force, adopt=adopt
            )
            try:
                step = yield from with_room(parts, self.settings.on_overflow, key, taken, watch)
            except PinnedOverflow as overflow:
                watch.ends(overflow.step)
                raise
            watch.ends(step)
        if self._behind is not None:
            self._behind.stepped(key, step)
        return step

    def _flush(self, thread: Key, *, branch: str = "main") -> Doing[Step[S] | None]:
        """Do what `MemoryController.flush` says."""
        key, behind = key_of(thread), self._behind
        if behind is not None:
            yield Io(lambda: behind.settle(key))
        step: Step[S] | None = yield from flushing(self.parts, key, branch)
        return None if step is None else raise_overflow(self.parts.signed(step, key))

    def _record(
        self, observations: Sequence[Observation], *, thread: Key, state: S | None = None
    ) -> Doing[bool]:
        """Do what `MemoryController.record` says."""
        return recording(self.parts, observations, _checked(state), key_of(thread))

    def _retire(
        self, ids: Sequence[str], reason: str = "", *, thread: Key, state: S | None = None
    ) -> Doing[Step[S]]:
        """Do what `MemoryController.retire` says."""
        key = key_of(thread)
        step = yield from retiring_everywhere(self.parts, ids, reason, _checked(state), key)
        return self.parts.signed(step, key)

    def _withdraw(
        self, refs: Sequence[str], reason: str = "", *, thread: Key, branch: str = "main"
    ) -> Doing[Step[S]]:
        """Do what `MemoryController.withdraw` says."""
        key = key_of(thread)
        step: Step[S] = yield from withdrawing(self.parts, refs, reason, key, branch)
        return self.parts.signed(step, key)

    def _state(self, thread: Key, branch: str, at: str | int | None = None) -> S | None:
        schema: Any = self.policy.schema
        found: S | None = self.journal.state(key_of(thread), at, branch=branch, schema=schema)
        return found

    def _latest(self, thread: Key, branch: str) -> Latest[S]:
        found: Latest[S] = self.parts.latest(key_of(thread), branch).run()
        return found

    def _close(self) -> None:
        if self._behind is not None:
            self._behind.close()
        self.index.close()
        self.journal.close()


def _checked(state: S | None) -> S | None:
    if state is not None and not isinstance(state, CompressedCognitiveState):
        raise InputError(
            f"the state is a {type(state).__name__}",
            where="step",
            hint="give the state of the last step, or None to go on where the thread stopped",
        )
    return state
