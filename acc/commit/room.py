"""What leaves for want of room (law 3). Rules and goals never do.

First leave records of a slot that is over its share or its places, then records of any slot: those that the
compressor marked as minor before others, the longest untouched first, where each writing counts. Of those that this
very answer wrote, the last written leaves first, as the compressor is told.

Orders were replayed on recorded answers (`benchmarks/eviction_orders.py`): this one held the most current facts.
"""

from __future__ import annotations

from collections.abc import Callable

from acc.commit.draft import Draft
from acc.state.items import Record, number_of
from acc.state.reasons import Reason
from acc.state.render import cost

Order = Callable[[Draft, Record], tuple[object, ...]]


USE = 6
"""Turns by which each further writing of a record counts as later: what was written again is what the talk is about."""


def by_last_use(draft: Draft, item: Record) -> tuple[object, ...]:
    """Return minor ones first, then the longest untouched, then what this answer wrote, from its end."""
    number = number_of(item)
    last = item.touched + USE * (item.uses - 1)
    return (not item.minor, last, -number if item.touched == draft.turn else number)


def make_room(draft: Draft, order: Order = by_last_use) -> None:
    """Remove records until the state keeps its bounds."""
    for name, slot in draft.slots.items():
        extra = len(draft.items[name]) - slot.rules.places
        if extra > 0 and slot.is_record:
            for item in sorted(_records(draft, name), key=lambda i: order(draft, i))[:extra]:
                _evict(draft, name, item, "the slot is full")
    while (over := draft.tokens() - draft.policy.max_tokens) > 0:
        draft.over = max(draft.over, over)
        victims = _victims(draft, order)
        if not victims:
            _make_room_of_others(draft)
            return
        for name, item in victims:
            if over <= 0:
                break
            over -= cost(item, draft.policy.counter)
            _evict(draft, name, item, "no room")


def _make_room_of_others(draft: Draft) -> None:
    """Where no record is left: let go of next steps; rules that exceed a bound made smaller stay, and are told."""
    steps = list(draft.items["predictive_cue"])
    while steps and draft.tokens() > draft.policy.max_tokens:
        step = steps.pop(0)
        draft.remove("predictive_cue", step)
        draft.note(Reason.EVICTED, step.id, step.text_of, "no room")
    pinned = [item for _, item in draft.pinned()]
    if pinned and draft.tokens() > draft.policy.max_tokens:
        last = max(pinned, key=lambda item: item.turn)
        detail = "rules and goals exceed the bound, which was made smaller"
        draft.note(Reason.NO_ROOM, last.id, last.words.text, detail, ref=last.words.ref)
        draft.no_room.append(last.words.ref)


def _victims(draft: Draft, order: Order) -> list[tuple[str, Record]]:
    """Return the records that may leave now, in order."""
    policy = draft.policy
    room = max(1, policy.max_tokens - draft.pinned_tokens())
    found: list[tuple[bool, tuple[object, ...], str, Record]] = []
    for name, slot in draft.slots.items():
        records = _records(draft, name)
        used = sum(cost(item, draft.policy.counter) for item in records)
        is_over = slot.rules.share < 1 and used > slot.rules.share * room
        found += [(not is_over, order(draft, item), name, item) for item in records]
    found.sort(key=lambda each: each[:2])
    over_share = [(name, item) for within, _, name, item in found if not within]
    return over_share[:1] or [(name, item) for _, _, name, item in found]


def _records(draft: Draft, name: str) -> list[Record]:
    return [item for item in draft.items[name] if isinstance(item, Record)]


def _evict(draft: Draft, name: str, item: Record, detail: str) -> None:
    draft.evict(name, item)
    draft.note(Reason.EVICTED, item.id, item.text_of, detail)
