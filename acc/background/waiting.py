"""Where the evidence of a turn stands that waits for the one before it to be committed.

Along a branch turns never decrease, and what a commit sets aside is written when it is done. So
until then the next turn's evidence stands on a branch of its own, a fork from the state that the
agent carries. Its name follows from branch and turn, so that any process finds it. Once its turn
comes, it is stepped where it belongs; the waiting branch stays behind, as forks do.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import count

from acc.branch import Branch
from acc.completing import observed
from acc.log import ThreadLog
from acc.refs import identities
from acc.state import CompressedCognitiveState
from acc.store import artifact_id
from acc.turn import Turn

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
