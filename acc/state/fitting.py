"""What a stored state holds that its schema no longer takes: kept as facts, with the reason for the next compression.

So a thread goes on after its schema got required fields, fewer choices or fewer slots, and with another class. Nothing
is lost: the words, the sources and the trust stay, and the compressor may write them anew where they belong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from acc.state.items import LONGEST, Item, Record
from acc.state.slots import SlotField

_KEPT = ("id", "turn", "touched", "sources", "trust", "minor", "uses")
FACTS, RULES = "relational_map", "constraints"


def fitted(
    body: Mapping[str, Any], fields: Mapping[str, Any], slots: Mapping[str, SlotField]
) -> dict[str, Any]:
    """Return a stored state's body with the records that do not fit as facts, and why in ``feedback``.

    Args:
        body: The stored state.
        fields: The fields of its class by name.
        slots: The slots of its class by name.
    """
    found: dict[str, Any] = {name: value for name, value in body.items() if name in fields}
    facts, rules, told = [], [], list[str]()
    for name, value in sorted(body.items()):  # the journal's order and a checkpoint's may differ
        for item in value if isinstance(value, list) else ():
            why = _problem(name, item, fields, slots)
            if not why:
                continue
            kind = "rule" if "words" in item else "fact"
            if kind == "rule":  # words of user or operator bind whatever class reads them
                rules.append(item)
            else:
                facts.append(_fact(name, item))
            if name in fields:
                found[name] = [each for each in found[name] if each is not item]
            told.append(f"{item['id']} of {name} is a {kind} now: {why}"[:160])
    if not told:
        return dict(body)
    for name, more in ((FACTS, facts), (RULES, rules), ("feedback", told)):
        found[name] = [*found.get(name, ()), *more]
    return found


def _problem(
    name: str, item: Any, fields: Mapping[str, Any], slots: Mapping[str, SlotField]
) -> str:
    """Return why a state of this class cannot hold an item; empty if it can."""
    if not isinstance(item, Mapping) or "id" not in item:
        return ""
    if name not in fields:
        return "the schema has no such slot"
    if name in slots and slots[name].is_record and "words" not in item:
        return _invalid(slots[name].item, item)
    return ""


def _invalid(kind: type[Item], item: Mapping[str, Any]) -> str:
    try:
        kind.model_validate(item)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return ""


def _fact(slot: str, item: Mapping[str, Any]) -> dict[str, Any]:
    own = {n: v for n, v in item.items() if n not in Record.model_fields}
    said = "; ".join(f"{n} {v}" for n, v in own.items() if v not in ("", None, False))
    kept = {name: item[name] for name in _KEPT if name in item}
    return {**kept, "text": f"{slot}: {said}"[:LONGEST]}
