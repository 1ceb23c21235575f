"""Where a step goes on that waited for others of its thread, or was overtaken by them: at the head."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from acc.controller.beginning import WENT_ON, Beginning
from acc.controller.parts import Parts
from acc.controller.waiting import overlap, place_of
from acc.driving import Doing, Io
from acc.journal import Appended, Latest, ThreadKey
from acc.journal.names import MAIN, Head, StoredMessage
from acc.state.model import CompressedCognitiveState
from acc.turn.turn import Turn

S = TypeVar("S", bound=CompressedCognitiveState)


def is_newest(parts: Parts[S], state: CompressedCognitiveState, head: Head) -> Doing[bool]:
    """Whether a state is that of its branch's head, or what was committed since took no message."""
    if head.hash == state.hash:
        return True
    held: Head | None = yield Io(lambda: parts.journal.commit_with(head.thread, state.hash))
    if held is None:
        return False
    adopted: Head = yield Io(lambda: parts.journal.without_news(held))
    return adopted.hash == head.hash


def arriving(parts: Parts[S], state: S | None, key: ThreadKey) -> Doing[Head | None]:
    """Return the head that a step from ``state`` goes on from; None if it goes on from elsewhere."""
    head: Head = yield Io(lambda: parts.journal.head(key, state.branch if state else MAIN))
    if state is None or not (head.hash or state.version):
        return head
    return head if (yield from is_newest(parts, state, head)) else None


def joining(
    parts: Parts[S], since: Head, turn: Turn, key: ThreadKey
) -> Doing[tuple[Beginning[S], Turn]]:
    """Return where a step begins that was to go on from ``since``, and waited or was overtaken: at the head now.

    With it comes the turn without what others have committed of it meanwhile.
    """
    latest: Latest[S] = yield parts.latest(key, since.branch)
    stored: list[StoredMessage] = yield Io(
        lambda: list(parts.journal.messages(key, since.seq + 1, branch=since.branch))
    )
    since_then = [each for each in stored if each.seq <= latest.head.seq]
    there = [each.message.observation.identity for each in since_then]
    said = [observation.identity for observation in turn.observations]
    place = place_of(said, there)
    if place is not None:
        before = replace(since, seq=since_then[place].seq - 1)
        known: Appended | None = yield Io(lambda: parts.journal.said_after(before, said))
        return Beginning(latest, known), turn
    rest = turn.observations[overlap(there, said) :]
    warning = WENT_ON if since_then else ""
    return Beginning(latest, None, warning), turn.model_copy(update={"observations": rest})
