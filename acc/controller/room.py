"""Make room as the operator where a service has no human one (`Settings.on_overflow`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from acc.controller.parts import Parts, Taken
from acc.controller.retiring import retiring_everywhere
from acc.controller.settings import OnOverflow
from acc.controller.turning import taking
from acc.driving import Doing, Io
from acc.journal import ThreadKey
from acc.journal.names import StoredMessage
from acc.state.model import CompressedCognitiveState
from acc.step import Step, overflow_of
from acc.telemetry.observer import Watch
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)


def with_room(
    parts: Parts[S], handler: OnOverflow | None, key: ThreadKey, taken: Taken[S], watch: Watch
) -> Doing[Step[S]]:
    """Return the step; if rules or goals found no room, retire what ``handler`` names, and read them once more.

    A repeated step finds that they were read once more, and retires nothing again.

    Raises:
        PinnedOverflow: There is no handler, it names nothing, or what it names is not enough.
    """
    step = taken.step
    if not step.no_room:
        return step
    overflow = overflow_of(step)
    refused = yield Io(lambda: parts.journal.texts(key, step.no_room, branch=taken.branch))
    words = tuple(message.observation.model_copy(update={"ref": ""}) for message in refused)
    if taken.is_repeat and (
        yield from _is_read_again(parts, key, taken, {w.identity for w in words})
    ):
        latest = yield Io(lambda: parts.journal.latest(key, branch=taken.branch))
        return replace(step, state=latest.state, tail=latest.tail, commits=())
    ids = handler(overflow) if handler is not None else ()
    if not ids or not words:
        raise overflow
    room = yield from retiring_everywhere(parts, ids, "to make room", step.state, key)
    turn = Turn(observations=words, at=refused[-1].at)
    more = yield from taking(parts, room.state, turn, key, watch=watch, force=True)
    if more.step.no_room:
        raise overflow_of(more.step)
    commits = (*step.commits, *room.commits, *more.step.commits)
    told = tuple(replace(each, no_room=()) for each in commits)
    return replace(more.step, commits=told, usage=step.usage + more.step.usage)


def _is_read_again(
    parts: Parts[S], key: ThreadKey, taken: Taken[S], words: set[str]
) -> Doing[bool]:
    """Whether the thread has words of a turn once more, after it."""
    after: list[StoredMessage] = yield Io(
        lambda: list(parts.journal.messages(key, branch=taken.branch))
    )
    number = taken.step.state.turn
    return any(m.message.turn > number and m.message.observation.identity in words for m in after)
