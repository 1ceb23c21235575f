"""Laws 4 to 6: decide which proposed items are written, and with what trust."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from acc.commit.draft import Draft
from acc.commit.integrity import (
    Cited,
    Provenance,
    Sources,
    beside,
    is_guess,
    may_replace,
    place,
    settle,
)
from acc.commit.lifting import POINTS
from acc.commit.pinning import amend, carry, readings, rule, same_rule
from acc.state.items import Item, wire_field
from acc.state.proposal import ProposedItem
from acc.state.reasons import REFUSALS, Reason
from acc.state.slots import SlotField
from acc.text.clauses import governs
from acc.text.quoting import shortens
from acc.text.wording import bears, marks, repeats, split_line, stems, taken, vocabulary
from acc.turn.observations import Channel, Observation, Trust

FLOOD = 4
"""Maximum ratio of proposed items to a slot's places; further items are refused unread."""


def write(draft: Draft, proposed: Sequence[ProposedItem], sources: Sources) -> None:
    """Check and apply the ``proposed`` items in order; each item they mention counts as touched."""
    count: Counter[str] = Counter()
    for item in proposed:
        slot = draft.slots.get(item.slot)
        count[slot.name if slot else ""] += 1
        if slot is None and count[""] <= FLOOD:
            draft.note(Reason.UNKNOWN_SLOT, item.slot[:80], detail=str(item.fields)[:200])
        before = len(draft.notes)
        is_read = slot is not None and count[slot.name] <= FLOOD * slot.rules.max_items
        if slot is not None and is_read:
            _write_one(draft, slot, item, sources)
        if not is_read or any(note.reason in REFUSALS for note in draft.notes[before:]):
            draft.unjoined.update(item.cites)
    for name, named in count.items():
        most = FLOOD * draft.slots[name].rules.max_items if name else FLOOD
        if named > most:
            draft.note(Reason.FLOOD, name, detail=f"{named - most} of {named} items not read")


def _write_one(draft: Draft, slot: SlotField, proposed: ProposedItem, sources: Sources) -> None:
    cited, unknown = sources.resolve(proposed.cites)
    prior = _prior(draft, slot, proposed, cited)
    if prior is not None:
        unknown = [ref for ref in unknown if ref not in prior.sources]
    if unknown:
        draft.note(
            Reason.CITE_UNKNOWN,
            slot.name,
            text=_said(slot, proposed),
            detail=" ".join(unknown)[:200],
        )
    if prior is not None and slot.rules.quote and not prior.is_open:
        prior = None if _says_more(prior, proposed) else prior
    if prior is not None and slot.rules.quote:
        if prior.id != proposed.id or not _amended(draft, slot, prior, proposed, cited, sources):
            carry(draft, slot, prior, proposed, cited, sources)
    elif prior is not None:
        _update(draft, slot, prior, proposed, cited, sources)
    elif not cited:
        draft.note(Reason.UNCITED, slot.name, text=_said(slot, proposed))
    elif slot.rules.quote:
        _add_rule(draft, slot, proposed, cited, sources)
    else:
        _add(draft, slot, proposed, cited, sources)


def _amended(
    draft: Draft,
    slot: SlotField,
    prior: Item,
    proposed: ProposedItem,
    cited: Sequence[Cited],
    sources: Sources,
) -> bool:
    """Replace a rule or goal by what the user now says instead; return False if the old one stays alone.

    Fields that the proposal leaves out are those of the old item, except its words.
    """
    before = draft.saved(slot)
    kept = {
        n: getattr(prior, n) for n in slot.item.asked_fields() if n not in (prior.head, "quote")
    }
    proposed = proposed.model_copy(update={"fields": {**kept, **proposed.fields}})
    if not amend(draft, slot, prior, proposed, sources):
        return False
    held = {item.id for item in draft.items[slot.name]}
    _add_rule(draft, slot, proposed, cited, sources)
    new = [i for i in draft.items[slot.name] if i.id not in held and i.is_open]
    if not new:
        draft.restore(before)
        return False
    for item in new:
        draft.replaced[item.id] = prior
    return True


def _prior(
    draft: Draft, slot: SlotField, proposed: ProposedItem, cited: Sequence[Cited]
) -> Item | None:
    """Return the item that the proposal names by id or cites (law 7), or None.

    A new unpinned item may rest on a source and on a held item: it leaves the held item as it is.
    """
    if not proposed.id and not slot.rules.pinned and any(c.observation for c in cited):
        return None
    for item_id in (proposed.id, *(c.ref for c in cited if c.item is not None)):
        found = draft.find(item_id) if item_id else None
        if found is not None and found[0].name == slot.name:
            return found[1]
    return None


def _says_more(prior: Item, proposed: ProposedItem) -> bool:
    """Return whether the proposal changes a closed item's words or reopens it."""
    said = proposed.fields.get(prior.head, getattr(prior, prior.head))
    return said != getattr(prior, prior.head) or proposed.fields.get("done") is False


def _add_rule(
    draft: Draft, slot: SlotField, proposed: ProposedItem, cited: Sequence[Cited], sources: Sources
) -> None:
    ruling = rule(draft, slot, proposed, cited, sources)
    if ruling is None:
        return
    weight = Provenance(ruling.trust, ruling.sources, ruling.endorsed)
    source = ruling.quoted.source.observation
    if source is None:
        return
    open_items = [i for i in draft.items[slot.name] if i.is_open]
    own = [source.text, *sources.privileged_texts]
    spoken = _spoken(draft, slot, proposed, own, sources)
    read = readings(draft, slot, proposed, ruling.text, sources)
    fields = {**spoken, slot.item.head: ruling.text, "quote": ruling.quoted.text, **read}
    for item in _built(draft, slot, fields, source, weight):
        if same := same_rule(open_items, str(getattr(item, item.head))):
            draft.change(slot, same)
            draft.settle(same)
            draft.note(Reason.DUPLICATE, slot.name, same)
        else:
            open_items.append(draft.add(slot, item))


def _spoken(
    draft: Draft, slot: SlotField, proposed: ProposedItem, own: Sequence[str], sources: Sources
) -> dict[str, Any]:
    """Return a rule's fields without texts that only a tool or document said; labels of a closed set stay."""
    kept = dict(proposed.fields)
    for name, value in proposed.fields.items():
        if name not in slot.item.wire_fields() or name in ("quote", slot.item.head):
            continue
        is_label = "enum" in wire_field(slot.item, name)
        if isinstance(value, str) and not is_label and taken(value, own, sources.lower_texts):
            del kept[name]
            detail = f"{name}: {value[:200]}"
            draft.note(Reason.REPEATS_LOWER, slot.name, text=_said(slot, proposed), detail=detail)
    return kept


def _add(
    draft: Draft, slot: SlotField, proposed: ProposedItem, cited: Sequence[Cited], sources: Sources
) -> None:
    said = _said(slot, proposed)
    cited = _proposers(draft, slot, said, cited, sources)
    if not cited:
        return
    claim = _claim(slot, proposed.fields, slot.item.key)
    weight = _weighed(draft, slot, said, cited, sources, (), claim)
    source = next((c.observation for c in cited if c.observation is not None), None)
    if source is None:
        if not _only_shortens(said, proposed, [c.item for c in cited if c.item]):
            draft.note(
                Reason.UNCITED, slot.name, text=said, detail="says more than the items it cites"
            )
            return
        source = Observation(channel=Channel.DOCUMENT, text="", ref=weight.sources[0])
    for item in _built(draft, slot, proposed.fields, source, weight):
        place(draft, slot, item)


def _only_shortens(said: str, proposed: ProposedItem, held: Sequence[Item]) -> bool:
    """Return whether ``said`` only shortens the items' words, or joins such parts, each of one item."""
    parts = [part for part in _PARTS.split(said) if stems(part)]
    if not 0 < len(parts) <= MOST_PARTS:
        return False
    at = 0
    while at < len(parts):
        ends = range(len(parts), at, -1)
        runs = ((end, " ; ".join(parts[at:end])) for end in ends)
        at = next((e for e, run in runs if any(_is_of(run, i, proposed) for i in held)), 0)
        if not at:
            return False
    return True


def _is_of(part: str, item: Item, proposed: ProposedItem) -> bool:
    """Return whether ``part`` shortens ``item`` and keeps what it is about: its key, and what a pronoun points to."""
    apart = _SENTENCES if governs(item.words) else _PARTS
    texts = (item.words, *apart.split(item.words))
    text = next((text for text in texts if shortens(part, text)), None)
    if text is None:
        return False
    names = [str(getattr(item, name)) for name in item.key if len(item.key) > 1]
    there = [str(proposed.fields.get(name, getattr(item, name))) for name in item.key]
    key = "" if there == names else " ".join(names)
    opens = {each.split()[0] for each in (item.words, str(getattr(item, item.head)))}
    points_back = POINTS.search(part) and part.split()[0] not in opens
    return stems(key) <= stems(part) and not points_back


_PARTS = re.compile(r"(?<=[.;?!])\s+|;\s*")
_SENTENCES = re.compile(r"(?<=[.?!])\s+")

MOST_PARTS = 12
"""Maximum number of sentences and clauses of an item that joins others."""


def _weighed(
    draft: Draft,
    slot: SlotField,
    said: str,
    cited: Sequence[Cited],
    sources: Sources,
    held: Sequence[Item] = (),
    claim: str = "",
) -> Provenance:
    weight = sources.weigh(said, cited, held, claim)
    if weight.lowered_by:
        draft.note(Reason.LOWERED, slot.name, text=said, detail=f"repeats {weight.lowered_by}")
    if weight.endorsed:
        draft.note(Reason.ENDORSED, slot.name, text=said)
    return weight


def _proposers(
    draft: Draft, slot: SlotField, said: str, cited: Sequence[Cited], sources: Sources
) -> Sequence[Cited]:
    """Return the citations that may write to the slot; none if they only repeat lower sources."""
    if slot.rules.min_trust is Trust.DOCUMENT:
        return cited
    able = [c for c in cited if c.trust >= slot.rules.min_trust]
    if not able:
        draft.note(
            Reason.UNTRUSTED, slot.name, text=said, detail=f"needs {slot.rules.min_trust.word}"
        )
        return ()
    lower = sources.texts_below(slot.rules.min_trust)
    if slot.rules.ephemeral and sources.is_the_agents(said, lower):
        return able
    spoken = sources.own_words([c.observation for c in able if c.observation], lower)
    own = [*spoken, *sources.privileged_texts]
    is_theirs = taken(said, own, lower)
    invents = marks(said) - vocabulary(tuple(own)).marks or not bears(said, own, HALF)
    if not stems(said) or invents or is_theirs:
        repeats_them = is_theirs or any(repeats(said, text) for text in lower)
        draft.note(
            Reason.REPEATS_LOWER if repeats_them else Reason.UNCITED, slot.name, text=said,
            detail="" if repeats_them else "says what no cited source says",
        )  # fmt: skip
        return ()
    if len(able) < len(cited):
        draft.note(
            Reason.CITES_NARROWED, slot.name, text=said, detail=" ".join(c.ref for c in able)
        )
    return able


HALF = 1 / 2
"""Minimum share of an item's content words that its permitted proposers must have said themselves."""


def _update(
    draft: Draft,
    slot: SlotField,
    prior: Item,
    proposed: ProposedItem,
    cited: Sequence[Cited],
    sources: Sources,
) -> None:
    """Update an item by id, with the lower of the old and the new trust (law 6).

    If a more trusted source corrects the item, a new item replaces it.
    """
    changed = _changed(proposed, prior)
    if not changed:
        draft.change(slot, prior)
        draft.note(Reason.CARRIED, slot.name, prior)
        return
    kept = {name: getattr(prior, name) for name in slot.item.wire_fields()}
    proposed = proposed.model_copy(update={"fields": {**kept, **proposed.fields}})
    said = _said(slot, proposed)
    others = [c for c in cited if c.item is not None and c.item.id != prior.id]
    joined = [c.item for c in others if c.item is not None]
    shorter = _is_shorter(proposed, prior) or _only_shortens(said, proposed, [prior, *joined])
    seen = [] if shorter else [c for c in cited if c.observation is not None]
    if not seen and not shorter:
        draft.note(
            Reason.UNCITED, slot.name, prior, detail=f"{_what_is_wrong(said, prior)}: {said[:160]}"
        )
        return
    seen = list(_proposers(draft, slot, said, seen, sources)) if seen else []
    if not seen and not shorter:
        return
    # A pure shortening rests on the prior item, whatever the proposal cites.
    held = [prior, *joined]
    weight = (
        _least_weighed(
            draft,
            slot,
            proposed,
            changed,
            [*seen, *_told_by(said, prior, seen, others)],
            sources,
            held,
        )
        if seen
        else Provenance(min(i.trust for i in held), tuple(r for i in joined for r in i.sources))
    )
    if weight.trust < prior.trust and not seen:
        draft.note(Reason.OUTRANKED, slot.name, text=said, detail=f"held: {prior.id}")
        return
    source = seen[0].observation if seen else None
    source = source or Observation(
        channel=Channel.DOCUMENT, text="", ref=(prior.sources or ("",))[0]
    )
    built = _built(
        draft, slot, proposed.fields, source, weight._replace(trust=min(weight.trust, prior.trust))
    )
    if built:
        _put(draft, slot, prior, built[0], weight)


def _told_by(said: str, prior: Item, seen: Sequence[Cited], others: Sequence[Cited]) -> list[Cited]:
    """Return the cited items from which an update takes words that neither the item nor an observation has."""
    own = [prior.words, *(c.observation.text for c in seen if c.observation)]
    return [c for c in others if c.item is not None and taken(said, own, [c.item.words])]


def _least_weighed(
    draft: Draft,
    slot: SlotField,
    proposed: ProposedItem,
    changed: dict[str, Any],
    cited: Sequence[Cited],
    sources: Sources,
    held: Sequence[Item],
) -> Provenance:
    """Weigh an update as a whole, and what it changes alone: kept words must not hide a tool's word among them."""
    new, claim = _claim(slot, changed), _claim(slot, proposed.fields, slot.item.key)
    whole = _weighed(draft, slot, _said(slot, proposed), cited, sources, held, claim)
    alone = sources.weigh(new, cited, held) if stems(new) else whole
    if alone.trust >= whole.trust:
        return whole
    draft.note(Reason.LOWERED, slot.name, text=new, detail=f"repeats {alone.lowered_by}")
    return alone


def _claim(slot: SlotField, fields: Mapping[str, Any], subject: Collection[str] = ()) -> str:
    """Return the words of ``fields`` without labels of a closed set and without those of the ``subject``."""
    apart = {*subject, *slot.item.unseen}
    names = [n for n in fields if n in slot.item.wire_fields() and n not in apart]
    return " ".join(str(fields[n]) for n in names if "enum" not in wire_field(slot.item, n))


def _what_is_wrong(said: str, prior: Item) -> str:
    if stems(said) <= stems(prior.words) and marks(said) <= marks(prior.words):
        return "leaves out a part of a phrase; leave out whole phrases"
    return "adds words and cites no source"


def _put(draft: Draft, slot: SlotField, prior: Item, new: Item, weight: Provenance) -> None:
    """Replace ``prior`` with ``new``, unless ``new`` may not replace an item on its subject."""
    others = [i for i in draft.items[slot.name] if i.id != prior.id]
    rival = next((i for i in others if i.about == new.about), None)
    for held in filter(None, (prior if weight.sources else None, rival)):
        if not may_replace(weight.trust, held.trust):
            beside(draft, slot, new, held)
            return
    moved = new.about != prior.about or (is_guess(prior) and not is_guess(new))
    if moved and weight.trust > prior.trust:
        draft.remove(slot, prior, Reason.REPLACED, detail=f"now: {new.words[:200]}")
        place(draft, slot, new.model_copy(update={"trust": weight.trust}))
        return
    if rival is not None:
        draft.remove(slot, rival, Reason.REPLACED, detail=f"now: {new.words[:200]}")
    says = {name: getattr(new, name) for name in slot.item.own_fields()}
    trust = min(weight.trust, prior.trust)
    now = draft.change(slot, prior, **says, trust=trust, sources=weight.sources)
    settle(draft, slot, now)
    draft.note(Reason.UPDATED, slot.name, now, detail=f"was: {prior.words[:200]}")


def _is_shorter(proposed: ProposedItem, prior: Item) -> bool:
    """Return whether every changed field only shortens the old value (`acc.text.quoting.shortens`)."""
    return all(
        isinstance(value, str) and shortens(value, str(getattr(prior, name)))
        for name, value in _changed(proposed, prior).items()
    )


def _changed(proposed: ProposedItem, prior: Item) -> dict[str, Any]:
    return {k: v for k, v in proposed.fields.items() if v != getattr(prior, k, v)}


def _built(
    draft: Draft, slot: SlotField, fields: dict[str, Any], source: Observation, weight: Provenance
) -> list[Item]:
    """Build the items from ``fields``: one, several if a text is split, none if malformed."""
    wire = {k: v for k, v in fields.items() if k in slot.item.asked_fields()}
    settled = slot.item.settled(wire, source, weight.trust)
    for name in [n for n in wire if n in settled and n not in slot.item.computed]:
        if settled[name] != wire[name]:
            detail = f"{name}: {wire[name]} becomes {settled[name]}, by {weight.trust.word}"
            said = str(wire.get(slot.item.head, ""))
            draft.note(Reason.LOWERED, slot.name, text=said, detail=detail)
    standing = {"trust": weight.trust, "sources": weight.sources, "endorsed": weight.endorsed}
    try:
        return [slot.item(**settled, **standing)]
    except ValidationError as error:
        pieces = [] if slot.rules.quote else _split(slot, settled, error)
        if pieces:
            draft.note(Reason.SPLIT, slot.name, detail=f"{len(pieces)} pieces")
            return [slot.item(**piece, **standing) for piece in pieces]
        long = all(e["type"] == "string_too_long" for e in error.errors())
        problem = error.errors()[0]
        place = ".".join(str(p) for p in problem["loc"])
        draft.note(
            Reason.TOO_LONG if long else Reason.MALFORMED, slot.name,
            text=str(fields.get(slot.item.head, ""))[:200], detail=f"{place}: {problem['msg']}",
        )  # fmt: skip
        return []


def _split(slot: SlotField, fields: dict[str, Any], error: ValidationError) -> list[dict[str, Any]]:
    """Split an overlong text between words, if the field is part of the key.

    Quoted slots are not split: the second half of a prohibition could read as a permission.
    """
    long = {
        e["loc"][0]: e["ctx"]["max_length"]
        for e in error.errors()
        if e["type"] == "string_too_long"
    }
    name, limit = next(iter(long.items()), ("", 0))
    if len(long) != 1 or len(error.errors()) != 1 or name not in slot.item.key:
        return []
    return [{**fields, str(name): piece} for piece in split_line(str(fields[str(name)]), limit)]


def _said(slot: SlotField, proposed: ProposedItem) -> str:
    names = (n for n in slot.item.wire_fields() if n not in slot.item.unseen)
    return " ".join(str(proposed.fields[n]) for n in names if n in proposed.fields)
