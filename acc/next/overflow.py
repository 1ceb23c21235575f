"""The one loud error of a step: rules and goals that do not fit (law 7)."""

from __future__ import annotations

from typing import TypeVar

from acc.errors import AccError
from acc.next.state.model import CompressedCognitiveState
from acc.next.step import Step

S = TypeVar("S", bound=CompressedCognitiveState)


class PinnedOverflow(AccError):
    """Rules, goals and their later words exceed their room. Everything else of the turn was committed.

    Attributes:
        step: The step. Its state is valid, and the thread goes on from it.
        refs: Refs of the messages whose rule, goal or later word did not fit. They left the tail.
    """

    def __init__(self, step: Step[CompressedCognitiveState]) -> None:
        self.step = step
        self.refs = step.no_room
        room = step.policy.pinned_tokens
        super().__init__(
            f"rules and goals do not fit in {room:,} tokens",
            where=f"turn {step.state.turn}, {', '.join(self.refs)}",
            hint="raise max_tokens, let an operator end rules that are over, or go on with error.step without them",
        )


def raise_overflow(step: Step[S]) -> Step[S]:
    """Return ``step``, or raise `PinnedOverflow` if something did not fit."""
    if step.no_room:
        raise PinnedOverflow(step)  # type: ignore[arg-type]
    return step
