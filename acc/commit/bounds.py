"""Laws 3 and 7: the state stays within its places and tokens, and pinned items are never evicted.

A rule or goal in the user's or operator's own words that does not fit causes an overflow, which the
caller must handle. Other new pinned items cannot cause an overflow: commit refuses them instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from acc.commit.draft import Draft, show_pending
from acc.commit.eviction_trace import trace_evicted
from acc.errors import PinnedOverflow
from acc.state.items import Goal, Item, number_of, one_line
from acc.state.policy import Policy
from acc.state.reasons import Reason
from acc.state.slots import SlotField
from acc.turn.observations import Trust

_WEAK = ("hypothesis", "reported")

_SENTENCE = re.compile(r"[.!?\n]+")

Order = tuple[bool, int, bool, int, int]


def fit(draft: Draft, policy: Policy) -> int:
    """Evict items until every slot and the whole state are within bounds.

    Order of eviction (`eviction_order`): items not touched in this turn first, slot by slot by eviction priority,
    lowest first. Within a slot, hypotheses and reports go first, then the least recently touched items. Notices of
    retired and doubted rules go next. Then commit refuses new pinned items that `_gives_way` allows it to refuse.
    The room that is left shows unread turns, then the trace of what was evicted.

    Returns:
        Tokens of the rendered state.

    Raises:
        PinnedOverflow: Pinned items alone exceed a slot's places or the token bound.
    """
    draft.evicted = ()
    for slot in draft.slots.values():
        _fit_places(draft, slot, policy)
    tokens = _fit_tokens(draft, policy)
    if draft.pending:
        show_pending(draft, policy)
        tokens = policy.tokens(draft.state())
    return trace_evicted(draft, policy, tokens)


def _fit_places(draft: Draft, slot: SlotField, policy: Policy) -> None:
    places = policy.places(slot)
    bound = _pinned(draft, [slot])
    while len(bound) > places and _refused_one(draft, [slot]):
        bound = _pinned(draft, [slot])
    if len(bound) > places:
        raise _overflow(
            draft,
            bound,
            f"{len(bound)} pinned items need a place in {slot.name}, which has {places}",
            needed=len(bound),
            limit=places,
            slot=slot.name,
        )
    excess = max(0, len(draft.items[slot.name]) - places)
    for _, item in eviction_order(draft, [slot])[:excess]:
        draft.remove(slot, item, Reason.EVICTED_PLACES)


def _fit_tokens(draft: Draft, policy: Policy) -> int:
    tokens = policy.tokens(draft.state())
    if tokens <= policy.max_tokens:
        return tokens
    order = eviction_order(draft)
    while tokens > policy.max_tokens and order:
        freed = 0
        while order and freed < tokens - policy.max_tokens:
            slot, item = order.pop(0)
            draft.remove(slot, item, Reason.EVICTED_TOKENS)
            freed += policy.counter(item.words)
        tokens = policy.tokens(draft.state())
    if tokens > policy.max_tokens and (draft.lifted or draft.doubted):
        draft.note(Reason.LIFTED_CUT, detail=f"{len(draft.lifted) + len(draft.doubted)} not shown")
        draft.lifted.clear()
        draft.doubted.clear()
        tokens = policy.tokens(draft.state())
    if tokens > policy.max_tokens and _drop_readings(draft):
        tokens = policy.tokens(draft.state())
    while tokens > policy.max_tokens and _refused_one(draft):
        tokens = policy.tokens(draft.state())
    if tokens > policy.max_tokens:
        excess = tokens - policy.max_tokens
        raise _overflow(
            draft,
            _pinned(draft),
            f"pinned items alone exceed max_tokens={policy.max_tokens} by {excess}",
            needed=tokens,
            limit=policy.max_tokens,
        )
    return tokens


def _drop_readings(draft: Draft) -> bool:
    """Remove the asides of all rules to make room. Return whether there were any."""
    found = [
        (slot, item, name)
        for slot, item in draft.placed()
        for name in item.asides
        if getattr(item, name)
    ]
    for slot, item, name in found:
        detail = f"{getattr(item, name)}: no room"
        items = draft.items[slot.name]
        items[items.index(item)] = item.model_copy(update={name: ""})
        draft.note(Reason.READING_DROPPED, slot.name, item, detail=detail)
    return bool(found)


def _pinned(draft: Draft, slots: Iterable[SlotField] | None = None) -> list[Item]:
    return [item for slot, item in draft.placed(slots) if slot.binds(item)]


def eviction_order(
    draft: Draft, slots: Iterable[SlotField] | None = None
) -> list[tuple[SlotField, Item]]:
    """Return the items of ``slots``, by default of all, that may be evicted, the first to go first."""
    loose = [(slot, item) for slot, item in draft.placed(slots) if not slot.binds(item)]
    return sorted(loose, key=lambda found: _order(draft, *found))


def _order(draft: Draft, slot: SlotField, item: Item) -> Order:
    fresh = item.touched == draft.turn.number
    strong = getattr(item, "status", "") not in _WEAK
    return (fresh, slot.rules.eviction_priority, strong, item.touched, number_of(item))


def _refused_one(draft: Draft, slots: Iterable[SlotField] | None = None) -> bool:
    """Refuse the newest refusable pinned item; return False if there is none."""
    held = _held(draft)
    found = [(s, i) for s, i in draft.placed(slots) if s.binds(i) and i.id not in held]
    found.sort(key=lambda pair: -number_of(pair[1]))
    for slot, item in found:
        if _gives_way(draft, item, [other for _, other in found]):
            draft.refuse(slot, item, Reason.NO_ROOM)
            return True
    return False


def _gives_way(draft: Draft, item: Item, new: Sequence[Item]) -> bool:
    """Return whether commit may refuse a new pinned item instead of raising `PinnedOverflow`.

    It may if the item has less than user trust, if the user only assented to it, or if an earlier goal was made
    from the same sentence.
    """
    if item.endorsed or item.trust < Trust.USER:
        return True
    if not isinstance(item, Goal):
        return False
    before = [o for o in new if isinstance(o, Goal) and number_of(o) < number_of(item)]
    said = [o.text for o in draft.turn.readable if o.ref in item.sources]
    sentences = [one_line(part) for text in said for part in _SENTENCE.split(text)]
    return any(item.quote in s and any(o.quote in s for o in before) for s in sentences)


def _held(draft: Draft) -> set[str]:
    return {item.id for _, item in draft.before.items()}


def _overflow(
    draft: Draft, items: list[Item], what: str, *, needed: int, limit: int, slot: str = ""
) -> PinnedOverflow:
    held = _held(draft)
    ids = tuple(item.id for item in items if item.id in held)
    refused = tuple(i.head_text for i in items if i.id not in held)
    what += f"; refused: {refused[0][:80]!r}" if refused else ""
    what += f" and {len(refused) - 1} more" if len(refused) > 1 else ""
    raise_limit = "" if slot else "; or increase max_tokens"
    return PinnedOverflow(
        what,
        items=ids,
        where=", ".join(ids),
        hint="end rules and goals that no longer apply: the user says so, or the operator retires them: "
        "memory.retire(error.items[:2], state=error.state, thread=error.thread), or acc retire ID; then "
        f"repeat the refused ones, a few at a time{raise_limit}",
        slot=slot,
        needed=needed,
        limit=limit,
        refused=refused,
        state=draft.before,
        turn=draft.turn.number,
    )
