"""Compares two versions of a schema, and says what becomes of stored states.

The comparison takes documents (`acc.schema.catalog`), which allows a version that exists only as JSON. No change
keeps a stored state from loading: records that no longer fit are kept as facts (`acc.state.fitting`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from acc.errors import InputError
from acc.schema.catalog import RULES, Document, schema_named, state_document

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


def document_named(name: str) -> Document:
    """Return the document of a schema, or the document in a JSON file.

    Raises:
        InputError: The file holds no such document.
        ConfigurationError: There is no such schema.
    """
    if not name.endswith(".json"):
        return state_document(schema_named(name))
    try:
        found = json.loads(Path(name).read_text(encoding="utf-8"))
        slots = found[RULES]["slots"]
        complete = all("fields" in found["properties"][slot][RULES] for slot in slots)
    except OSError as error:
        what = error.strerror or str(error)
        raise InputError(
            what, where=name, hint="use the name of a schema, or its JSON file"
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _no_document(name) from error
    if not complete:
        raise _no_document(name)
    return dict(found)


def _no_document(name: str) -> InputError:
    hint = "create it with acc schema NAME --as state > FILE"
    return InputError("not an exported schema", where=name, hint=hint)


def differences(old: Document, new: Document) -> list[Difference]:
    """Return all changes from ``old`` to ``new`` that affect stored states or what is asked, slot by slot."""
    before, after = _slots(old), _slots(new)
    return [
        *_whole(old, new),
        *(Difference(name, "removed", AS_FACTS) for name in before if name not in after),
        *(Difference(name, "added") for name in after if name not in before),
        *(d for name in before if name in after for d in _slot(name, before[name], after[name])),
    ]


def _slots(document: Document) -> dict[str, Any]:
    return {name: document["properties"][name][RULES] for name in document[RULES]["slots"]}


def _whole(old: Document, new: Document) -> Iterator[Difference]:
    was, now = old[RULES], new[RULES]
    if old["title"] != new["title"]:
        yield Difference(
            "", f"the class is named {new['title']}, was {old['title']}",
            "states load only with a class of their name, or with a subclass of it",
        )  # fmt: skip
    if now["max_tokens"] != was["max_tokens"]:
        effect = EVICTS if now["max_tokens"] < was["max_tokens"] else ""
        yield Difference("", f"max_tokens {was['max_tokens']} -> {now['max_tokens']}", effect)


_EFFECTS = {
    "places": "",
    "share": "",
    "lesser": "stored items do not change; new items follow the new rule",
    "least": "stored items do not change; new items need the new trust",
    "about": "stored items do not change; new ones replace held ones by the new key",
    "prefix": "stored items keep their ids",
    "key": "",
    "title": "",
    "guidance": "",
    "roles": "",
    "item": "",
}
"""The rules that are compared, and what a change of one does to stored items."""


def _slot(name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    yield from _fields(name, was["fields"], now["fields"])
    for rule, effect in _EFFECTS.items():
        if was[rule] != now[rule]:
            is_less = rule in ("places", "share") and now[rule] < was[rule]
            change = (
                rule if rule == "guidance" else f"{rule} {_said(was[rule])} -> {_said(now[rule])}"
            )
            yield Difference(name, change, EVICTS if is_less else effect)


def _fields(name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    for field in (field for field in was if field not in now):
        yield Difference(f"{name}.{field}", "removed", SOME_AS_FACTS)
    for field in (field for field in now if field not in was):
        is_asked = now[field]["required"]
        change = "added" if is_asked else "added, with a default"
        yield Difference(f"{name}.{field}", change, AS_FACTS if is_asked else "")
    for field in (field for field in was if field in now):
        yield from _field(f"{name}.{field}", was[field], now[field])


def _field(where: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    if was.get("type") != now.get("type"):
        yield Difference(where, f"type {was.get('type')} -> {now.get('type')}", SOME_AS_FACTS)
        return
    yield from _choices(where, _allowed(was), _allowed(now))
    if now["required"] and not was["required"]:
        yield Difference(where, "now required", SOME_AS_FACTS)
    most, before = now.get("maxLength"), was.get("maxLength")
    if most is not None and before is not None and most < before:
        yield Difference(where, f"at most {most} characters, was {before}", SOME_AS_FACTS)
    if now.get("minLength", 0) > was.get("minLength", 0) and not _allowed(was):
        yield Difference(where, "may not be empty", SOME_AS_FACTS)


def _choices(where: str, was: list[str], now: list[str]) -> Iterator[Difference]:
    gone = [choice for choice in was if choice not in now]
    if now and (gone or not was):
        change = f"no longer allows {_said(gone)}" if gone else f"allows only {_said(now)}"
        yield Difference(where, change, SOME_AS_FACTS)
    if was and (fresh := [choice for choice in now if choice not in was]):
        yield Difference(where, f"now allows {_said(fresh)}")
    if was and not now:
        yield Difference(where, "now allows any text")


def _allowed(field: Mapping[str, Any]) -> list[str]:
    return list(field.get("enum", [field["const"]] if "const" in field else []))


def _said(value: Any) -> str:
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)
