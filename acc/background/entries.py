"""A finished turn, until its commit is made and after."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from acc.commit.commit import commit
from acc.commit.draft import Draft, show_pending
from acc.pipeline.turn_pipeline import Step
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.stores.protocol import Thread
from acc.turn.turn import Turn


def with_unread(
    state: CompressedCognitiveState, turn: Turn, policy: Policy
) -> CompressedCognitiveState:
    """``state`` after ``turn``, which is listed in it as pending.

    The same that a failed compression leaves (law 9): a state in its own right. Whoever steps
    from it has the turn folded in; nobody has to know of the commit that is under way.
    """
    waiting = turn.model_copy(update={"pending": state.unread()})
    return commit(state, None, waiting, (), policy).state


def shown(state: CompressedCognitiveState, policy: Policy) -> str:
    """What the agent reads of ``state``: what is pending has room of its own.

    At most ``policy.max_tokens`` tokens, and ``policy.pending_tokens`` more where turns are pending.
    """
    if not state.pending:
        return policy.rendered(state)
    draft = Draft(state, Turn(observations=(), number=state.turn))
    draft.pending = tuple(o.model_copy(update={"shown": False}) for o in state.pending)
    show_pending(draft, replace(policy, max_tokens=policy.max_tokens + policy.pending_tokens))
    return policy.rendered(draft.state())


State = CompressedCognitiveState


@dataclass(eq=False)
class CommitJob:
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
    before: CommitJob | None = None
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


@dataclass(frozen=True)
class Entry:
    """A turn that has begun. `BackgroundMemory.finish` wants the first three fields alone.

    So where two nodes of a graph begin and finish, the second makes its own out of what is
    checkpointed: ``Entry(thread, memory.load(ccs), turn)``.

    Attributes:
        thread: Whose it is.
        state: The newest state there is; turns that no commit has taken in are pending in it.
        turn: What began: the user's words.
        reads: What the agent reads beside its role and the turn.
        waiting: Finished turns that no commit has taken in.
        steps: What was committed behind, in this process, since the thread's entry before.
        errors: What commits behind raised and a later attempt mended, likewise.
    """

    thread: Thread
    state: CompressedCognitiveState
    turn: Turn
    reads: str = ""
    waiting: int = 0
    steps: tuple[Step, ...] = ()
    errors: tuple[BaseException, ...] = ()
