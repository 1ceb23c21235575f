"""The fields of an item: what they say, and what they can hold."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from acc.items import Item

LONGEST = 320
"""Characters of a text whose type sets no bound."""


def said_by(item: Item) -> dict[str, Any]:
    """What an item says, by field."""
    return {name: getattr(item, name) for name in type(item).wire_fields()}


def text_of(item: Item) -> str:
    """The text of an item that has one, as rules and goals do; or empty."""
    return str(getattr(item, "text", ""))


def fits(item: type[Item], fields: Mapping[str, Any]) -> bool:
    """Whether ``item`` can hold ``fields``: all it asks for, each text neither empty nor too long.

    What does not fit is left out, never cut.
    """
    wanted, longest = _bounds(item)
    if not wanted <= fields.keys() <= longest.keys():
        return False
    return all(
        bool(value.strip()) and len(value) <= longest[name]
        for name, value in fields.items()
        if isinstance(value, str)
    )


@lru_cache(maxsize=256)
def _bounds(item: type[Item]) -> tuple[frozenset[str], Mapping[str, int]]:
    """The fields that ``item`` asks for, and how long the text of each field may be."""
    names = item.wire_fields()
    wanted = frozenset(name for name in names if item.model_fields[name].is_required())
    return wanted, {name: longest_of(item, name, unbound=LONGEST) for name in names}


def longest_of(item: type[Item], name: str, *, unbound: int) -> int:
    """Characters that the text of a field may have; ``unbound`` where its type sets no bound."""
    bounds = (getattr(m, "max_length", None) for m in item.model_fields[name].metadata)
    return min((bound for bound in bounds if bound is not None), default=unbound)
