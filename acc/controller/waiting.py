"""What waits after a head: a turn that was recorded, or one whose step failed or was killed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acc.journal.names import Waiting
from acc.turn.observations import Observation
from acc.turn.turn import Turn


def with_waiting(waiting: Waiting, clean: Turn, number: int) -> tuple[Waiting, Turn]:
    """Return what waits with the refs that it gets, and the turn that has it in front.

    It was recorded, or its step failed or was killed. A turn that begins with the same words says them once.
    """
    if waiting.turn is None:
        return waiting, clean.numbered(number)
    said = tuple(message.observation for message in waiting.messages)
    whole = Turn(observations=(*said, *_rest(said, clean.observations)), at=clean.at)
    numbered = whole.numbered(number)
    refs = tuple(each.ref for each in numbered.observations[: len(said)])
    return replace(waiting, turn=replace(waiting.turn, refs=refs)), numbered


def _rest(
    said: Sequence[Observation], observations: Sequence[Observation]
) -> Sequence[Observation]:
    """Return what ``observations`` say beyond ``said``, which may hold them, or begin or end as they begin."""
    before, now = [o.identity for o in said], [o.identity for o in observations]
    if place_of(now, before) is not None:
        return ()
    return observations[overlap(before, now) :]


def place_of(now: Sequence[str], before: Sequence[str]) -> int | None:
    """Return where ``before`` holds ``now``; None if it does not."""
    places = range(len(before) - len(now) + 1)
    return next((i for i in places if before[i : i + len(now)] == now), None)


def overlap(before: Sequence[str], now: Sequence[str]) -> int:
    """Return how many of the first of ``now`` are the first, or the last, of ``before``."""
    sizes = range(min(len(before), len(now)), 0, -1)
    return next((n for n in sizes if now[:n] in (before[:n], before[-n:])), 0)
