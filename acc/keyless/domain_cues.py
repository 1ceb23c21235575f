"""Reads a slot's items by its cue words if no example fits: by explicit choices and by shapes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from acc.keyless.domain_matching import MOST_WORDS, OPEN, Sought
from acc.keyless.domain_patterns import BE, CONDITIONS, LEADS, is_short, ways_of
from acc.keyless.domain_shapes import NEGATORS, SINGLE, Shape, Span, is_shape, shape_of, spans
from acc.keyless.sentences import plain
from acc.keyless.words import Word, forms, places_of, words_in
from acc.state.slots import SlotField

_IDENTIFIERS: tuple[Shape, ...] = ("address", "e-mail", "ip", "hash", "path", "domain", "code")
_TYPED = SINGLE | {"when", "amount", "count", "name"}


class Placed(NamedTuple):
    """A value with its position."""

    texts: tuple[str, ...]
    start: int
    end: int


def has_cue(slot: SlotField, sought: Sought) -> bool:
    """Whether a sentence has one of the slot's cue words."""
    return any(_place_of(cue, sought.words) is not None for cue in slot.rules.cues)


def read_by_cue(slot: SlotField, sought: Sought) -> Mapping[str, tuple[str, ...]] | None:
    """The fields of the item in a sentence with a cue of ``slot``; None if it has none.

    The sentence must contain the item's head by its shape, and a choice or a typed value. A
    sentence that denies, doubts or makes a condition gives nothing.
    """
    low = {word.text.lower() for word in sought.words}
    if len(sought.words) > MOST_WORDS or low & NEGATORS or sought.forms & (OPEN | {"if", "unless"}):
        return None
    if len(_texts_asked(slot)) > 1:
        return None
    cue = next(
        ((c, p) for c in slot.rules.cues if (p := _place_of(c, sought.words)) is not None), None
    )
    if cue is None:
        return None
    found = _chosen(slot, sought)
    head = _head(slot, sought, found) if found is not None else None
    if found is None or head is None:
        return None
    found[slot.item.head] = head
    for name in (n for n in slot.item.wire_fields() if n not in found):
        begin = _begin(slot, name, cue)
        value = (
            None
            if begin is None
            else _valued(slot, name, sought, found, after=max(head.end, begin))
        )
        if value is not None:
            found[name] = value
        elif slot.item.model_fields[name].is_required():
            return None
    beside = [name for name in found if name not in slot.item.key]
    return {name: placed.texts for name, placed in found.items()} if beside else None


def _begin(slot: SlotField, name: str, cue: tuple[str, int]) -> int | None:
    """Where the text of a field may begin: after the cue, or with it, as in the examples; None if within it."""
    said, end = forms(cue[0]), cue[1]
    values = [forms(str(v)) for e in slot.rules.examples for n, v in e.fields if n == name]
    if any(value[: len(said)] == said for value in values):
        return end - len(said)
    return None if any(set(said) & set(value) for value in values) else end


@lru_cache(maxsize=256)
def _texts_asked(slot: SlotField) -> tuple[str, ...]:
    """Required text fields other than the head. A cue cannot distinguish two of them."""
    fields = slot.item.model_fields
    return tuple(
        name
        for name in slot.item.wire_fields()
        if name not in (slot.item.head, "quote")
        and fields[name].is_required()
        and not ways_of(slot.item, name)
        and not shapes_of(slot, name) & (_TYPED - {"name"})
    )


def _place_of(cue: str, words: tuple[Word, ...]) -> int | None:
    """Index after the cue. A cue that is no plain word may be the prefix of a word ("JE-")."""
    said = forms(cue)
    start = next(places_of(said, words), None) if said else None
    if start is not None:
        return start + len(said)
    if not cue.isalpha() and " " not in cue and any(c.isalnum() for c in cue):
        return next((i + 1 for i, w in enumerate(words) if w.text.startswith(cue)), None)
    return None


def _chosen(slot: SlotField, sought: Sought) -> dict[str, Placed] | None:
    """The choices in the sentence; None if a required one is missing."""
    found: dict[str, Placed] = {}
    for name in slot.item.wire_fields():
        ways = ways_of(slot.item, name)
        if not ways:
            continue
        placed = (
            Placed((value,), start, start + len(way))
            for way, value in ways
            for start in places_of(way, sought.words)
        )
        if first := next(placed, None):
            found[name] = first
        elif slot.item.model_fields[name].is_required():
            return None
    return found


@lru_cache(maxsize=256)
def shapes_of(slot: SlotField, name: str) -> frozenset[Shape]:
    """The shapes of a field in the slot's examples; empty without an example."""
    values = [str(v) for e in slot.rules.examples for n, v in e.fields if n == name and v]
    brief = is_short(slot.item, name)
    return frozenset(shape_of(plain(value), opens=False, is_short=brief) for value in values)


def _head(slot: SlotField, sought: Sought, found: Mapping[str, Placed]) -> Placed | None:
    shapes = shapes_of(slot, slot.item.head)
    singles = [s for s in (shapes or _IDENTIFIERS) if s in SINGLE]
    for at, word in enumerate(sought.words):
        if any(is_shape(shape, word) for shape in singles):
            return Placed((sought.text[word.start : word.end],), at, at + 1)
    if not shapes or "name" in shapes:
        for at in range(1, len(sought.words)):
            if not _is_used(at, found) and (span := _first("name", sought, at)):
                return Placed(span.texts, at, span.end)
    return _subject(sought, found) if not shapes or shapes & {"phrase", "clause"} else None


def _subject(sought: Sought, found: Mapping[str, Placed]) -> Placed | None:
    """The phrase at the start of the sentence, up to its verb of state or a choice."""
    at = 0
    while at < len(sought.words) and sought.words[at].form in LEADS:
        at += 1
    for span in spans("phrase", sought.words, at, sought.text, ends=False):
        follows = sought.words[span.end] if span.end < len(sought.words) else None
        if any(_is_used(i, found) for i in range(at, span.end)):
            return None
        if follows is not None and (follows.form in BE or _is_used(span.end, found)):
            return Placed(span.texts, at, span.end)
    return None


def _valued(
    slot: SlotField, name: str, sought: Sought, found: Mapping[str, Placed], *, after: int
) -> Placed | None:
    """A field's value by its shape. A required text is the rest of the sentence."""
    if ways_of(slot.item, name) or slot.item.model_fields[name].annotation is not str:
        return None
    shapes = shapes_of(slot, name)
    for at in range(len(sought.words)):
        for shape in sorted(shapes & _TYPED):
            span = None if _is_used(at, found) else _first(shape, sought, at)
            if span is not None and not any(_is_used(i, found) for i in range(at, span.end)):
                return Placed(span.texts, at, span.end)
    texts = not shapes or "clause" in shapes
    if not texts or not slot.item.model_fields[name].is_required():
        return None
    start = max([after, *(placed.end for placed in found.values())])
    while start < len(sought.words) and (
        sought.words[start].form in BE or sought.words[start].is_mark
    ):
        start += 1
    if start < len(sought.words) and sought.words[start].form in CONDITIONS:
        return None
    last = next(spans("clause", sought.words, start, sought.text, ends=True), None)
    return Placed(last.texts, start, last.end) if last is not None else None


def _first(shape: Shape, sought: Sought, at: int) -> Span | None:
    return next(spans(shape, sought.words, at, sought.text, ends=False), None)


def _is_used(at: int, found: Mapping[str, Placed]) -> bool:
    return any(placed.start <= at < placed.end for placed in found.values())


MOST_RECORDS = 100
"""Maximum number of records read from one text."""

LONGEST_LINE = 400

_PARTS = re.compile(r"\s*[,;|\t]\s+|\s+\|\s*|\t+")
_KEY = re.compile(r"(?<=[a-z])(?=[A-Z])|[\W_]+")


def records_in(text: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a text, including nested ones: values by key, with keys in snake_case."""
    start = text[:20].lstrip()[:1]
    if start not in ("{", "["):
        return
    try:
        waiting = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    count = 0
    while waiting and count < MOST_RECORDS:
        value = waiting.pop(0)
        if isinstance(value, Mapping):
            count += 1
            yield {_in_snake_case(str(key)): inner for key, inner in value.items()}
            waiting += [inner for inner in value.values() if isinstance(inner, Mapping | list)]
        elif isinstance(value, list):
            waiting += value[:MOST_RECORDS]


def _in_snake_case(key: str) -> str:
    return "_".join(part.lower() for part in _KEY.split(key) if part)


def of_record(slot: SlotField, record: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
    """The fields of ``slot`` in a record, by name."""
    found = {}
    for name in slot.item.wire_fields():
        value = record.get(name)
        is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
        said = _as_said(slot, name, str(value)) if is_plain else ""
        if said:
            found[name] = (said,)
    return found


def of_line(slot: SlotField, line: str) -> Mapping[str, tuple[str, ...]]:
    """The fields in a line of labelled values: "CHG-1 upgrade, stage: running, window Wed 02:00".

    The head may come first without a label.
    """
    found: dict[str, tuple[str, ...]] = {}
    parts = _PARTS.split(line) if len(line) <= LONGEST_LINE else []
    for part in parts:
        for name, pattern in _labels(slot):
            match = pattern.match(part)
            said = _as_said(slot, name, match["value"]) if match and name not in found else ""
            if said:
                found[name] = (said,)
                break
    head = slot.item.head
    if head not in found and found and (first := _leading_value(slot, parts[0])):
        found[head] = (first,)
    return found if len(found) > 1 and set(slot.item.key) <= set(found) else {}


def _leading_value(slot: SlotField, part: str) -> str:
    words = words_in(part)
    shapes = shapes_of(slot, slot.item.head) & SINGLE
    return words[0].text if words and any(is_shape(s, words[0]) for s in shapes) else ""


@lru_cache(maxsize=256)
def _labels(slot: SlotField) -> tuple[tuple[str, re.Pattern[str]], ...]:
    value = r"\s*(?:[:=]\s*|\s)(?P<value>\S.{0,200})"
    names = slot.item.wire_fields()
    return tuple((n, re.compile(n.replace("_", "[ _-]") + value, re.I)) for n in names)


def _as_said(slot: SlotField, name: str, value: str) -> str:
    """A value in the form of its field; empty if it is none of the choices."""
    value = value.strip(" \"'.`")
    ways = ways_of(slot.item, name)
    if not ways:
        return value
    said = forms(value.replace("_", " "))
    return next((choice for way, choice in ways if way == said), "")
