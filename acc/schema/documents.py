"""A schema as JSON: the JSON Schema of a stored state, with the rules of its slots.

The rules stand under ``x-acc``, where validators pass over them: from such a document alone
two versions of a schema can be compared, without the code of either.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from acc.items import Item
from acc.migrations import own_version, stored_name
from acc.schema.catalog import Schema
from acc.slots import SlotField

Document: TypeAlias = dict[str, Any]
"""A JSON Schema."""

RULES = "x-acc"
"""The keyword under which the rules of a state, and of a slot, are kept."""


def state_document(schema: Schema) -> Document:
    """JSON Schema of what `canonical` returns, the same bytes for the same declaration."""
    found = schema.model_json_schema(mode="serialization")
    for name, slot in schema.slots().items():
        found["properties"][name] |= {"maxItems": slot.rules.places, RULES: _rules(slot)}
    about = {
        "stored_as": stored_name(schema),
        "version": own_version(schema),
        "max_tokens": schema.max_tokens,
        "slots": list(schema.slots()),
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, RULES: about}


def as_text(document: Document) -> str:
    """The document as it is kept in a file."""
    return json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


_TOLD = ("type", "enum", "const", "minLength", "maxLength")


def _rules(slot: SlotField) -> dict[str, Any]:
    rules, item = slot.rules, slot.item
    fields = item.model_json_schema(mode="serialization")["properties"]
    return {
        "item": item.__name__,
        "key": list(item.key),
        "head": item.head,
        "fields": {name: _field(item, name, fields[name]) for name in item.own_fields()},
        "places": rules.places,
        "write": rules.write.word,
        "pinned": rules.pinned,
        "quote": rules.quote,
        "lifetime": rules.lifetime,
        "evict": rules.evict,
        "letter": rules.letter,
        "guidance": rules.guidance,
        "cues": list(rules.cues),
        "examples": [{"text": e.text, "fields": dict(e.fields)} for e in rules.examples],
    }


def _field(item: type[Item], name: str, found: dict[str, Any]) -> dict[str, Any]:
    """What a field may say, and whether an old item can do without it."""
    told: dict[str, Any] = {key: found[key] for key in _TOLD if key in found}
    return {**told, "required": item.model_fields[name].is_required()}
