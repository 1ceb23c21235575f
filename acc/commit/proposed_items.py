"""Laws 4 to 6: decide which proposed items are written, and with what trust."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from acc.commit.attempt import Attempt
from acc.commit.draft import Draft
from acc.commit.integrity import Cited, Provenance, Sources
from acc.commit.lifting import POINTS
from acc.commit.pinning import amend, carry
from acc.commit.placing import beside, is_guess, may_replace, place, settle
from acc.commit.ruling import readings, rule
from acc.state.items import Item, wire_field
from acc.state.proposal import ProposedItem
from acc.state.reasons import REFUSALS, Reason
from acc.state.slots import SlotField
from acc.text.clauses import governs
from acc.text.quoting import shortens
from acc.text.same_words import same_words
from acc.text.wording import bears, marks, repeats, stems, taken, vocabulary
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
    attempt = Attempt(draft, slot, proposed, cited, sources)
    prior = _prior(attempt)
    if prior is not None:
        unknown = [ref for ref in unknown if ref not in prior.sources]
    if unknown:
        attempt.note(Reason.CITE_UNKNOWN, " ".join(unknown)[:200])
    if prior is not None and slot.rules.quote and not prior.is_open:
        prior = None if _says_more(prior, proposed) else prior
    if prior is not None and slot.rules.quote:
        if prior.id != proposed.id or not _amended(attempt, prior):
            carry(attempt, prior)
    elif prior is not None:
        _update(attempt, prior)
    elif not cited:
        attempt.note(Reason.UNCITED)
    elif slot.rules.quote:
        _add_rule(attempt)
    else:
        _add(attempt)


def _amended(attempt: Attempt, prior: Item) -> bool:
    """Replace a rule or goal by what the user now says instead; return False if the old one stays alone.

    Fields that the proposal leaves out are those of the old item, except its words.
    """
    draft, slot = attempt.draft, attempt.slot
    before = draft.saved(slot)
    kept = [name for name in slot.item.asked_fields() if name not in (prior.head, "quote")]
    attempt = attempt.with_fields({name: getattr(prior, name) for name in kept})
    if not amend(attempt, prior):
        return False
    held = {item.id for item in draft.items[slot.name]}
    _add_rule(attempt)
    new = [i for i in draft.items[slot.name] if i.id not in held and i.is_open]
    if not new:
        draft.restore(before)
        return False
    for item in new:
        draft.replaced[item.id] = prior
    return True


def _prior(attempt: Attempt) -> Item | None:
    """Return the item that the proposal names by id or cites (law 7), or None.

    A new unpinned item may rest on a source and on a held item: it leaves the held item as it is.
    """
    _, slot, proposed, cited, _ = attempt
    if not proposed.id and not slot.rules.pinned and any(c.observation for c in cited):
        return None
    for item_id in (proposed.id, *(c.ref for c in cited if c.item is not None)):
        found = attempt.draft.find(item_id) if item_id else None
        if found is not None and found[0].name == slot.name:
            return found[1]
    return None


def _says_more(prior: Item, proposed: ProposedItem) -> bool:
    """Return whether the proposal changes a closed item's words or reopens it."""
    held = getattr(prior, prior.head)
    return proposed.fields.get(prior.head, held) != held or proposed.fields.get("done") is False


def _add_rule(attempt: Attempt) -> None:
    draft, slot = attempt.draft, attempt.slot
    ruling = rule(attempt)
    source = ruling.quoted.source.observation if ruling is not None else None
    if ruling is None or source is None:
        return
    weight = Provenance(ruling.trust, ruling.sources, ruling.endorsed)
    open_items = [i for i in draft.items[slot.name] if i.is_open]
    spoken = _spoken(attempt, [source.text, *attempt.sources.privileged_texts])
    read = readings(attempt, ruling.text)
    fields = {**spoken, slot.item.head: ruling.text, "quote": ruling.quoted.text, **read}
    for item in attempt.built(fields, source, weight):
        same = next(
            (held for held in open_items if same_words(held.head_text, item.head_text)), None
        )
        if same:
            draft.change(slot, same)
            draft.settle(same)
            draft.note(Reason.DUPLICATE, slot.name, same)
        else:
            open_items.append(draft.add(slot, item))


def _spoken(attempt: Attempt, own: Sequence[str]) -> dict[str, Any]:
    """Return a rule's fields without texts that only a tool or document said; labels of a closed set stay."""
    item, lower = attempt.slot.item, attempt.sources.lower_texts
    kept = dict(attempt.proposed.fields)
    for name, value in attempt.proposed.fields.items():
        if name not in item.wire_fields() or name in ("quote", item.head):
            continue
        is_label = "enum" in wire_field(item, name)
        if isinstance(value, str) and not is_label and taken(value, own, lower):
            del kept[name]
            attempt.note(Reason.REPEATS_LOWER, f"{name}: {value[:200]}")
    return kept


def _add(attempt: Attempt) -> None:
    cited = _proposers(attempt, attempt.cited)
    if not cited:
        return
    fields = attempt.proposed.fields
    claim = attempt.claim(fields, attempt.slot.item.key)
    weight = _weighed(attempt, cited, (), claim)
    source = next((c.observation for c in cited if c.observation is not None), None)
    if source is None:
        if not _only_shortens(attempt, [c.item for c in cited if c.item]):
            attempt.note(Reason.UNCITED, "says more than the items it cites")
            return
        source = Observation(channel=Channel.DOCUMENT, text="", ref=weight.sources[0])
    for item in attempt.built(fields, source, weight):
        place(attempt.draft, attempt.slot, item)


def _only_shortens(attempt: Attempt, held: Sequence[Item]) -> bool:
    """Return whether the item only shortens the ``held`` items' words, or joins such parts, each of one item."""
    parts = [part for part in _PARTS.split(attempt.said) if stems(part)]
    if not 0 < len(parts) <= MOST_PARTS:
        return False
    at = 0
    while at < len(parts):
        ends = range(len(parts), at, -1)
        runs = ((end, " ; ".join(parts[at:end])) for end in ends)
        at = next((e for e, run in runs if any(_is_of(run, i, attempt.proposed) for i in held)), 0)
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
    opens = {each.split()[0] for each in (item.words, item.head_text)}
    points_back = POINTS.search(part) and part.split()[0] not in opens
    return stems(key) <= stems(part) and not points_back


_PARTS = re.compile(r"(?<=[.;?!])\s+|;\s*")
_SENTENCES = re.compile(r"(?<=[.?!])\s+")

MOST_PARTS = 12
"""Maximum number of sentences and clauses of an item that joins others."""


def _weighed(
    attempt: Attempt, cited: Sequence[Cited], held: Sequence[Item], claim: str
) -> Provenance:
    weight = attempt.sources.weigh(attempt.said, cited, held, claim)
    if weight.lowered_by:
        attempt.note(Reason.LOWERED, f"repeats {weight.lowered_by}")
    if weight.endorsed:
        attempt.note(Reason.ENDORSED)
    return weight


def _proposers(attempt: Attempt, cited: Sequence[Cited]) -> Sequence[Cited]:
    """Return the citations that may write to the slot; none if they only repeat lower sources."""
    rules, said, sources = attempt.slot.rules, attempt.said, attempt.sources
    if rules.min_trust is Trust.DOCUMENT:
        return cited
    able = [c for c in cited if c.trust >= rules.min_trust]
    if not able:
        attempt.note(Reason.UNTRUSTED, f"needs {rules.min_trust.word}")
        return ()
    lower = sources.texts_below(rules.min_trust)
    if rules.ephemeral and sources.is_the_agents(said, lower):
        return able
    spoken = sources.own_words([c.observation for c in able if c.observation], lower)
    own = [*spoken, *sources.privileged_texts]
    is_theirs = taken(said, own, lower)
    invents = marks(said) - vocabulary(tuple(own)).marks or not bears(said, own, HALF)
    if not stems(said) or invents or is_theirs:
        if is_theirs or any(repeats(said, text) for text in lower):
            attempt.note(Reason.REPEATS_LOWER)
        else:
            attempt.note(Reason.UNCITED, "says what no cited source says")
        return ()
    if len(able) < len(cited):
        attempt.note(Reason.CITES_NARROWED, " ".join(c.ref for c in able))
    return able


HALF = 1 / 2
"""Minimum share of an item's content words that its permitted proposers must have said themselves."""


def _update(attempt: Attempt, prior: Item) -> None:
    """Update an item by id, with the lower of the old and the new trust (law 6).

    If a more trusted source corrects the item, a new item replaces it.
    """
    draft, slot, proposed, cited, _ = attempt
    changed = _changed(proposed, prior)
    if not changed:
        draft.change(slot, prior)
        draft.note(Reason.CARRIED, slot.name, prior)
        return
    attempt = attempt.with_fields({name: getattr(prior, name) for name in slot.item.wire_fields()})
    others = [c for c in cited if c.item is not None and c.item.id != prior.id]
    joined = [c.item for c in others if c.item is not None]
    held = [prior, *joined]
    shorter = _is_shorter(changed, prior) or _only_shortens(attempt, held)
    # A pure shortening rests on the prior item, whatever the proposal cites.
    seen: Sequence[Cited] = [] if shorter else [c for c in cited if c.observation is not None]
    if not (seen or shorter):
        wrong = f"{_what_is_wrong(attempt.said, prior)}: {attempt.said[:160]}"
        draft.note(Reason.UNCITED, slot.name, prior, detail=wrong)
        return
    if seen:
        seen = _proposers(attempt, seen)
        if not seen:
            return
        told = _told_by(attempt.said, prior, seen, others)
        weight = _least_weighed(attempt, changed, [*seen, *told], held)
    else:
        refs = tuple(ref for item in joined for ref in item.sources)
        weight = Provenance(min(item.trust for item in held), refs)
        if weight.trust < prior.trust:
            attempt.note(Reason.OUTRANKED, f"held: {prior.id}")
            return
    source = seen[0].observation if seen else None
    if source is None:
        source = Observation(channel=Channel.DOCUMENT, text="", ref=(*prior.sources, "")[0])
    by = weight._replace(trust=min(weight.trust, prior.trust))
    if built := attempt.built(attempt.proposed.fields, source, by):
        _put(attempt, prior, built[0], weight)


def _told_by(said: str, prior: Item, seen: Sequence[Cited], others: Sequence[Cited]) -> list[Cited]:
    """Return the cited items from which an update takes words that neither the item nor an observation has."""
    own = [prior.words, *(c.observation.text for c in seen if c.observation)]
    return [c for c in others if c.item is not None and taken(said, own, [c.item.words])]


def _least_weighed(
    attempt: Attempt, changed: Mapping[str, Any], cited: Sequence[Cited], held: Sequence[Item]
) -> Provenance:
    """Weigh an update as a whole, and what it changes alone: kept words must not hide a tool's word among them."""
    new = attempt.claim(changed)
    whole = _weighed(
        attempt, cited, held, attempt.claim(attempt.proposed.fields, attempt.slot.item.key)
    )
    alone = attempt.sources.weigh(new, cited, held) if stems(new) else whole
    if alone.trust >= whole.trust:
        return whole
    attempt.note(Reason.LOWERED, f"repeats {alone.lowered_by}", new)
    return alone


def _what_is_wrong(said: str, prior: Item) -> str:
    if stems(said) <= stems(prior.words) and marks(said) <= marks(prior.words):
        return "leaves out a part of a phrase; leave out whole phrases"
    return "adds words and cites no source"


def _put(attempt: Attempt, prior: Item, new: Item, weight: Provenance) -> None:
    """Replace ``prior`` with ``new``, unless ``new`` may not replace an item on its subject."""
    draft, slot = attempt.draft, attempt.slot
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


def _changed(proposed: ProposedItem, prior: Item) -> dict[str, Any]:
    return {k: v for k, v in proposed.fields.items() if v != getattr(prior, k, v)}


def _is_shorter(changed: Mapping[str, Any], prior: Item) -> bool:
    """Return whether every changed field only shortens the old value (`acc.text.quoting.shortens`)."""
    return all(
        isinstance(value, str) and shortens(value, str(getattr(prior, name)))
        for name, value in changed.items()
    )
