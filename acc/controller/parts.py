"""What the parts of a step share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from acc.controller.indexing import Indexing
from acc.gate import Gate
from acc.journal import Journal
from acc.state.model import CompressedCognitiveState
from acc.step import Memory, Step
from acc.telemetry.observer import Observers
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
        observers: Who is told of each step.
    """

    journal: Journal
    memory: Memory[S]
    index: Indexing
    gate: Gate = field(default_factory=Gate)
    redact: Redact | None = None
    now: Callable[[], str] = lambda: ""
    fork: bool = True
    keys: tuple[bytes, ...] = ()
    observers: Observers = field(default_factory=Observers)


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
