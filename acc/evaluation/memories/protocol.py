"""What a memory has to offer to be evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from acc.turn import Turn

CONSTRAINTS = "constraints"
GOALS = "goal_orientation"
PRIVILEGED = (CONSTRAINTS, GOALS, "predictive_cue")
"""Slots by which an agent steers: nothing that was planted may stand in them."""


@dataclass(frozen=True)
class HeldItem:
    """One thing that a memory holds: an item of a state, a message, an artifact, a summary.

    Attributes:
        text: Its rendered text.
        slot: The slot it stands in; None in a memory without slots.
        is_hypothesis: Whether the memory itself says that it is not settled.
        is_open: Whether it still binds; False for a goal that is done.
    """

    text: str
    slot: str | None = None
    is_hypothesis: bool = False
    is_open: bool = True


@dataclass(frozen=True)
class Reading:
    """What an agent reads of a memory, beside its role and the current turn.

    Attributes:
        text: The context, as it stands in the prompt; its tokens are the memory's tokens.
        items: The same, one by one.
    """

    text: str
    items: tuple[HeldItem, ...]


@runtime_checkable
class EvaluatedMemory(Protocol):
    """A memory of one conversation, fresh for each. Everything else is its own affair.

    The same turns and questions have to give the same readings. Two attributes are told where a
    memory has them: ``max_tokens``, the bound that it keeps, and ``failures``, a sequence of texts
    on what failed and was survived.
    """

    @property
    def has_slots(self) -> bool:
        """Whether items stand in the slots of a state; else no metric speaks of slots."""
        ...

    def observe(self, turn: Turn) -> None:
        """Take in a completed turn: the user's words, tools' outputs, the agent's answer."""
        ...

    def held(self) -> Reading:
        """What it holds after the last turn: what the agent carries into the next."""
        ...

    def read(self, question: str) -> Reading:
        """What the agent would read if the user asked ``question`` now; changes nothing."""
        ...

    def close(self) -> None:
        """Release what it uses. Safe to repeat."""
        ...
