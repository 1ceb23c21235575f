"""Fills a domain's own slots as far as their declaration allows: by examples, cues and records.

``min_trust`` decides who may write to a slot: with ``min_trust=Trust.USER`` only the user.
Documents and pasted texts are not read here. Recall may return them, and a model may cite them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from pydantic import ValidationError

from acc.keyless.acts import acts
from acc.keyless.domain_cues import (
    has_cue,
    of_line,
    of_record,
    read_by_cue,
    records_in,
    shapes_of,
)
from acc.keyless.domain_matching import Found, Sought, found_by
from acc.keyless.domain_patterns import BE, Pattern, is_reported, patterns
from acc.keyless.domain_shapes import NEGATORS, SINGLE, is_shape
from acc.keyless.earlier import is_data
from acc.keyless.lookalikes import DISCLAIMER, REFUSED, is_fancy, is_past_or_fancy, is_question
from acc.keyless.reading import Said, TurnReading
from acc.keyless.room import Room
from acc.keyless.sentences import both_ends, plain, sentences
from acc.keyless.words import forms, words_in
from acc.state.items import Item
from acc.state.model import CompressedCognitiveState
from acc.state.slots import Example, SlotField
from acc.turn.observations import Observation, Trust

MOST_SENTENCES = 40
"""Maximum sentences read per speaker, half from each end."""

MOST_LINES = 60
"""Maximum lines read of a tool's output."""

LONGEST_CUED = 8
"""Maximum words of a tool's line for reading by cue. A longer line is about many things."""

NOT_MEANT = 0.6
"""Probability from which a sentence counts as a question, hypothetical, reported or a joke."""

_PERMITS = re.compile(
    r"\b(?:you|we|agents?|everybody|anybody) (?:may|can|must|should|shall|have to|need to)\b|"
    r"\b(?:never|always|do not|don't|approved|allowed|permitted|forbidden)\b",
    re.I,
)
"""Another person's permissions and orders are no findings either."""

_NAMES = re.compile(r"(?!\d{4}-\d\d-\d\d\b|\d{1,2}:\d\d\b)(?:[^\"'“”]|(?<=\w)'(?=\w))+$")
"""A head is a name: no time, and no part of a quotation."""


class Told(NamedTuple):
    """An item of a slot as somebody said it.

    Attributes:
        fields: Its values by field; several heads if the words list them.
        fixed: Choices that the words only imply.
        reads: Whether the words state nothing beyond the implied choices.
        ref: Ref of the observation.
        quote: The words, verbatim.
    """

    fields: Mapping[str, tuple[str, ...]]
    fixed: Mapping[str, Any]
    reads: bool
    ref: str
    quote: str


def fill_slots(reading: TurnReading, room: Room) -> None:
    """Propose items for the slots that the state's schema adds to the generic ones."""
    own = _own(tuple(reading.slots.values()))
    heard = tuple(_heard(reading)) if own else ()
    for slot in own:
        for trust, ref, sought in heard:
            if slot.rules.min_trust <= trust:
                found = [told for told in _told(slot, ref, sought) if _is_of_one(slot, told)]
                for told in found:
                    _propose(slot, told, room)
                if trust >= Trust.USER and not found:
                    _end(slot, ref, sought, room)
        for tool in reading.tools if slot.rules.min_trust <= Trust.TOOL else ():
            for record in records_in(tool.text):
                _propose(slot, Told(of_record(slot, record), {}, False, tool.ref, ""), room)


def _heard(reading: TurnReading) -> Iterator[tuple[Trust, str, Sought]]:
    """The texts to read, with their trust and ref."""
    for said in filter(_is_meant, both_ends(reading.user, MOST_SENTENCES)):
        yield Trust.USER, said.ref, Sought.of(said.text, said.words, terse=False)
    outside = _outside_records(reading.agent)
    for said in filter(_is_asserted, both_ends(outside, MOST_SENTENCES)):
        yield Trust.AGENT, said.ref, Sought.of(said.text, said.words, terse=False)
    for tool in reading.tools:
        for line in _lines(tool):
            yield Trust.TOOL, tool.ref, Sought.of(line, plain(line), terse=True)


@lru_cache(maxsize=64)
def _own(slots: tuple[SlotField, ...]) -> tuple[SlotField, ...]:
    """Slots that the user may write to and that no other rule fills."""
    generic = CompressedCognitiveState.slots()
    return tuple(s for s in slots if s.name not in generic and s.rules.min_trust <= Trust.USER)


def unread_examples(slot: SlotField) -> list[Example]:
    """The examples of a slot that the rules do not turn into their item."""
    return [example for example in slot.rules.examples if not _is_read(slot, example)]


def _is_read(slot: SlotField, example: Example) -> bool:
    wanted = {name: str(value).casefold() for name, value in example.fields}
    made = (
        {**told.fixed, **{name: texts[0] for name, texts in told.fields.items()}}
        for said in sentences(example.text, MOST_SENTENCES)
        for told in _told(slot, "", Sought.of(said.text, plain(said.text), terse=False))
    )
    return any(wanted == {name: str(v).casefold() for name, v in one.items()} for one in made)


_RECORD = re.compile(r"\{\s*[\"']")


def _outside_records(said: tuple[Said, ...]) -> tuple[Said, ...]:
    """The sentences that are in no JSON object: its values belong to its own key, and the tool's text has it."""
    outside, ref, depth = [], "", 0
    for each in said:
        depth = depth if each.ref == ref else 0
        ref = each.ref
        if depth or _RECORD.search(each.text):
            depth = max(0, depth + each.text.count("{") - each.text.count("}"))
        else:
            outside.append(each)
    return tuple(outside)


def _is_meant(said: Said) -> bool:
    """Whether the user states something: no question, hypothesis, past or joke.

    Patterns with reported speech in their examples handle the words of others.
    """
    if (
        is_question(said.words, said.asks)
        or is_past_or_fancy(said.words)
        or DISCLAIMER.search(said.after)
    ):
        return False
    odds = acts(said.spoken)
    reported = 0.0 if is_reported(said.words) else odds["reported"]
    return odds["question"] + odds["hypothetical"] + odds["joke"] + reported < NOT_MEANT


def _is_asserted(said: Said) -> bool:
    """Whether the agent reports something as a fact."""
    asks = is_question(said.words, said.asks)
    return not (
        asks or is_fancy(said.words) or is_reported(said.words) or REFUSED.search(said.words)
    )


def _lines(tool: Observation) -> Iterator[str]:
    """The lines of data in a tool's output, and their sentences. Prose is not read."""
    lines = [line for line in tool.text.splitlines() if line.strip()][:MOST_LINES]
    for line in (line for line in lines if is_data(line) and not line.isupper()):  # skip headings
        for sentence in sentences(line, 10):
            if not sentence.asks:
                yield sentence.text


def _told(slot: SlotField, ref: str, sought: Sought) -> Iterator[Told]:
    if sought.hearsay and _PERMITS.search(sought.text):
        return
    cued = has_cue(slot, sought)
    best = _best([pattern for pattern in patterns(slot) if cued or pattern.speaks], sought)
    for match in best:
        pattern = match.pattern
        yield Told(match.fields, dict(pattern.fixed), pattern.reads, ref, sought.text)
    if best or sought.hearsay:
        return
    labelled = of_line(slot, sought.text)
    if labelled:
        yield Told(labelled, {}, False, ref, sought.text)
    elif cued and (not sought.terse or len(sought.words) <= LONGEST_CUED):
        by_cue = read_by_cue(slot, sought)
        if by_cue is not None:
            yield Told(by_cue, {}, False, ref, sought.text)


def _best(known: Sequence[Pattern], sought: Sought) -> list[Found]:
    """The matches that fill the most fields, without overlap."""
    best: list[Found] = []
    for match in (found_by(pattern, sought) for pattern in known):
        if match is not None and not any(
            match.start < other.end and other.start < match.end for other in best
        ):
            best.append(match)
    return best


def _is_of_one(slot: SlotField, told: Told) -> bool:
    """Whether no text goes on to state something of a second head: "allergic to latex, 3B-14 is not"."""
    shapes = shapes_of(slot, slot.item.head) & SINGLE
    texts = (t for name, each in told.fields.items() if name not in slot.item.key for t in each)
    return not any(
        then.form in BE and any(is_shape(shape, word) for shape in shapes)
        for words in map(words_in, texts)
        for word, then in pairwise(words)
    )


_OVER = re.compile(r"\b(?:no longer|not any ?more|any ?more|any longer|stopped|ceased)\b", re.I)


def _end(slot: SlotField, ref: str, sought: Sought, room: Room) -> None:
    """Retire the held items that the user denies or ends, naming every value that they must have."""
    said = tuple(word.form for word in sought.words)
    for held in room.held(slot.name) if not slot.rules.pinned else ():
        own = slot.item.own_fields()
        values = [
            forms(str(getattr(held, name)))
            for name in own
            if slot.item.model_fields[name].is_required() and name != "quote"
        ]
        if not all(_at(value, said) is not None for value in values):
            continue
        denied = any(
            (at := _at(value, said)) and sought.words[at - 1].text.lower() in NEGATORS
            for value in values
        )
        if denied or (has_cue(slot, sought) and _OVER.search(sought.text)):
            room.retire(held, ref, sought.text)


def _at(value: tuple[str, ...], said: tuple[str, ...]) -> int | None:
    ends = range(len(said) - len(value) + 1)
    return next((i for i in ends if value and said[i : i + len(value)] == value), None)


def _propose(slot: SlotField, told: Told, room: Room) -> None:
    """Propose an item for each named head; if the state holds the item, propose its changes."""
    item = slot.item
    if not set(item.key) <= {*told.fields, *told.fixed}:
        return
    single = {name: texts[0] for name, texts in told.fields.items() if name != item.head}
    quoted = {"quote": told.quote} if told.quote and "quote" in item.own_fields() else {}
    for head in filter(_NAMES.match, told.fields.get(item.head, ())):
        said = {item.head: head, **single}
        fields = {**told.fixed, **said, **quoted}
        about = tuple(str(fields.get(name, "")).casefold() for name in item.key)
        held = next((i for i in room.held(slot.name) if i.about == about), None)
        if held is not None:
            changed = fields if told.reads else said
            if any(getattr(held, name) != value for name, value in changed.items()):
                own = {name: getattr(held, name) for name in item.key}  # as the state has it
                room.update(slot.name, held, [told.ref], **{**changed, **own})
        elif _is_item(item, fields):
            room.add(slot.name, [told.ref], **fields)


def _is_item(item: type[Item], fields: Mapping[str, Any]) -> bool:
    """Whether the fields pass the item type's validation."""
    try:
        item.model_validate(dict(fields))
    except ValidationError:
        return False
    return True
