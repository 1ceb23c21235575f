"""Time in the state: when an item's words were said, and until when a rule holds.

The time is passed in with the turn and its sources; without one, no item is dated and no rule expires. A rule ends
by words of its own that stand in its source, never by a compressor's.
"""

from __future__ import annotations

from collections.abc import Sequence

from acc.commit.draft import Draft
from acc.state.items import Dated, Item
from acc.state.reasons import Reason
from acc.state.slots import SlotField
from acc.text.times import end_of, has_ended, moment, relative_words
from acc.turn.observations import Evidence, Observation


def expire(draft: Draft) -> None:
    """Mark the rules and goals whose time has passed at the time of the turn. They stay in the state."""
    now = moment(draft.turn.at)
    if now is None:
        return
    for slot in [each for each in draft.slots.values() if each.rules.pinned]:
        items = draft.items[slot.name]
        for place, item in enumerate(items):
            dated = item.dated
            if dated is None or not item.is_open or not has_ended(dated.until, now):
                continue
            marked = dated.model_copy(update={"expired": True})
            items[place] = item.model_copy(update={"dated": marked})
            draft.note(Reason.EXPIRED, slot.name, item, detail=str(marked))
            draft.settle(item)


def date_items(draft: Draft, evidence: Sequence[Evidence]) -> None:
    """Date what this commit wrote, where its words depend on the time: "tomorrow", "until Friday 18:00"."""
    before = {item.id: item for _, item in draft.before.items()}
    for slot in draft.slots.values():
        if slot.rules.ephemeral:
            continue
        items = draft.items[slot.name]
        for place, item in enumerate(items):
            prior = before.get(item.id)
            if prior is None or prior.words != item.words:
                dated = _dated(draft, slot, item, evidence)
                items[place] = item.model_copy(update={"dated": dated})


def _dated(draft: Draft, slot: SlotField, item: Item, evidence: Sequence[Evidence]) -> Dated | None:
    words = relative_words(item.words)
    source = _source(draft, item, words, evidence)
    if source is None:
        held = (i.dated for _, i in draft.before.items() if set(i.sources) & set(item.sources))
        return next((each for each in held if each is not None), None) if words else None
    is_of_now = any(source is each for each in draft.turn.observations)
    at = moment(source.at or (draft.turn.at if is_of_now else ""))
    if at is None:
        return None
    said = at.isoformat(timespec="seconds")
    until = end_of(item.head_text, source.text, at) if slot.rules.pinned else ""
    if until is None:
        detail = "its words do not stand alone in the source"
        draft.note(Reason.EXPIRY_DOUBTED, slot.name, item, detail=detail)
    return Dated(said=said, until=until or "") if words or until else None


def _source(
    draft: Draft, item: Item, words: str, evidence: Sequence[Evidence]
) -> Observation | None:
    """The source that says ``words``, the latest first; else the latest one of the item at all."""
    known = {o.ref: o for o in (*evidence, *draft.turn.readable)}
    rests_on = [known[ref] for ref in reversed(item.sources) if ref in known]
    saying = (o for o in rests_on if words.casefold() in o.text.casefold())
    return next(saying, rests_on[0] if rests_on else None)
