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
    ended: Future[None] = field(default_factory=Future)

    @property
    def prior(self) -> State:
        """CCS_t-1, once the turn before is committed."""
        before = self.before
        return before.step.state if before is not None and before.step is not None else self.parent

    def standing(self, policy: Policy) -> State:
        """CCS_t; until it is committed the newest state before it, with what is pending."""
        if self.step is not None:
            return self.step.state
        origin = self.parent if self.before is None else self.before.standing(policy)
        if origin.branch != self.branch:
            origin = origin.on_branch(self.branch)
        return with_unread(origin, self.turn, policy)
