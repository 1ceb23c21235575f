"""Laws 3 and 7: the state fits its places and its tokens, and pinned items never make room."""

from __future__ import annotations

import re
from collections.abc import Iterable

from acc.errors import PinnedOverflow
from acc.items import Item
from acc.laws.draft import Draft
from acc.laws.held import show_pending
from acc.laws.reasons import Reason
from acc.policy import Policy
from acc.slots import SlotField

_WEAK = ("hypothesis", "reported")

Order = tuple[bool, int, bool, int, int]


def fit(draft: Draft, policy: Policy) -> int:
    """Make room until every slot and the whole are within bounds.

    What goes first: items not touched in this turn, slot by slot in their eviction order;
    within a slot hypotheses and reports, then what was least recently touched.

    Returns:
        Tokens of the state as it renders now.

    Raises:
        PinnedOverflow: Pinned items alone exceed a slot's places or the token bound.
    """
    for slot in draft.slots.values():
        _fit_places(draft, slot)
    tokens = _fit_tokens(draft, policy)
    if draft.pending:
        show_pending(draft, policy)
        tokens = policy.tokens(draft.state())
    return tokens


def _fit_places(draft: Draft, slot: SlotField) -> None:
    excess = len(draft.items[slot.name]) - slot.rules.places
    if excess <= 0:
        return
    loose = sorted(_loose(draft, [slot]), key=lambda found: _order(draft, *found))
    if len(loose) < excess:
        bound = [i for i in draft.items[slot.name] if i.is_open]
        raise _overflow(
            draft,
            bound,
            f"{len(bound)} items need a place in {slot.name}, which has {slot.rules.places}",
        )
    for _, item in loose[:excess]:
        draft.remove(slot, item, Reason.EVICTED_PLACES)


def _fit_tokens(draft: Draft, policy: Policy) -> int:
    tokens = policy.tokens(draft.state())
    if tokens <= policy.max_tokens:
        return tokens
    order = sorted(_loose(draft, draft.slots.values()), key=lambda found: _order(draft, *found))
    while tokens > policy.max_tokens and order:
        freed = 0
        while order and freed < tokens - policy.max_tokens:
            slot, item = order.pop(0)
            draft.remove(slot, item, Reason.EVICTED_TOKENS)
            freed += policy.counter(item.words)
        tokens = policy.tokens(draft.state())
    if tokens > policy.max_tokens and draft.lifted:
        draft.note(Reason.LIFTED_CUT, detail=f"{len(draft.lifted)} not shown")
        draft.lifted.clear()
        tokens = policy.tokens(draft.state())
    if tokens > policy.max_tokens:
        pinned = [item for items in draft.items.values() for item in items]
        excess = tokens - policy.max_tokens
        raise _overflow(
            draft, pinned, f"pinned items alone exceed max_tokens={policy.max_tokens} by {excess}"
        )
    return tokens


def _loose(draft: Draft, slots: Iterable[SlotField]) -> list[tuple[SlotField, Item]]:
    return [
        (slot, item)
        for slot in slots
        for item in draft.items[slot.name]
        if not (slot.rules.pinned and item.is_open)
    ]


def _order(draft: Draft, slot: SlotField, item: Item) -> Order:
    fresh = item.touched == draft.turn.number
    strong = getattr(item, "status", "") not in _WEAK
    number = re.search(r"\d+$", item.id)
    return (fresh, slot.rules.evict, strong, item.touched, int(number.group()) if number else 0)


def _overflow(draft: Draft, items: list[Item], what: str) -> PinnedOverflow:
    held = {item.id for _, item in draft.before.items()}
    ids = tuple(item.id for item in items if item.id in held)
    return PinnedOverflow(
        what,
        items=ids,
        where=", ".join(ids),
        mend="retire what no longer holds (acc retire ID), or widen max_tokens or the slot's places",
    )
