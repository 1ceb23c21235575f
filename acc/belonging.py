"""Whose a state is: the first commit in a thread binds it, and no other thread goes on from it."""

from __future__ import annotations

from collections.abc import Callable

from acc.branch import Branch
from acc.errors import StateError
from acc.state import CompressedCognitiveState
from acc.store import Thread


def refuse_foreign(
    state: CompressedCognitiveState, thread: Thread, root: Callable[[], Branch]
) -> None:
    """Raise where ``state`` was committed in another thread than ``thread``; ``root`` reads its root.

    A state of the same tenant, user and agent may seed a thread that holds nothing up to its
    turn: a copied conversation, or one that carries on where another ended.

    Raises:
        StateError: It belongs to another tenant, user or agent, or to another of their threads.
    """
    if state.bound_to in ("", thread.mark):
        return
    is_theirs = state.bound_to.partition(".")[0] == thread.mark.partition(".")[0]
    if is_theirs and not any(turn <= state.turn for turn in root().turns[:1]):
        return
    whose = "another thread" if is_theirs else "another tenant, user or agent"
    raise StateError(
        f"the state belongs to {whose}",
        where=f"thread {thread.thread!r}, user {thread.user!r}, turn {state.turn + 1}",
        mend="give the state that this thread's last step returned, or last_state(thread); "
        "None begins anew",
    )
