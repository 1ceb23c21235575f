"""What an item is worth keeping for, beside what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acc.compressors.rules.needed import Told, needed
from acc.compressors.rules.worth import worth_of
from acc.items import Item

FACTS = "relational_map"
_TOLD = ("subject", "predicate", "object", "status")

SLOTS: Mapping[str, float] = {
    "focal_entities": 0.1,
    "uncertainty_signal": 0.2,
    "semantic_gist": 1.0,
}
"""Worth of items that are no facts."""

FADING = 0.004
"""What a turn without being spoken of takes from it."""


def value(slot: str, fields: Mapping[str, Any], sources: int, age: int) -> float:
    """What an item of ``slot`` is worth that rests on ``sources`` texts, ``age`` turns after it was spoken of."""
    return _worth(slot, fields, sources) - FADING * age


def _worth(slot: str, fields: Mapping[str, Any], sources: int) -> float:
    if slot == FACTS:
        subject, predicate, what, status = (str(fields.get(name, "")) for name in _TOLD)
        return needed(Told(subject, predicate, what, status, sources))
    return SLOTS[slot] if slot in SLOTS else worth_of(words_of(fields))


def said_by(item: Item) -> dict[str, Any]:
    """What an item says, by field."""
    return {name: getattr(item, name) for name in type(item).wire_fields()}


def words_of(fields: Mapping[str, Any]) -> str:
    """All that fields say."""
    return " ".join(str(text) for name, text in fields.items() if name not in ("quote", "kind"))
