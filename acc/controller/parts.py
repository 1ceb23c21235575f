"""What the parts of a step share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from acc.controller.indexing import Indexing
from acc.driving import Io
from acc.gate import Gate
from acc.journal import Appended, Entry, Head, Journal, ThreadKey
from acc.state.model import CompressedCognitiveState
from acc.step import Memory, Step
from acc.telemetry import Observers
from acc.turn.redact import Redact

S = TypeVar("S", bound=CompressedCognitiveState)


@dataclass(frozen=True)
class Parts(Generic[S]):
    """What a turn needs.

    Attributes:
        journal: Where what happened is kept.
        memory: Who compresses and judges, under which policy and cadence.
        index: Finds candidates, and is told of new messages.
        gate: Bounds of what is admitted of them.
        redact: Removes secrets before anything is kept.
        now: The time of a turn that carries none, in ISO 8601.
        fork: Whether a step from an older state begins a branch.
        keys: Keys of signed states (`acc.controller.signing`).
        marks: Key of what an integration writes beside messages; the memory's own, so that each process knows it.
        observers: Who is told of each step.
    """

    journal: Journal
    memory: Memory[S]
    index: Indexing
    gate: Gate
    redact: Redact | None
    now: Callable[[], str]
    fork: bool
    keys: tuple[bytes, ...]
    marks: bytes
    observers: Observers

    def latest(self, key: ThreadKey, branch: str, *, has_tail: bool = True) -> Io:
        """Read head, state and tail of a branch."""
        how: dict[str, Any] = {"schema": self.memory.policy.schema, "has_tail": has_tail}
        return Io(lambda: self.journal.latest(key, branch=branch, **how))

    def committing(
        self, head: Head, entries: Sequence[Entry[S]], turn: Appended | None = None
    ) -> Io:
        """Commit after a head; ``turn`` is the one that the first commit took."""
        where: dict[str, Any] = {"follows": head.hash, "branch": head.branch, "epoch": head.epoch}
        return Io(lambda: self.journal.commit(head.thread, entries, turn=turn, **where))


@dataclass(frozen=True)
class Taken(Generic[S]):
    """What became of a turn.

    Attributes:
        step: The step.
        is_repeat: Whether the journal held it already: a repeated step, or another worker's with the same words.
        branch: The branch that it was committed on.
    """

    step: Step[S]
    is_repeat: bool
    branch: str
