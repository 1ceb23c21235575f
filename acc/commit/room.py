"""What leaves for want of room (law 3). Rules and goals never do.

First leave records of a slot that is over its share or its places, then records of any slot: those that the
compressor marked as minor before others, the longest untouched first, where each writing counts. Of those that this
very answer wrote, the last written leaves first, as the compressor is told.

Orders were replayed on recorded answers (`benchmarks/eviction_orders.py`): this one held the most current facts.
"""

from __future__ import annotations

from acc.commit.draft import Draft
from acc.state.items import Record
from acc.state.reasons import Reason
from acc.state.render import cost

USE = 6
"""Turns by which each further writing of a record counts as later: what was written again is what the talk is about."""


def by_last_use(draft: Draft, item: Record) -> tuple[object, ...]:
    """Return minor ones first, then the longest untouched, then what this answer wrote, from its end."""
    digits = item.id[1:]
    number = int(digits) if digits.isdigit() else 0  # a newer item has a higher one
    last = item.touched + USE * (item.uses - 1)
    return (not item.minor, last, -number if item.touched == draft.turn else number)


def make_room(draft: Draft) -> None:
    """Remove records until the state keeps its bounds."""
    for name, slot in draft.slots.items():
        extra = len(draft.items[name]) - slot.rules.places
        if extra > 0 and slot.is_record:
            for item in sorted(draft.records(name), key=lambda i: by_last_use(draft, i))[:extra]:
                draft.evict(name, item, "the slot is full")
    while (over := draft.tokens() - draft.policy.max_tokens) > 0:
        draft.over = max(draft.over, over)
        victims = _victims(draft)
        if not victims:
            _make_room_of_others(draft)
            return
        for name, item in victims:
            if over <= 0:
                break
            over -= cost(item, draft.policy.counter)
            draft.evict(name, item, "no room")


def _victims(draft: Draft) -> list[tuple[str, Record]]:
    """Return the records that may leave now, in order: one of a slot over its share, or else all."""
    room = max(1, draft.policy.max_tokens - draft.pinned_tokens())
    over_share: set[str] = set()
    found: list[tuple[str, Record]] = []
    for name, slot in draft.slots.items():
        own = [(name, item) for item in draft.records(name)]
        used = sum(cost(item, draft.policy.counter) for _, item in own)
        found += own
        if slot.rules.share < 1 and used > slot.rules.share * room:
            over_share |= {item.id for _, item in own}
    found.sort(key=lambda each: by_last_use(draft, each[1]))
    return [each for each in found if each[1].id in over_share][:1] or found


def _make_room_of_others(draft: Draft) -> None:
    """Where no record is left: let go of next steps; rules that exceed a bound made smaller stay, and are told."""
    for step in draft.items["predictive_cue"]:
        if draft.tokens() <= draft.policy.max_tokens:
            return
        draft.remove("predictive_cue", step)
        draft.note(Reason.EVICTED, step.id, step.text_of, "no room")
    pinned = [item for _, item in draft.pinned()]
    if pinned and draft.tokens() > draft.policy.max_tokens:
        last = max(pinned, key=lambda item: item.turn)
        detail = "rules and goals exceed the bound, which was made smaller"
        draft.note(Reason.NO_ROOM, last.id, last.words.text, detail, ref=last.words.ref)
        draft.no_room.append(last.words.ref)
