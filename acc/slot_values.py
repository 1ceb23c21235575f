"""Whether the values that a `Slot` was given are of the kinds it asks for, and its examples right.

A forgotten comma makes a tuple a string; it would fail where nobody looks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from acc.slots import Example, Slot, SlotField
from acc.turn import Trust
from acc.wire_fields import wire_field

Problem = tuple[str, str]
"""What is wrong, and how to mend it."""


def value_problems(name: str, rules: Slot) -> Iterator[Problem]:
    """What of ``rules`` of the slot ``name`` is of another kind than it has to be."""
    for number in ("places", "evict"):
        value = getattr(rules, number)
        if not isinstance(value, int) or isinstance(value, bool):
            yield f"slot {name!r} has {number}={value!r}", "give a whole number"
    if not isinstance(rules.write, Trust):
        yield f"slot {name!r} has write={rules.write!r}", "give a Trust, such as Trust.USER"
    for text in ("letter", "join", "guidance"):
        value = getattr(rules, text)
        if not isinstance(value, str):
            yield f"slot {name!r} has {text}={value!r}", "give a text"
    yield from _listed(name, rules)


def _listed(name: str, rules: Slot) -> Iterator[Problem]:
    words = rules.cues
    if not isinstance(words, tuple) or not all(isinstance(w, str) and w.strip() for w in words):
        yield (
            f"slot {name!r} has cues={words!r}",
            'give a tuple of words, one too: cues=("hours",)',
        )
    given = rules.examples
    if not isinstance(given, tuple) or not all(isinstance(e, Example) for e in given):
        yield (
            f"slot {name!r} has examples that are no tuple of Example",
            "give a tuple, of one too: examples=(Example(...),)",
        )


def example_problems(slot: SlotField) -> Iterator[Problem]:
    """Examples of a slot that make no item of it, or do not say what they give."""
    for example in slot.rules.examples:
        of = f"the example {example.text[:60]!r} of slot {slot.name!r}"
        fields = dict(example.fields)
        try:
            slot.item.model_validate(fields)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or slot.item.__name__
            yield f"{of} makes no item: {place}: {first['msg']}", "give the item's own fields"
            continue
        for name in (n for n in slot.item.wire_fields() if n in fields):
            if not _is_said(slot, name, fields[name], example.text):
                yield (
                    f"{of} does not say its {name} {fields[name]!r}",
                    "write the value as it stands in the words",
                )


def _is_said(slot: SlotField, name: str, value: Any, text: str) -> bool:
    """Whether free text stands in the words; of a choice or a number it is a matter of reading."""
    is_free = isinstance(value, str) and "enum" not in wire_field(slot.item, name)
    return not is_free or str(value).casefold() in text.casefold()
