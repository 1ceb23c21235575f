"""Finished turns that this process does not know of: another was killed, or ended, before their commit.

All that is needed stands in the store and in the audit log: a turn's evidence is stored and
claimed when it is finished, and its result waits in the audit log, on its branch, after its parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acc.background.finished import Finished
from acc.background.waiting import home, origin, stored_turn, waiting_branches, waiting_turn
from acc.log import ThreadLog
from acc.memory import Memory
from acc.state import CompressedCognitiveState
from acc.store import Thread

State = CompressedCognitiveState


def finished_after(memory: Memory, thread: Thread, base: State) -> list[Finished]:
    """All finished turns after ``base``, a committed state or the thread's first, in order."""
    found: list[Finished] = []
    with memory.lock:
        log = memory.log_of(thread)
        while True:
            number = base.turn + 1 + len(found)
            turn = stored_turn(log, base.branch, number)
            stands = (base.branch, turn) if turn else waiting_turn(log, base.branch, number)
            if stands is None:
                return found
            name, turn = stands
            job = Finished(thread, turn, name, base, found[-1] if found else None)
            job.is_refused = log.claims.is_refused(log.branch(base.branch), number)
            found.append(job)


def carried(memory: Memory, thread: Thread, state: State) -> tuple[State, list[Finished]]:
    """What became of the turns that ``state`` carries as pending, since it was handed out.

    Returns:
        The newest committed state that it leads to, and the turns after that. Or ``state`` itself
        and none, where it is a committed state, or it is not known what it goes on from: then the
        next commit folds in what is pending (law 9).
    """
    audit = memory.audit_of(thread)
    if audit is None or not state.pending:
        return state, []
    with memory.lock:
        log = memory.log_of(thread)
        branch, waiting = home(log, state.branch), waiting_branches(log, state.branch)
        base = _base(memory, log, list(audit.records()), state)
        if base is None:
            return state, []
        if base.branch != branch:
            base = base.on_branch(branch)
        turns: list[Finished] = []
        for number in range(base.turn + 1, state.turn + 1):
            name = waiting.get(number, branch)
            turn = stored_turn(log, name, number)
            if turn is None:
                return state, []
            turns.append(Finished(thread, turn, name, base, turns[-1] if turns else None))
    policy = memory.settings.policy
    if not base.version and turns[-1].standing(policy).hash != state.hash:
        return state, []  # begun from a first state that stands nowhere
    with memory.lock:
        for job in turns:
            job.is_refused = log.claims.is_refused(log.branch(branch), job.turn.number)
    return base, turns


def _base(
    memory: Memory, log: ThreadLog, records: list[dict[str, Any]], state: State
) -> State | None:
    """The newest committed state on the way to ``state``; None where that is ``state`` itself."""
    states = [record["state"] for record in records]
    if any(made["hash"] == state.hash for made in states):
        return None
    branch, waiting = home(log, state.branch), waiting_branches(log, state.branch)
    before = [
        made
        for made in states
        if made["branch"] == branch
        and made["turn"] <= state.turn
        and _took_in(log, branch, waiting, made["turn"])
    ]
    start = origin(log, branch)
    forked = [made for made in states if (made["branch"], made["turn"]) == start]
    found = (before or forked or [None])[-1]
    return memory.from_log({"state": found}) if found is not None else memory.load(None)


def _took_in(log: ThreadLog, branch: str, waiting: Mapping[int, str], upto: int) -> bool:
    """Whether the turns of ``branch`` up to ``upto`` are those that waited, and no other future's."""
    for number, name in waiting.items():
        mine = log.claims.of(log.branch(name), number)
        held = log.claims.of(log.branch(branch), number)
        if number <= upto and (mine is None or held is None or mine.text != held.text):
            return False
    return True
