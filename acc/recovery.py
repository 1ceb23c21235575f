"""An operator's ways to go on where the store or the audit log lacks the past of a thread.

A step refuses to go on when the store lacks what a state was made from, or when the audit log lacks turns
that the store has. `adopt` goes on from a chosen state; `recover` commits the stored turns again.
"""

from __future__ import annotations

import logging
from typing import Any

from acc.audit.unlogged import unlogged
from acc.errors import AuditError, ConfigurationError, StateError, StoreError
from acc.logs import log_event
from acc.memory import Memory
from acc.operators import with_operator_acts
from acc.state.model import ROOT, CompressedCognitiveState
from acc.stores.protocol import Thread
from acc.thread.branch import complete_texts, observed
from acc.thread.log import refuse_foreign
from acc.turn.observations import Channel
from acc.turn.turn import Turn

_LOG = logging.getLogger(__name__)


def adopt(memory: Memory, state: Any, thread: Thread) -> CompressedCognitiveState:
    """Implement `MemoryController.adopt`."""
    chosen = memory.settings.policy.schema.load(state)
    audit = memory._audit_of(thread)
    with memory._locked_log(thread) as log, memory._threads.intact(thread):
        refuse_foreign(chosen, thread, lambda: log.branch(ROOT))
        ends = [entry["state"] for entry in audit.newest_by_branch()] if audit else []
        ends.append(chosen.canonical())
        states = {(str(s["branch"]), str(s["hash"])) for s in ends}
        branches = log.branches_after(states, [branch for branch, _ in states])
        behind = unlogged(audit, branches) if audit else {}
        log.journal.refresh()
        log.journal.adopt(chosen, behind)
    log_event(
        _LOG, logging.WARNING, "adopted", "an operator had a thread go on from a state that he chose",
        thread=thread.thread, key=thread.key, turn=chosen.turn, branch=chosen.branch,
        not_in_audit_log=[f"{branch}:{turn}" for branch, turn in behind.items()],
    )  # fmt: skip
    return memory.signed(chosen)


def refusal(memory: Memory, state: CompressedCognitiveState, thread: Thread) -> str:
    """Return why a step from ``state`` is refused until it is adopted; empty if it is not."""
    session = memory._session(thread)
    try:
        with memory._locked_log(thread) as log:
            session.refuse_unknown(state)
            log.refuse_lost(state)
    except (StoreError, StateError, AuditError) as error:
        return error.what
    return ""


def recover(memory: Memory, thread: Thread) -> CompressedCognitiveState | None:
    """Implement `MemoryController.recover`."""
    audit = memory._audit_of(thread)
    if audit is None:
        raise ConfigurationError(
            "the memory keeps no audit logs",
            where=f"thread {thread.thread!r}",
            hint="open it with the audit folder that the thread's log is in",
        )
    last = audit.last()
    state = memory._from_log(last) if last else memory.load(None)
    while (turn := _stored_turn(memory, thread, state)) is not None:
        before = state
        if turn.observations[-1:] and turn.observations[-1].channel is Channel.OPERATOR:
            state = with_operator_acts(memory, state, thread)
        if state is before:
            with memory._running(state, turn, thread) as run:
                run.store()
                run.recall()
                run.think()
                run.persist()
            state = run.received().state
        log_event(
            _LOG, logging.WARNING, "committed_again", "a stored turn was committed again",
            thread=thread.thread, key=thread.key, turn=state.turn,
        )  # fmt: skip
    return memory.last_state(thread)


def _stored_turn(memory: Memory, thread: Thread, state: CompressedCognitiveState) -> Turn | None:
    """Return the stored turn that follows ``state`` on its branch, or None."""
    with memory._locked_log(thread) as log:
        branch = log.branch(state.branch)
        stored = complete_texts(branch.own(state.turn + 1, "observation"))
        if not stored and branch.newest <= state.turn:
            return None
        return Turn(observations=observed(branch, stored), at=stored[0].at if stored else "")
