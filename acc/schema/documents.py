"""A schema as a JSON document, and what differs between two versions of one.

Documents can be compared where a version exists only as JSON. No change keeps a stored state from loading: records
that no longer fit are kept as facts (`CompressedCognitiveState.load`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from acc.errors import InputError
from acc.schema.catalog import Schema, schema_named
from acc.state.items import Item
from acc.state.slots import SlotField, key_of

Document: TypeAlias = dict[str, Any]
"""A JSON Schema."""

RULES = "x-acc"
"""The keyword that holds the rules of a state or a slot."""


def state_document(schema: Schema) -> Document:
    """Return the JSON Schema of a state's `canonical` form. Equal declarations give equal bytes."""
    found = schema.model_json_schema(mode="serialization")
    for name, slot in schema.slots().items():
        found["properties"][name] |= {"maxItems": slot.rules.places, RULES: _rules(slot)}
    about = {
        "stored_as": schema.__name__,
        "max_tokens": schema.max_tokens,
        "slots": list(schema.slots()),
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, RULES: about}


def as_text(document: Document) -> str:
    """Return the document as the text of a file."""
    return json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


_CONSTRAINTS = ("type", "enum", "const", "minLength", "maxLength")


def _rules(slot: SlotField) -> dict[str, Any]:
    rules, item = slot.rules, slot.item
    fields = item.model_json_schema(mode="serialization")["properties"]
    return {
        **vars(rules),
        "least": rules.least.word,
        "roles": list(rules.roles),
        "item": item.__name__,
        "about": list(key_of(item)),
        "is_pinned": slot.is_pinned,
        "fields": {name: _field(item, name, fields[name]) for name in item.own_fields()},
    }


def _field(item: type[Item], name: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return the allowed values of a field, and whether it is required."""
    allowed = {key: found[key] for key in _CONSTRAINTS if key in found}
    return {**allowed, "required": item.model_fields[name].is_required()}


def document_named(name: str) -> Document:
    """Return the document of a schema, or the document in a JSON file.

    Raises:
        InputError: The file holds no such document.
        ConfigurationError: There is no such schema.
    """
    if not name.endswith(".json"):
        return state_document(schema_named(name))
    hint = "create it with acc schema NAME --as state > FILE"
    try:
        found: Document = json.loads(Path(name).read_text(encoding="utf-8"))
        if all("fields" in rules for rules in _slots(found).values()):
            return found
    except OSError as error:
        raise InputError(error.strerror or str(error), where=name, hint=hint) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError("not an exported schema", where=name, hint=hint) from error
    raise InputError("not an exported schema", where=name, hint=hint)


AS_FACTS = "the items are kept as facts, and the compressor may write them anew"
SOME_AS_FACTS = "items that do not fit are kept as facts, and the compressor may write them anew"
EVICTS = "the next compression lets items go for want of room; the journal has them"


class Difference(NamedTuple):
    """One change.

    Attributes:
        where: The slot, or ``slot.field``; empty for the whole schema.
        change: The change.
        effect: What becomes of stored states; empty if they do not change.
    """

    where: str
    change: str
    effect: str = ""


def differences(old: Document, new: Document) -> list[Difference]:
    """Return all changes from ``old`` to ``new`` that affect stored states or what is asked, slot by slot."""
    before, after = _slots(old), _slots(new)
    whole = [
        {"class": each["title"], "max_tokens": each[RULES]["max_tokens"]} for each in (old, new)
    ]
    return [
        *_changed("", whole[0], whole[1]),
        *(Difference(name, "removed", AS_FACTS) for name in before if name not in after),
        *(Difference(name, "added") for name in after if name not in before),
        *(d for name in before if name in after for d in _slot(name, before[name], after[name])),
    ]


def _slots(document: Document) -> dict[str, Any]:
    return {name: document["properties"][name][RULES] for name in document[RULES]["slots"]}


def _slot(name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    fields, fields_now = was["fields"], now["fields"]
    for field in (field for field in fields if field not in fields_now):
        yield Difference(f"{name}.{field}", "removed", SOME_AS_FACTS)
    for field, rules in fields_now.items():
        if field in fields:
            yield from _changed(f"{name}.{field}", fields[field], rules, SOME_AS_FACTS)
        else:
            yield Difference(f"{name}.{field}", "added", AS_FACTS if rules["required"] else "")
    yield from _changed(name, {**was, "fields": ()}, {**now, "fields": ()})


def _changed(
    where: str, was: Mapping[str, Any], now: Mapping[str, Any], effect: str = ""
) -> Iterator[Difference]:
    """Yield each rule that has another value. Less room lets items go; other rules hold for new items alone."""
    for rule in sorted(was.keys() | now.keys()):
        before: Any = was.get(rule)
        after: Any = now.get(rule)
        if before != after:
            is_less = rule in ("max_tokens", "places", "share") and after < before
            change = rule if rule == "guidance" else f"{rule} {_said(before)} -> {_said(after)}"
            yield Difference(where, change, EVICTS if is_less else effect)


def _said(value: Any) -> str:
    return (", ".join(map(str, value)) if isinstance(value, list) else str(value or "")) or "none"
