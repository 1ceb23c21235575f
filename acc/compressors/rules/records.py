"""Items that stand as records: JSON with a slot's field names, or a line of labelled values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from acc.compressors.rules.cued import shapes_of
from acc.compressors.rules.elements import choices_of
from acc.compressors.rules.shapes import SINGLE, is_shape
from acc.compressors.rules.wordforms import forms, words_in
from acc.slots import SlotField

MOST_RECORDS = 100
"""Records that are read of one text."""

LONGEST_LINE = 400

_PARTS = re.compile(r"\s*[,;|\t]\s+|\s+\|\s*|\t+")
_KEY = re.compile(r"(?<=[a-z])(?=[A-Z])|[\W_]+")


def records_in(text: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a text, nested ones too: values by key, keys in small letters with "_"."""
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
            yield {_key(str(key)): inner for key, inner in value.items()}
            waiting += [inner for inner in value.values() if isinstance(inner, Mapping | list)]
        elif isinstance(value, list):
            waiting += value[:MOST_RECORDS]


def _key(text: str) -> str:
    return "_".join(part.lower() for part in _KEY.split(text) if part)


def of_record(slot: SlotField, record: Mapping[str, Any]) -> Mapping[str, tuple[str, ...]]:
    """What a record says of the fields of ``slot``, by their names."""
    found = {}
    for name in slot.item.wire_fields():
        value = record.get(name)
        said = _as_said(slot, name, str(value)) if _is_plain(value) else ""
        if said:
            found[name] = (said,)
    return found


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def of_line(slot: SlotField, line: str) -> Mapping[str, tuple[str, ...]]:
    """What a line of labelled values says: "CHG-1 upgrade, stage: running, window Wed 02:00".

    Its head may stand in front without a label.
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
    if head not in found and found and (first := _first(slot, parts[0])):
        found[head] = (first,)
    return found if len(found) > 1 and set(slot.item.key) <= set(found) else {}


def _first(slot: SlotField, part: str) -> str:
    words = words_in(part)
    shapes = shapes_of(slot, slot.item.head) & SINGLE
    return words[0].text if words and any(is_shape(s, words[0]) for s in shapes) else ""


@lru_cache(maxsize=256)
def _labels(slot: SlotField) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (
            name,
            re.compile(
                rf"{name.replace('_', '[ _-]')}\s*(?:[:=]\s*|\s)(?P<value>\S.{{0,200}})", re.I
            ),
        )
        for name in slot.item.wire_fields()
    )


def _as_said(slot: SlotField, name: str, value: str) -> str:
    """A value as its field holds it; empty where it is none of the choices."""
    value = value.strip(" \"'.`")
    choices = choices_of(slot.item, name)
    if not choices.ways:
        return value
    said = forms(value.replace("_", " "))
    return next((choice for way, choice in choices.ways if way == said), "")
