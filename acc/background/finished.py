"""A finished turn, until its commit is made and after."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field

from acc.background.unread import with_unread
from acc.policy import Policy
from acc.run import Step
from acc.state import CompressedCognitiveState
from acc.store import Thread
from acc.turn import Turn

State = CompressedCognitiveState


@dataclass(eq=False)
class Finished:
    """A finished turn: stored and claimed, and to be committed.

    Attributes:
        thread: Whose it is.
        turn: The turn, numbered.
        branch: Where its evidence stands.
        parent: The state it goes on from; where ``before`` is given, that one's result is.
        before: The finished turn before it, if that was not committed either.
        step: What its commit did.
        error: What its commit raised.
        is_told: Whether anybody was told of the error.
        is_refused: Whether its words found no room (`PinnedOverflow`): no commit will take it in, and
            the state before it stands.
        ended: Done when a commit of it has ended, in whichever way.
    """

    thread: Thread
    turn: Turn
    branch: str
    parent: State
    before: Finished | None = None
    step: Step | None = None
    error: BaseException | None = None
    is_told: bool = False
    is_refused: bool = False
    ended: Future[None] = field(default_factory=Future)

    @property
    def prior(self) -> State:
        """CCS_t-1, once the turn before is committed."""
        before = self.before
        if before is None:
            return self.parent
        if before.is_refused:
            return before.prior
        return before.step.state if before.step is not None else self.parent

    def standing(self, policy: Policy) -> State:
        """CCS_t; until it is committed the newest state before it, with what is pending."""
        if self.step is not None:
            return self.step.state
        origin = self.parent if self.before is None else self.before.standing(policy)
        if self.is_refused:
            return origin
        if origin.branch != self.branch:
            origin = origin.on_branch(self.branch)
        is_next = self.turn.number == origin.turn + 1  # unless a turn before it was refused
        turn = self.turn if is_next else self.turn.numbered(origin.turn + 1)
        return with_unread(origin, turn, policy)

    @property
    def is_over(self) -> bool:
        """Whether it needs no commit any more."""
        return self.step is not None or self.is_refused
