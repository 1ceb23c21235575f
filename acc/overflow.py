"""The one loud error of a step: rules and goals that do not fit (law 7)."""

from __future__ import annotations

from typing import TypeVar

from acc import errors
from acc.state.model import CompressedCognitiveState
from acc.state.reasons import Reason
from acc.step import Step

S = TypeVar("S", bound=CompressedCognitiveState)


class PinnedOverflow(errors.PinnedOverflow):
    """Rules, goals and their later words exceed their room. Everything else of the turn was committed.

    Attributes:
        step: The step. Its state is valid, and the thread goes on from it.
        refused: The words that did not fit.
        refs: Refs of the messages whose rule, goal or later word did not fit. They left the tail.
    """

    def __init__(self, step: Step[CompressedCognitiveState]) -> None:
        self.step = step
        self.refs = step.no_room
        policy = step.policy
        refused = tuple(note.text for note in step.notes if note.reason is Reason.NO_ROOM)
        super().__init__(
            f"rules and goals do not fit in {policy.pinned_tokens:,} tokens, the pinned_share of "
            f"{policy.max_tokens:,}. Not held: {'; '.join(refused)}",
            where=f"turn {step.state.turn}, {', '.join(self.refs)}",
            hint="raise max_tokens, let an operator end rules that are over, or go on with error.step without them",
            refused=refused,
        )


def raise_overflow(step: Step[S]) -> Step[S]:
    """Return ``step``, or raise `PinnedOverflow` if something did not fit."""
    if step.no_room:
        raise PinnedOverflow(step)  # type: ignore[arg-type]
    return step
