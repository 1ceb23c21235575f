"""What an item is worth keeping for, beside what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acc.compressors.rules.needed import Told, needed
from acc.compressors.rules.outcomes import is_outcome
from acc.compressors.rules.worth import worth_of

FACTS = "relational_map"
_TOLD = ("subject", "predicate", "object", "status")

SLOTS: Mapping[str, float] = {
    "uncertainty_signal": 0.2,
    "semantic_gist": 1.0,
    "goal_orientation": 0.1,
}
"""Worth of items that are no facts; a goal among them is done."""

ENTITIES: Mapping[str, float] = {
    "name": 0.02, "person": 0.02, "host": 0.05, "version": 0.2, "id": 0.3,
}  # fmt: skip
IDENTIFIER = 0.65
"""Worth of entities by type: what people call by the noun of its kind ("ticket MT-20418") is
mostly asked for later in the labelled conversations, mere names hardly ever."""

OUTCOME = 0.6
"""Worth of what was done: it must not be done again."""

FORGOTTEN = 0.02
"""What a turn takes from that: what was done long ago is worth what other facts are."""

FADING = 0.004
"""What a turn without being spoken of takes from it."""


def value(slot: str, fields: Mapping[str, Any], sources: int, age: int) -> float:
    """What an item of ``slot`` is worth that rests on ``sources`` texts, ``age`` turns after it was spoken of."""
    worth = _worth(slot, fields, sources)
    if slot == FACTS and is_outcome(str(fields.get("predicate")), str(fields.get("object"))):
        worth = max(worth, OUTCOME - FORGOTTEN * age)
    return worth - FADING * age


def _worth(slot: str, fields: Mapping[str, Any], sources: int) -> float:
    if slot == FACTS:
        subject, predicate, what, status = (str(fields.get(name, "")) for name in _TOLD)
        return needed(Told(subject, predicate, what, status, sources))
    if slot == "focal_entities":
        return ENTITIES.get(str(fields.get("type", "")), IDENTIFIER)
    return SLOTS[slot] if slot in SLOTS else worth_of(words_of(fields))


def words_of(fields: Mapping[str, Any]) -> str:
    """All that fields say."""
    return " ".join(str(text) for name, text in fields.items() if name not in ("quote", "kind"))
