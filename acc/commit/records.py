"""Facts, questions and other records: sources and trust are computed, never stated (law 5).

A lesser source never hides what user or operator said (law 6): their value stands beside as ``was``, or the lesser
one becomes an item of its own. Nothing is refused for its wording.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from acc.commit.draft import Draft
from acc.commit.sources import trust_of
from acc.state.items import LONGEST, Cue, Goal, Item, Pinned, Record, Was
from acc.state.proposal import Proposal, ProposedRecord
from acc.state.reasons import Reason
from acc.state.slots import SlotField, key_of
from acc.text.normal import normalised
from acc.turn.observations import Channel, Trust

MOST_SOURCES = 8
"""Maximum number of refs of a record: its first, its most and least trusted, and its latest."""


def write_records(draft: Draft, proposal: Proposal) -> None:
    """Bring back, drop, add and change records as proposed."""
    for item_id in proposal.keep:
        _keep(draft, item_id)
    for each in proposal.records:
        _write(draft, each)
    named = {each.id for each in proposal.records}
    for item_id in proposal.drop:
        if item_id not in named:
            _drop(draft, item_id, is_operator=proposal.author == "operator")
    for item_id in proposal.minor:
        name, item = draft.find(item_id) or ("", None)
        if isinstance(item, Record):
            draft.replace(name, item.model_copy(update={"minor": True}))
    if proposal.mode == "rewrite":
        _leave_out(draft)


def _keep(draft: Draft, item_id: str) -> None:
    """Count a record as used. One that left comes back."""
    name, item = draft.find(item_id) or ("", None)
    if isinstance(item, Record):
        draft.replace(name, item.model_copy(update=item.used(draft.turn)))
        return
    gone = next((each for each in draft.gone if each.id == item_id), None)
    if gone is None or gone.slot not in draft.slots:
        return
    draft.gone.remove(gone)
    item = draft.slots[gone.slot].item.model_validate_json(gone.data)
    if isinstance(item, Record):
        draft.items[gone.slot].append(item.model_copy(update=item.used(draft.turn)))
        draft.note(Reason.ADDED, item.id, item.text_of, "brought back")


def _write(draft: Draft, each: ProposedRecord) -> None:
    if any(gone.id == each.id for gone in draft.gone):
        _keep(draft, each.id)
    name, held = (draft.find(each.id) if each.id else None) or ("", None)
    if held is None and (found := _keyed(draft, each)) is not None:
        name, held = each.slot, found
        if each.id:
            draft.labels.setdefault(each.id, found.id)
    if isinstance(held, Record):
        _change(draft, name, held, each)
    else:
        _add(draft, each, each.id)


def _keyed(draft: Draft, each: ProposedRecord) -> Record | None:
    """Return the held record that is about the same by its key, rather one that the sources may replace."""
    names = key_of(draft.slots[each.slot].item)
    wanted = [normalised(str(each.fields.get(name, ""))) for name in names]
    if not names or not all(wanted):
        return None
    held = [
        item
        for item in draft.records(each.slot)
        if [normalised(str(getattr(item, name))) for name in names] == wanted
    ]
    best = _best(_resolved(draft, each.refs))
    return next((item for item in held if item.trust <= best), next(iter(held), None))


def _add(draft: Draft, each: ProposedRecord, label: str) -> None:
    slot = draft.slots[each.slot]
    sources, _ = _rested(draft, each.fields, _cited(draft, each))
    record = _made(draft, slot, each.fields, sources)
    if record is None:
        return
    said = normalised(record.text_of)
    for held in draft.records(each.slot):
        is_same = normalised(held.text_of) == said
        if is_same and not draft.sources.raises(held.text_of, record.sources, held.trust):
            draft.replace(each.slot, held.model_copy(update=held.used(draft.turn)))
            if each.id:
                draft.labels.setdefault(each.id, held.id)
            draft.note(Reason.KNOWN, held.id, held.text_of)
            return
    update = {"id": draft.new_id(slot, label), "turn": draft.turn, "touched": draft.turn}
    record = record.model_copy(update=update)
    draft.items[each.slot].append(record)
    draft.note(Reason.ADDED, record.id, record.text_of)


def _change(draft: Draft, name: str, held: Record, each: ProposedRecord) -> None:
    """Replace or rewrite a held record. Without new sources it is a rewriting and keeps its own."""
    slot = draft.slots[name]
    fields = {n: getattr(held, n) for n in type(held).own_fields()} | dict(each.fields)
    said = {n: normalised(str(getattr(held, n, ""))) for n in each.fields}
    new = {n: value for n, value in each.fields.items() if normalised(str(value)) != said[n]}
    sources, best = _rested(draft, new, _resolved(draft, each.refs) or held.sources)
    record = _made(draft, slot, fields, sources)
    if record is None:
        return
    lost = _lost(held.text_of, record.text_of)
    hides = bool(lost) and best < held.trust
    if hides and (slot.rules.lesser == "beside" or best is Trust.DOCUMENT):
        _add(draft, each, "")
        return
    if not lost:
        record = _made(draft, slot, fields, _joined((*held.sources, *sources))) or record
    record = _with_was(held, record, best, lost if hides else "")
    update = {"id": held.id, "turn": held.turn, **held.used(draft.turn)}
    draft.replace(name, record.model_copy(update=update))
    draft.note(Reason.UPDATED, held.id, record.text_of)


def _rested(
    draft: Draft, fields: Mapping[str, Any], cited: tuple[str, ...]
) -> tuple[tuple[str, ...], Trust]:
    """Return what a record rests on, and the trust of the best of it.

    A sentence whose words stand in a tool's or document's text, and in no cited message of user or operator, is that
    tool's or document's, whatever is cited.
    """
    lesser = draft.sources.lesser(
        (v[:LONGEST] for v in fields.values() if isinstance(v, str)), cited
    )
    if not lesser:
        return cited, _best(cited)
    theirs = tuple(ref for ref in cited if trust_of(ref) < Trust.USER)
    return _joined((*cited, *lesser)), _best((*theirs, *lesser))


def _with_was(held: Record, record: Record, best: Trust, lost: str) -> Record:
    """Keep what user or operator said and the new value lacks beside it, until somebody as trusted speaks."""
    was = held.was
    if was is not None and best >= was.trust:
        was = None
    if was is None and lost and held.trust >= Trust.USER:
        was = Was(text=lost, trust=held.trust)
    if was is not None and not _lost(was.text, record.text_of):
        was = None
    return record.model_copy(update={"was": was})


_CLAUSE = re.compile(r"(?<=[;,.])\s+")
_WORD = re.compile(r"\w+(?:[.,:/-]\w+)*")


def _lost(old: str, new: str) -> str:
    """Return the clauses of ``old`` that have a word which ``new`` lacks; empty if ``new`` says all of it."""
    said = set(_WORD.findall(normalised(new)))
    clauses = _CLAUSE.split(old)
    return " ".join(c for c in clauses if not said.issuperset(_WORD.findall(normalised(c))))


def _made(
    draft: Draft, slot: SlotField, fields: Mapping[str, Any], sources: tuple[str, ...]
) -> Record | None:
    """Return a record of these fields, or None with a note if they do not make one."""
    of, said = slot.rules.key, str(dict(fields))[:80]
    cut = {name: _cut(draft, value) for name, value in fields.items()}
    trust = min(map(trust_of, sources), default=Trust.DOCUMENT)
    if trust < slot.rules.least:
        detail = f"it rests on {trust.word}, and {of} needs {slot.rules.least.word}"
        draft.note(Reason.UNTRUSTED, text=said, detail=detail, of=of)
        return None
    try:
        record = slot.item.model_validate({**cut, "sources": sources, "trust": trust})
    except ValidationError as error:
        first = error.errors()[0]
        detail = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        draft.note(Reason.MALFORMED, text=said, detail=detail, of=of)
        return None
    if isinstance(record, Record) and record.text_of:
        return record
    draft.note(Reason.MALFORMED, detail="it says nothing", of=of)
    return None


def _cut(draft: Draft, value: Any) -> Any:
    if not isinstance(value, str) or len(value) <= LONGEST:
        return value
    draft.note(Reason.SHORTENED, text=value[:80], detail=f"{len(value)} characters, {LONGEST} kept")
    return value[: LONGEST - 6].rstrip() + " [...]"


def _cited(draft: Draft, each: ProposedRecord) -> tuple[str, ...]:
    """Return the refs of a new record.

    Where nothing that is cited exists, everything that was read is cited: the words came from there.
    """
    if found := _resolved(draft, each.refs):
        return found
    draft.note(Reason.UNCITED, text=str(dict(each.fields))[:80], of=each.slot)
    return _joined([message.ref for message in draft.sources.messages])


def _resolved(draft: Draft, written: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of the cited refs that exist: read now, or sources of a held item. An item stands for its own."""
    refs: list[str] = []
    held = {ref for items in draft.items.values() for item in items for ref in _sources(item)}
    for each in written:
        if draft.sources.has(each) or each in held:
            refs.append(each)
        elif (item := draft.find(each)) is not None:
            refs += _sources(item[1])
    return _joined(refs)


def _sources(item: Item) -> tuple[str, ...]:
    if isinstance(item, Record):
        return item.sources
    return (item.words.ref,) if isinstance(item, Pinned | Cue) else ()


def _best(refs: tuple[str, ...]) -> Trust:
    """Return the trust of the best source. A ref's first letter is that of its channel."""
    return max(map(trust_of, refs), default=Trust.DOCUMENT)


def _joined(refs: Sequence[str]) -> tuple[str, ...]:
    """Return each ref once; of too many the first, the most and the least trusted, and the latest."""
    unique = tuple(dict.fromkeys(refs))
    if len(unique) <= MOST_SOURCES:
        return unique
    best, least = max(unique, key=trust_of), min(unique, key=trust_of)
    return tuple(dict.fromkeys((unique[0], best, least, *unique[3 - MOST_SOURCES :])))


def _drop(draft: Draft, item_id: str, *, is_operator: bool) -> None:
    """Remove an item. Of rules and goals a compressor drops only a goal that is over, once it was shown so."""
    name, item = draft.find(item_id) or ("", None)
    if item is None:
        return  # what is gone already needs no note
    if isinstance(item, Pinned) and not is_operator:
        if not isinstance(item, Goal) or item.done is None:
            why = "only its speaker's words end it"
            draft.note(Reason.UNTRUSTED, item_id, detail=why, of="drop")
            return
        is_over = item.is_closed or item.words.channel is Channel.USER
        if not is_over or not item.done_before(draft.turn):
            return
    draft.remove(name, item)
    draft.note(Reason.DROPPED, item.id, item.text_of)


def _leave_out(draft: Draft) -> None:
    """In mode ``rewrite``, records that the proposal did not write again leave."""
    for name in draft.slots:
        for item in draft.records(name):
            if item.touched < draft.turn:
                draft.remove(name, item)
                draft.note(Reason.DROPPED, item.id, item.text_of, "the rewriting left it out")
