"""Law 6: decides which item replaces which, and what stands beside another as a hypothesis."""

from __future__ import annotations

from pydantic import ValidationError

from acc.commit.draft import Draft
from acc.state.items import Item, Uncertainty
from acc.state.reasons import Reason
from acc.state.slots import SlotField
from acc.text.wording import split_line
from acc.turn.observations import Trust


def may_replace(new: Trust, old: Trust) -> bool:
    """Return whether an item with trust ``new`` may replace one with trust ``old`` (law 6).

    A tool may replace a tool's or an agent's item, a document only a document's. Any other source
    must be at least as trusted as the replaced item.
    """
    if new is Trust.TOOL:
        return old <= Trust.AGENT
    return new >= old


def place(draft: Draft, slot: SlotField, item: Item) -> None:
    """Add ``item``; if its subject is taken, replace the other item, keep it, or add a hypothesis.

    An item that this proposal retired counts too: a retirement must not bypass `may_replace`.
    """
    about = item.about
    held = next((i for i in draft.items[slot.name] if i.about == about), None)
    gone = (g.item for g in draft.set_aside if g.reason is Reason.MADE_ROOM and g.slot == slot.name)
    retired = next((i for i in gone if i.about == about), None)
    if held is None and retired is not None and not may_replace(item.trust, retired.trust):
        beside(draft, slot, item, retired)
    elif held is None:
        settle(draft, slot, item)
        draft.add(slot, item)
    elif (held.words == item.words and item.trust <= held.trust) or slot.binds(held):
        draft.change(slot, held)
        draft.note(Reason.DUPLICATE, slot.name, held)
    elif may_replace(item.trust, held.trust):
        draft.remove(slot, held, Reason.REPLACED, detail=f"now: {item.words[:200]}")
        settle(draft, slot, item)
        draft.add(slot, item)
    else:
        beside(draft, slot, item, held)


def settle(draft: Draft, slot: SlotField, item: Item) -> None:
    """Remove hypotheses on the subject of a settled ``item`` that it may replace."""
    if getattr(item, "status", "hypothesis") == "hypothesis":
        return
    for other in list(draft.items[slot.name]):
        same = (
            other.id != item.id and is_guess(other) and other.about[: len(item.about)] == item.about
        )
        if same and may_replace(item.trust, other.trust):
            draft.remove(slot, other, Reason.SETTLED, detail=item.words[:200])


def beside(draft: Draft, slot: SlotField, item: Item, held: Item) -> None:
    """Add ``item`` as a hypothesis beside ``held``, which it may not replace, and note the open question.

    In a slot without a status, ``item`` is refused.
    """
    doubt = f"{held.words} ({held.trust.word}) or {item.words} ({item.trust.word})?"
    if "status" in slot.item.own_fields():
        guess = item.model_copy(update={"status": "hypothesis"})
        known = next((i for i in draft.items[slot.name] if i.about == guess.about), None)
        if known is None:
            draft.add(slot, guess, Reason.BESIDE, detail=held.id)
        else:
            draft.note(Reason.BESIDE, slot.name, draft.change(slot, known), detail=held.id)
    else:
        draft.note(Reason.OUTRANKED, slot.name, text=item.words, detail=f"held: {held.id}")
    pieces = split_line(doubt, 320)
    gaps = next((s for s in draft.slots.values() if issubclass(s.item, Uncertainty)), None)
    if gaps is None or not pieces:
        return
    asked = {"gap": pieces[0], "sources": item.sources, "trust": item.trust}
    try:
        gap = gaps.item.model_validate(asked)
    except ValidationError:  # a domain's item type may require more fields than the question
        draft.note(Reason.MALFORMED, gaps.name, text=pieces[0])
        return
    if not any(i.about == gap.about for i in draft.items[gaps.name]):
        draft.add(gaps, gap)


def is_guess(item: Item) -> bool:
    """Return whether an item is a hypothesis."""
    return getattr(item, "status", "") == "hypothesis"
