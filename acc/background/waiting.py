"""Finished turns that this process does not know of: another was killed, or ended, before their commit.

All that is needed stands in the store and in the audit log: a turn's evidence is stored and
claimed when it is finished, and its result waits in the audit log, on its branch, after its parent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from acc.background.entries import CommitJob
from acc.memory import Memory
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Thread, artifact_id
from acc.thread.branch import Branch, observed
from acc.thread.log import ThreadLog
from acc.turn.observations import identities
from acc.turn.turn import Turn

_MARK = "w"
"""First letter of waiting branches; those of forks begin with b."""


def waiting_place(
    log: ThreadLog, state: CompressedCognitiveState, turn: Turn, now: str
) -> CompressedCognitiveState:
    """``state`` on the waiting branch for ``turn``: the first that nobody needs for another turn."""
    number, keys = state.turn + 1, identities(turn.observations)
    for name in _names(home(log, state.branch), number):
        if origin(log, name) is None:
            made = Branch(log.store, log.thread, name)
            made.append((), made.origin(state.branch, state.turn, now))
        branch = log.branch(name)
        claim = log.claims.of(branch, number)
        held = {a.identity for a in branch.own(number, "observation")}
        if claim.text == _digest(keys) if claim is not None else held <= set(keys):
            return state.on_branch(name)
    raise AssertionError("unreachable: there is always another name")


def home(log: ThreadLog, name: str) -> str:
    """The branch on which the turns that wait on branch ``name`` will be committed."""
    while name.startswith(_MARK) and (found := origin(log, name)) is not None:
        name = found[0]
    return name


def waiting_branches(log: ThreadLog, name: str) -> dict[int, str]:
    """The waiting branches on the way to ``name``, by the number of the turn that waits there."""
    found = {}
    while name.startswith(_MARK) and (goes_out := origin(log, name)) is not None:
        found[goes_out[1] + 1] = name
        name = goes_out[0]
    return found


def origin(log: ThreadLog, name: str) -> tuple[str, int] | None:
    """The branch that ``name`` goes out from, and the turn behind which; None if there is no such."""
    found = log.store.get(log.thread.tenant, [artifact_id(log.thread.key, name, 0)])
    if not found:
        return None
    said = json.loads(found[0].text)
    return str(said["parent"]), int(said["turn"])


def waiting_turn(log: ThreadLog, branch: str, number: int) -> tuple[str, Turn] | None:
    """The newest that waits to be turn ``number`` of ``branch``, and where it stands."""
    newest = None
    for name in _names(branch, number):
        if origin(log, name) is None:
            return newest
        turn = stored_turn(log, name, number)
        newest = (name, turn) if turn is not None else newest
    raise AssertionError("unreachable: names never end, branches do")


def stored_turn(log: ThreadLog, name: str, number: int) -> Turn | None:
    """Turn ``number`` of a branch as it was claimed; None if it was not, or is not whole any more."""
    branch = log.branch(name)
    claim = log.claims.of(branch, number)
    firsts = [a for a in branch.own(number, "observation") if a.part == 0]
    observations = tuple(
        o.model_copy(update={"ref": a.ref})
        for o, a in zip(observed(branch, firsts), firsts, strict=True)
    )
    if claim is None or claim.text != _digest(identities(observations)):
        return None
    return Turn(observations=observations, number=number)


def _names(branch: str, number: int) -> Iterator[str]:
    for attempt in count():
        seed = f"{branch}\x00{number}\x00{attempt}"
        yield _MARK + hashlib.sha256(seed.encode()).hexdigest()[:12]


def _digest(keys: list[str]) -> str:
    """As a claim has it."""
    return hashlib.sha256("\x00".join(keys).encode()).hexdigest()


State = CompressedCognitiveState


def finished_after(memory: Memory, thread: Thread, base: State) -> list[CommitJob]:
    """All finished turns after ``base``, a committed state or the thread's first, in order."""
    found: list[CommitJob] = []
    with memory.lock:
        log = memory.log_of(thread)
        while True:
            number = base.turn + 1 + len(found)
            turn = stored_turn(log, base.branch, number)
            stands = (base.branch, turn) if turn else waiting_turn(log, base.branch, number)
            if stands is None:
                return found
            name, turn = stands
            job = CommitJob(thread, turn, name, base, found[-1] if found else None)
            job.is_refused = log.claims.is_refused(log.branch(base.branch), number)
            found.append(job)


def carried(memory: Memory, thread: Thread, state: State) -> tuple[State, list[CommitJob]]:
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
        turns: list[CommitJob] = []
        for number in range(base.turn + 1, state.turn + 1):
            name = waiting.get(number, branch)
            turn = stored_turn(log, name, number)
            if turn is None:
                return state, []
            turns.append(CommitJob(thread, turn, name, base, turns[-1] if turns else None))
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
