"""A finished turn, before and after its commit, and the entry that begins one."""

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
    """Return ``state`` after ``turn``, with the turn listed as pending.

    A failed compression leaves the same state (law 9). Any later step from this state includes
    the turn, without knowledge of the commit in progress.
    """
    waiting = turn.model_copy(update={"pending": state.unread()})
    return commit(state, None, waiting, (), policy).state


def shown(state: CompressedCognitiveState, policy: Policy) -> str:
    """Return the rendering of ``state`` for the agent; pending turns have their own room.

    The limit is ``policy.max_tokens`` tokens, plus ``policy.pending_tokens`` if turns are
    pending.
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
    """A finished turn, stored and claimed, that waits for its commit.

    Attributes:
        thread: The conversation.
        turn: The turn, numbered.
        branch: The branch that holds its evidence.
        parent: The state it follows; ``before`` replaces it once committed.
        before: The previous finished turn, if it is uncommitted too.
        step: The result of the commit.
        error: The error of the last commit attempt.
        is_reported: Whether the error was reported.
        is_refused: Whether its rules did not fit (`PinnedOverflow`). Then it is never committed,
            and the state before it stays.
        ended: Done when a commit attempt has ended, with any result.
    """

    thread: Thread
    turn: Turn
    branch: str
    parent: State
    before: CommitJob | None = None
    step: Step | None = None
    error: BaseException | None = None
    is_reported: bool = False
    is_refused: bool = False
    ended: Future[None] = field(default_factory=Future)

    @property
    def prior(self) -> State:
        """CCS_t-1, once the previous turn is committed."""
        before = self.before
        if before is None:
            return self.parent
        if before.is_refused:
            return before.prior
        return before.step.state if before.step is not None else self.parent

    def resulting_state(self, policy: Policy) -> State:
        """Return CCS_t; before the commit, the newest earlier state with the turn pending."""
        if self.step is not None:
            return self.step.state
        origin = self.parent if self.before is None else self.before.resulting_state(policy)
        if self.is_refused:
            return origin
        if origin.branch != self.branch:
            origin = origin.on_branch(self.branch)
        is_next = self.turn.number == origin.turn + 1  # False after a refused turn
        turn = self.turn if is_next else self.turn.numbered(origin.turn + 1)
        return with_unread(origin, turn, policy)

    @property
    def is_over(self) -> bool:
        """Whether it needs no commit: it is committed or refused."""
        return self.step is not None or self.is_refused


@dataclass(frozen=True)
class Entry:
    """A turn that has begun. `BackgroundMemory.finish` uses only the first three fields.

    If two nodes of a graph begin and finish a turn, the second can rebuild the entry from the
    checkpoint: ``Entry(thread, memory.load(ccs), turn)``.

    Attributes:
        thread: The conversation.
        state: The newest state; uncommitted turns are pending in it.
        turn: The turn that began: the user's words.
        reads: The legend and the rendered memory: what the agent reads between its role and the turn.
        waiting: Number of finished but uncommitted turns.
        steps: Background commits in this process since the thread's previous entry.
        errors: Errors of background commits that a retry corrected, since the same entry.
    """

    thread: Thread
    state: CompressedCognitiveState
    turn: Turn
    reads: str = ""
    waiting: int = 0
    steps: tuple[Step, ...] = ()
    errors: tuple[BaseException, ...] = ()
