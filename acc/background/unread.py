"""What the agent carries, and reads, of a turn that no commit has taken in yet."""

from __future__ import annotations

from dataclasses import replace

from acc.commit import commit
from acc.laws.draft import Draft
from acc.laws.held import show_pending
from acc.policy import Policy
from acc.state import CompressedCognitiveState
from acc.turn import Turn


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
