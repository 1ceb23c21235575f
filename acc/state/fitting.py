"""What a stored state holds that its schema no longer takes: kept as facts, with the reason for the next compression.

So a thread goes on after its schema got required fields, fewer choices or fewer slots, and with another class. Nothing
is lost: the words, the sources and the trust stay, and the compressor may write them anew where they belong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from acc.state.items import LONGEST, Record
from acc.state.slots import SlotField

_KEPT = ("id", "turn", "touched", "sources", "trust", "minor", "uses")
FACTS, RULES = "relational_map", "constraints"


class _Unfit(NamedTuple):
    slot: str
    item: Mapping[str, Any]
    why: str


def fitted(
    body: Mapping[str, Any], fields: Mapping[str, Any], slots: Mapping[str, SlotField]
) -> dict[str, Any]:
    """Return a stored state's body with the records that do not fit as facts, and why in ``feedback``.

    Args:
        body: The stored state.
        fields: The fields of its class by name.
        slots: The slots of its class by name.
    """
    unfit = list(_unfit(body, fields, slots))
    pinned = list(_pinned(body, fields))
    if not unfit and not pinned:
        return dict(body)
    ids = {id(each.item) for each in unfit}
    found = {
        name: [item for item in value if id(item) not in ids] if isinstance(value, list) else value
        for name, value in body.items()
        if name in fields
    }
    found[FACTS] = [*found.get(FACTS, ()), *map(_fact, unfit)]
    if pinned:
        found[RULES] = [*found.get(RULES, ()), *(each.item for each in pinned)]
    told = [f"{each.item['id']} of {each.slot} is a fact now: {each.why}" for each in unfit]
    told += [f"{each.item['id']} of {each.slot} is a rule now: {each.why}" for each in pinned]
    found["feedback"] = [*body.get("feedback", ()), *(line[:160] for line in told)]
    return found


def _unfit(
    body: Mapping[str, Any], fields: Mapping[str, Any], slots: Mapping[str, SlotField]
) -> Iterator[_Unfit]:
    for name, value in sorted(body.items()):  # the journal's order and a checkpoint's may differ
        items = [e for e in value if _is_item(e)] if isinstance(value, list) else []
        if name not in fields:
            yield from (_Unfit(name, item, "the schema has no such slot") for item in items)
        elif name in slots and slots[name].is_record:
            kind = slots[name].item
            yield from (_Unfit(name, e, why) for e in items if (why := _problem(kind, e)))


def _pinned(body: Mapping[str, Any], fields: Mapping[str, Any]) -> Iterator[_Unfit]:
    """Yield the words of user and operator in slots that the schema lacks: they bind whatever class reads them."""
    for name in sorted(body.keys() - fields.keys()):
        value = body[name] if isinstance(body[name], list) else []
        words = [e for e in value if isinstance(e, Mapping) and "id" in e and "words" in e]
        yield from (_Unfit(name, item, "the schema has no such slot") for item in words)


def _is_item(value: Any) -> bool:
    return isinstance(value, Mapping) and "id" in value and "words" not in value


def _problem(kind: type[BaseModel], item: Mapping[str, Any]) -> str:
    try:
        kind.model_validate(item)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return ""


def _fact(unfit: _Unfit) -> dict[str, Any]:
    own = {n: v for n, v in unfit.item.items() if n not in Record.model_fields}
    said = "; ".join(f"{n} {v}" for n, v in own.items() if v not in ("", None, False))
    kept = {name: unfit.item[name] for name in _KEPT if name in unfit.item}
    return {**kept, "text": f"{unfit.slot}: {said}"[:LONGEST]}
