"""Finished turns that another process left uncommitted, and the branches that hold such turns.

The store and the audit log hold all that their commit needs: the evidence of a finished turn is stored
and claimed on a branch. While the turn before is uncommitted, a turn is stored on a "waiting" branch of
its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count, takewhile
from typing import Any

from acc.background.entries import CommitJob
from acc.memory import Memory
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Thread, artifact_id
from acc.thread.branch import (
    Branch,
    complete_texts,
    join_unrepeated,
    left_over,
    observed,
    preceded,
)
from acc.thread.log import ThreadLog
from acc.turn.observations import Observation, identities
from acc.turn.turn import Turn

_PREFIX = "w"
"""First letter of waiting branches; names of forks begin with b."""


def waiting_place(
    log: ThreadLog, state: CompressedCognitiveState, turn: Turn, now: str
) -> CompressedCognitiveState:
    """Find or create the waiting branch for ``turn``, and return ``state`` on it.

    It is the first one that already holds the turn or is unclaimed; creating it writes to the store.
    """
    number = state.turn + 1
    for name in _names(home(log, state.branch), number):
        if origin(log, name) is None:
            made = Branch(log.store, log.thread, name)
            made.append((), made.origin_record(state.branch, state.turn, now))
        branch = log.branch(name)
        claim = log.claims.of(branch, number)
        if claim is None:
            return state.on_branch(name)
        left = left_over(turn, complete_texts(branch.own(number, "observation")), claim)
        if claim.text == _digest(identities(preceded(turn, branch, left).observations)):
            return state.on_branch(name)
    raise AssertionError("unreachable: there is always another name")


def left_waiting(
    log: ThreadLog, place: CompressedCognitiveState, is_queued: Callable[[str, int], bool]
) -> tuple[Observation, ...]:
    """Return what waiting branches, except that of ``place``, hold for the next turn and nobody commits.

    A process that ended, an agent that raised or a cancelled call left it, while the turn before was
    uncommitted.
    """
    number, branch = place.turn + 1, home(log, place.branch)
    found: tuple[Observation, ...] = ()
    if log.claims.of(log.branch(branch), number) is not None:
        return found  # the turn is made: these words are part of it, or of another future
    for name in _existing(log, branch, number):
        if name != place.branch and not is_queued(name, number):
            held = log.branch(name)
            stored = complete_texts(held.own(number, "observation"))
            found = join_unrepeated(found, observed(held, stored))
    return found


def home(log: ThreadLog, name: str) -> str:
    """Return the branch on which turns that wait on branch ``name`` will be committed."""
    while name.startswith(_PREFIX) and (found := origin(log, name)) is not None:
        name = found[0]
    return name


def waiting_branches(log: ThreadLog, name: str) -> dict[int, str]:
    """Return the waiting branches on the path to ``name``, by the number of the waiting turn."""
    found = {}
    while name.startswith(_PREFIX) and (parent := origin(log, name)) is not None:
        found[parent[1] + 1] = name
        name = parent[0]
    return found


def origin(log: ThreadLog, name: str) -> tuple[str, int] | None:
    """Return the parent branch of ``name`` and the turn after which it forks; None if there is none."""
    found = log.store.get(log.thread.tenant, [artifact_id(log.thread.key, name, 0)])
    if not found:
        return None
    said = json.loads(found[0].text)
    return str(said["parent"]), int(said["turn"])


def waiting_turn(log: ThreadLog, branch: str, number: int) -> tuple[str, Turn] | None:
    """Return the newest turn that waits to be turn ``number`` of ``branch``, and its waiting branch."""
    newest = None
    for name in _existing(log, branch, number):
        turn = stored_turn(log, name, number)
        newest = (name, turn) if turn is not None else newest
    return newest


def stored_turn(log: ThreadLog, name: str, number: int) -> Turn | None:
    """Return the claimed turn ``number`` of a branch; None if it was not claimed or is incomplete."""
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
        yield _PREFIX + hashlib.sha256(seed.encode()).hexdigest()[:12]


def _existing(log: ThreadLog, branch: str, number: int) -> Iterator[str]:
    """Yield the waiting branches for turn ``number`` of ``branch``, oldest first."""
    return takewhile(lambda name: origin(log, name) is not None, _names(branch, number))


def _digest(keys: list[str]) -> str:
    """The digest that a claim contains."""
    return hashlib.sha256("\x00".join(keys).encode()).hexdigest()


State = CompressedCognitiveState


def finished_after(memory: Memory, thread: Thread, base: State) -> list[CommitJob]:
    """Return all finished turns after ``base``, a committed state or the thread's first one, in order."""
    found: list[CommitJob] = []
    with memory._locked_log(thread) as log:
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


def resolve_pending(memory: Memory, thread: Thread, state: State) -> tuple[State, list[CommitJob]]:
    """Find out what became of the turns pending in ``state``.

    Returns:
        The newest committed state that ``state`` leads to, and the finished turns after it. Or
        ``state`` and an empty list if ``state`` is committed or its origin is unknown; then the
        next commit includes the pending turns (law 9).
    """
    audit = memory._audit_of(thread)
    if audit is None or not state.pending:
        return state, []
    with memory._locked_log(thread) as log:
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
    if not base.version and turns[-1].resulting_state(policy).hash != state.hash:
        return state, []  # the first state was never stored
    with memory._lock:
        for job in turns:
            job.is_refused = log.claims.is_refused(log.branch(branch), job.turn.number)
    return base, turns


def _base(
    memory: Memory, log: ThreadLog, records: list[dict[str, Any]], state: State
) -> State | None:
    """The newest committed state on the path to ``state``; None if ``state`` itself is committed."""
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
    return memory._from_log({"state": found}) if found is not None else memory.load(None)


def _took_in(log: ThreadLog, branch: str, waiting: Mapping[int, str], upto: int) -> bool:
    """Whether the turns of ``branch`` up to ``upto`` are the waiting ones, not another continuation's."""
    for number, name in waiting.items():
        mine = log.claims.of(log.branch(name), number)
        held = log.claims.of(log.branch(branch), number)
        if number <= upto and (mine is None or held is None or mine.text != held.text):
            return False
    return True
