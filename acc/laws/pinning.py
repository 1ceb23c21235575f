"""Laws 6 and 7: rules and goals are made, carried on and retired by quoted words alone."""

from __future__ import annotations

from collections.abc import Sequence

from acc.compress import ProposedItem, Retirement
from acc.items import Goal, Item
from acc.laws.draft import Draft
from acc.laws.integrity import Cited, Quoted, Sources, find_quoted
from acc.laws.reasons import Reason
from acc.slots import SlotField
from acc.state import Lifted
from acc.turn import Channel, Trust
from acc.wording import borne_out, is_assent, is_negative, marks, overlap, stems

SAME_RULE = 0.75
"""Overlap of stems from which two rules of one polarity are the same rule."""


class Ruling:
    """A proposed rule or goal that may be written: its words, quote, trust and sources."""

    def __init__(self, text: str, quoted: Quoted, trust: Trust, sources: tuple[str, ...]) -> None:
        self.text = text
        self.quote = quoted.text
        self.trust = trust
        self.sources = sources


def retire(draft: Draft, retirements: Sequence[Retirement], sources: Sources) -> None:
    """Apply ``retirements``: pinned items need a cited, quoted, trusted word of this turn.

    Setting an unpinned item aside to make room needs no reason.
    """
    for wanted in retirements:
        found = draft.find(wanted.id)
        if found is None:
            draft.note(Reason.UNKNOWN_ITEM, detail=f"retire {wanted.id or 'nothing'}")
            continue
        slot, item = found
        if not (slot.rules.pinned and item.is_open):
            draft.remove(slot, item, Reason.RETIRED)
        else:
            _retire_pinned(draft, slot, item, wanted, sources)


def _retire_pinned(
    draft: Draft, slot: SlotField, item: Item, wanted: Retirement, sources: Sources
) -> None:
    cited, _ = sources.resolve(wanted.cites)
    trusted = [c for c in cited if c.fresh and c.trust >= item.trust]
    if not trusted:
        reason = Reason.UNTRUSTED if cited else Reason.UNCITED
        draft.note(reason, slot.name, item, detail=f"retire needs {item.trust.word} of this turn")
    elif not wanted.quote:
        draft.note(Reason.QUOTE_MISSING, slot.name, item, detail="retire")
    elif (quoted := find_quoted(wanted.quote, trusted)) is None:
        draft.note(Reason.QUOTE_NOT_FOUND, slot.name, item, detail=f"retire: {wanted.quote[:200]}")
    else:
        because = quoted.text[:480]
        draft.remove(slot, item, Reason.RETIRED, detail=f"{quoted.source.ref}: {because}")
        draft.lifted.append(Lifted(text=str(getattr(item, item.head)), because=because))


def carry(
    draft: Draft, slot: SlotField, item: Item, proposed: ProposedItem, cited: Sequence[Cited]
) -> None:
    """What a proposal may do to a pinned item: mention it, or mark a goal done."""
    said = proposed.fields.get(item.head)
    if isinstance(said, str) and said.strip() and said.strip() != getattr(item, item.head):
        draft.note(Reason.PIN_RESTORED, slot.name, item, detail=f"proposed: {said[:200]}")
    finishes = isinstance(item, Goal) and proposed.fields.get("done") is True
    workers = [c for c in cited if c.fresh and c.trust >= Trust.AGENT]
    if finishes and workers:
        draft.change(slot, item, done=True, sources=(workers[0].ref,))
        draft.note(Reason.DONE, slot.name, item, detail=workers[0].ref)
        return
    if finishes:
        draft.note(Reason.UNTRUSTED, slot.name, item, detail="done needs the agent's or user's word")
    draft.change(slot, item)
    draft.note(Reason.CARRIED, slot.name, item)


def rule(
    draft: Draft, slot: SlotField, proposed: ProposedItem, cited: Sequence[Cited], sources: Sources
) -> Ruling | None:
    """Judge a new rule or goal: a trusted observation of this turn, and a quote found in it.

    Where the wording is not borne out by the quoted observation, the source's own words
    take its place: a rule is never refused for its wording.
    """
    endorsed = sources.endorsed(cited)
    makers = [c for c in cited if c.fresh and c.trust >= slot.rules.write]
    if not makers:
        old = any(c.trust >= slot.rules.write for c in cited)
        _refuse(draft, slot, proposed, Reason.NOT_THIS_TURN if old else Reason.UNTRUSTED)
        return None
    quote = str(proposed.fields.get("quote") or "")
    if not quote.strip():
        _refuse(draft, slot, proposed, Reason.QUOTE_MISSING)
        return None
    replies = [c for c in cited if endorsed and c.observation and c.observation.channel is Channel.AGENT]
    quoted = find_quoted(quote, [*makers, *replies])
    if quoted is None:
        _refuse(draft, slot, proposed, Reason.QUOTE_NOT_FOUND, quote[:200])
        return None
    said = str(proposed.fields.get(slot.item.head) or quote)
    if replies and sources.weigh(f"{said} {quoted.text}", replies).trust < Trust.AGENT:
        _refuse(draft, slot, proposed, Reason.ENDORSES_LOWER)
        return None
    kept = [c for c in cited if c in (quoted.source, *(makers if replies else ()), *replies)]
    if len(kept) < len(cited):
        draft.note(Reason.CITES_NARROWED, slot.name, text=said, detail=" ".join(c.ref for c in kept))
    if replies:
        draft.note(Reason.ENDORSED, slot.name, text=said)
    text = _worded(draft, slot, said, quoted, [c.observation.text for c in replies if c.observation], sources)
    if text is None:
        _refuse(draft, slot, proposed, Reason.QUOTE_NOT_FOUND, "an assent alone is no rule")
        return None
    trust = Trust.USER if replies else quoted.source.trust
    return Ruling(text, quoted, trust, tuple(c.ref for c in kept))


def _worded(
    draft: Draft, slot: SlotField, said: str, quoted: Quoted, replies: list[str], sources: Sources
) -> str | None:
    observed = quoted.source.observation.text if quoted.source.observation else ""
    own = (observed, *replies, *sources.privileged_texts)
    if borne_out(said, own, sources.lower_texts) and is_negative(said) == is_negative(quoted.text):
        return said
    if is_assent(quoted.text) and len(stems(quoted.text)) < 2:
        return None
    draft.note(Reason.USERS_WORDS, slot.name, text=said)
    return quoted.text


def same_rule(items: Sequence[Item], text: str) -> Item | None:
    """The item among ``items`` that says what ``text`` says, in the same or nearly the same words."""
    for item in items:
        held = str(getattr(item, item.head))
        if held.casefold() == text.casefold():
            return item
        alike = overlap(stems(held), stems(text)) >= SAME_RULE and marks(held) == marks(text)
        if alike and is_negative(held) == is_negative(text):
            return item
    return None


def _refuse(
    draft: Draft, slot: SlotField, proposed: ProposedItem, reason: Reason, detail: str = ""
) -> None:
    draft.note(reason, slot.name, text=str(proposed.fields.get(slot.item.head, "")), detail=detail)
