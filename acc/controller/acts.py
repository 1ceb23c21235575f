"""What the agent does beside a step: flush and record."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, TypeVar

from acc.commit.commit import Commit, commit
from acc.controller.joining import is_newest
from acc.controller.parts import Parts
from acc.controller.turning import clean_turn, entries_of
from acc.driving import Doing, Io
from acc.errors import ConflictError
from acc.journal import Latest, ThreadKey
from acc.journal.names import MAIN
from acc.logs import log_event
from acc.state.model import CompressedCognitiveState
from acc.step import Step
from acc.stepping import stepping
from acc.tail import marked, messages_of
from acc.turn.observations import Observation, as_observations
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)

_LOG = logging.getLogger(__name__)


def flushing(parts: Parts[S], key: ThreadKey, branch: str) -> Doing[Step[S] | None]:
    """Compress what waits in a thread's tail; return None if nothing does.

    Before a hand-over to another agent, a shared write, the end of a session. If a turn is committed meanwhile, and
    nothing else was compressed, the result is committed anew on it. Else it is dropped: the tail still has the words.

    Raises:
        ConflictError: Something else was compressed meanwhile.
    """
    latest: Latest[S] = yield parts.latest(key, branch)
    state = latest.state
    if state is None or all(entry.status == "read" for entry in state.unread):
        return None
    nothing = Turn(observations=()).numbered(state.turn)
    step: Step[S] = yield from stepping(parts.memory, state, nothing, texts=latest.tail, force=True)
    while True:
        try:
            yield parts.committing(latest.head, entries_of(step))
        except ConflictError:
            earlier, latest = latest, (yield parts.latest(key, branch))
            if not _only_turns_since(earlier, latest):
                raise
            step = _rebased(step, latest)
        else:
            return step


def _only_turns_since(earlier: Latest[S], latest: Latest[S]) -> bool:
    """Whether nothing changed since but the tail, at its end."""
    before, after = earlier.state, latest.state
    if before is None or after is None or earlier.head.epoch != latest.head.epoch:
        return False
    is_same = list(before.items()) == list(after.items()) and before.gone == after.gone
    return is_same and after.unread[: len(before.unread)] == before.unread


def _rebased(step: Step[S], latest: Latest[S]) -> Step[S]:
    """Commit what a step proposed anew on a state that has a longer tail."""
    state: Any = latest.state
    commits: list[Commit[S]] = []
    for each in step.commits:
        given = {**vars(each.given), "number": state.turn}
        commits.append(commit(state, step.policy, **given))
        state = commits[-1].state
    return Step(
        state, marked(state.unread, latest.tail), tuple(commits), step.usage, step.failure,
        step.policy, step.cadence,
    )  # fmt: skip


def recording(
    parts: Parts[S], observations: Sequence[Observation], state: S | None, key: ThreadKey
) -> Doing[bool]:
    """Append what the agent said, called and got, as soon as it exists. The next step commits it.

    What is there already is not appended again. If the thread has gone on from ``state``, nothing is appended, and
    False is returned: the next step from ``state`` has to bring the words along.
    """
    branch = state.branch if state is not None else MAIN
    latest: Latest[S] = yield parts.latest(key, branch, has_tail=False)
    head = latest.head
    if state is not None and state.version and not (yield from is_newest(parts, state, head)):
        log_event(
            _LOG, logging.WARNING, "not_recorded",
            "the thread went on from the state: its next step has to bring the words along",
            thread=key.thread, version=state.version,
        )  # fmt: skip
        return False
    waiting = latest.waiting.messages
    given = clean_turn(parts, Turn(observations=as_observations(observations, "record")), "record")
    there = {message.observation.identity for message in waiting}
    new = [each for each in given.observations if each.identity not in there]
    if not new:
        return True
    said = tuple(message.observation for message in waiting)
    number = (latest.state.turn if latest.state is not None else 0) + 1
    whole = Turn(observations=(*said, *new), at=given.at).numbered(number)
    messages = messages_of(whole)[len(said) :]
    yield Io(
        lambda: parts.journal.append(
            key, messages, follows=head.hash, branch=branch, is_record=True
        )
    )
    return True
