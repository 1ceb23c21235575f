"""Compares two versions of a schema, and writes the reference page of schemas.

The comparison takes documents (`acc.schema.catalog`), which allows a version that exists only as
JSON.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from acc.errors import InputError
from acc.schema.catalog import RULES, Document, Schema, published_name, schema_named, state_document
from acc.state.items import Item, wire_field
from acc.state.migrations import own_version, stored_name
from acc.state.model import CompressedCognitiveState
from acc.state.slots import SlotField
from acc.turn.observations import Trust


class Difference(NamedTuple):
    """One change.

    Attributes:
        where: The slot, or ``slot.field``; empty for the whole schema.
        change: The change.
        question: The question a migration must answer; empty if stored states load unchanged.
        effect: How stored states change without a migration; empty if they do not.
    """

    where: str
    change: str
    question: str = ""
    effect: str = ""


def document_named(name: str) -> Document:
    """The document of a schema, or the document in a JSON file.

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
        raise InputError(what, where=name, hint="name a schema or its JSON") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _no_document(name) from error
    if not complete:
        raise _no_document(name)
    return dict(found)


def _no_document(name: str) -> InputError:
    return InputError(
        "no exported schema", where=name, hint="make it with acc schema export NAME --out FILE"
    )


def differences(old: Document, new: Document) -> list[Difference]:
    """All changes from ``old`` to ``new`` that affect stored states, slot by slot."""
    before, after = _slots(old), _slots(new)
    return [
        *_whole(old, new),
        *(d for name in before if name not in after for d in _removed(name, before[name])),
        *(Difference(name, "added") for name in after if name not in before),
        *(d for name in before if name in after for d in _slot(name, before[name], after[name])),
    ]


def open_questions(old: Document, new: Document) -> list[Difference]:
    """The differences that a migration must answer."""
    return [d for d in differences(old, new) if d.question]


def version_of(document: Document) -> int:
    """The schema version in a document."""
    return int(document[RULES]["version"])


def _slots(document: Document) -> dict[str, Any]:
    return {name: document["properties"][name][RULES] for name in document[RULES]["slots"]}


def _whole(old: Document, new: Document) -> Iterator[Difference]:
    was, now = old[RULES], new[RULES]
    if old["title"] != new["title"]:
        yield Difference(
            "", f"the class is named {new['title']}, was {old['title']}",
            "states are stored under the name of their class: keep it, or load the old ones by the old class",
        )  # fmt: skip
    if now["max_tokens"] < was["max_tokens"]:
        yield Difference(
            "", f"max_tokens {was['max_tokens']} -> {now['max_tokens']}",
            effect="the next commit evicts into the store; rules and goals that alone exceed it stop the thread",
        )  # fmt: skip
    elif now["max_tokens"] > was["max_tokens"]:
        yield Difference("", f"max_tokens {was['max_tokens']} -> {now['max_tokens']}")


def _removed(name: str, was: Mapping[str, Any]) -> Iterator[Difference]:
    into = "a slot that keeps quotes, word for word" if was["quote"] else "which slot"
    yield Difference(name, "removed", f"where do its items go: {into}? Each keeps its id")


def _slot(name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    yield from _fields(name, was["fields"], now["fields"])
    if was["key"] != now["key"]:
        yield Difference(
            name, f"key {_list(was['key'])} -> {_list(now['key'])}",
            effect="items that are now about the same stand side by side until the next one replaces the first",
        )  # fmt: skip
    if was["head"] != now["head"]:
        yield Difference(name, f"head {was['head']} -> {now['head']}")
    yield from _rules(name, was, now)


_EFFECTS = {
    "pinned": "items that stand are kept word for word from the next commit on, or can be evicted again",
    "quote": "items that stand keep what they have; new ones are made under the new rule",
    "write": "items that stand keep their trust; new ones need the new one",
    "lifetime": "items that stand lapse, or stay, from the next commit on",
    "letter": "items that stand keep their ids",
    "evict": "",
    "guidance": "",
}


def _rules(name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    if now["places"] != was["places"]:
        fewer = now["places"] < was["places"]
        effect = (
            "the next commit evicts into the store; more pinned items than places stop the thread"
        )
        yield Difference(
            name, f"places {was['places']} -> {now['places']}", effect=effect if fewer else ""
        )
    for rule, effect in _EFFECTS.items():
        if was[rule] != now[rule]:
            change = rule if rule == "guidance" else f"{rule} {was[rule]} -> {now[rule]}"
            yield Difference(name, change, effect=effect)


def _fields(name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    for field in (field for field in was if field not in now):
        yield Difference(
            f"{name}.{field}", "removed",
            f"which field carries its value on? If none, the migration rewrites {name}.{field}",
        )  # fmt: skip
    for field in (field for field in now if field not in was):
        asks = "what do stored items say there?" if now[field]["required"] else ""
        yield Difference(f"{name}.{field}", "added" if asks else "added, with a default", asks)
    for field in (field for field in was if field in now):
        yield from _field(f"{name}.{field}", was[field], now[field])


def _field(where: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    if was.get("type") != now.get("type"):
        yield Difference(
            where, f"type {was.get('type')} -> {now.get('type')}",
            f"what becomes of stored values? The migration rewrites {where}",
        )  # fmt: skip
        return
    yield from _choices(where, _said(was), _said(now))
    if not _said(now):
        yield from _lengths(where, was, now)


def _lengths(where: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    said = [len(choice) for choice in _said(was)]
    longest, shortest = (
        max(said, default=was.get("maxLength")),
        min(said, default=was.get("minLength", 0)),
    )
    allowed = now.get("maxLength")
    if allowed is not None and (longest is None or allowed < longest):
        change = f"at most {allowed} characters" + (f", was {longest}" if longest else "")
        yield Difference(
            where, change, f"what becomes of longer texts? The migration rewrites {where}"
        )
    if now.get("minLength", 0) > shortest:
        yield Difference(where, "may not be empty", "what do items say there that say nothing?")


def _choices(where: str, was: list[str], now: list[str]) -> Iterator[Difference]:
    gone = [choice for choice in was if choice not in now]
    if now and (gone or not was):
        change = f"no longer says {_list(gone)}" if gone else f"says only {_list(now)}"
        yield Difference(
            where, change, f"what do such items say instead? The migration rewrites {where}"
        )
    if was and (fresh := [choice for choice in now if choice not in was]):
        yield Difference(where, f"may say {_list(fresh)}")
    if was and not now:
        yield Difference(where, "says anything now")


def _said(field: Mapping[str, Any]) -> list[str]:
    return list(field.get("enum", [field["const"]] if "const" in field else []))


def _list(values: list[str]) -> str:
    return ", ".join(map(str, values))


Row = tuple[str, ...]

SLOT_HEADINGS = ("slot", "holds", "places", "written by", "kept", "what belongs there")
MOST_EXAMPLES = 2
"""Maximum examples of a slot on the page and in the prompt; the JSON Schema has all of them."""

FIELD_HEADINGS = ("item", "field", "says", "is")


def own_slots(schema: Schema) -> list[SlotField]:
    """The slots that a schema adds or redeclares; for the generic state, all its slots."""
    generic = CompressedCognitiveState.slots()
    return [
        s
        for name, s in schema.slots().items()
        if schema is CompressedCognitiveState or generic.get(name) != s
    ]


def slot_rows(slots: Sequence[SlotField]) -> list[Row]:
    """One table row per slot, under `SLOT_HEADINGS`."""
    return [
        (slot.name, slot.item.__name__, str(slot.rules.max_items), _writers(slot), _kept(slot), slot.rules.guidance)
        for slot in slots
    ]  # fmt: skip


def field_rows(slots: Sequence[SlotField]) -> list[Row]:
    """One table row per field of each item type, under `FIELD_HEADINGS`."""
    items = dict.fromkeys(slot.item for slot in slots)
    return [
        (item.__name__, name, _says(item, name), _is(item, name))
        for item in items
        for name in item.own_fields()
    ]


def about(schema: Schema) -> str:
    """A schema's purpose, version and token limit, in one line."""
    version = own_version(schema)
    return f"{summary(schema)} Version {version}, at most {schema.max_tokens:,} tokens."


def summary(schema: Schema) -> str:
    """The first paragraph of a schema's docstring, as one line."""
    said = inspect.cleandoc(vars(schema).get("__doc__") or "").partition("\n\n")[0]
    return " ".join(said.split()) or "No docstring."


def page(schemas: Sequence[Schema]) -> str:
    """The Markdown reference page of ``schemas``. Lists the generic slots once."""
    lines = [
        "# Schema reference",
        "",
        "Generated from the types by `acc schema export --as page NAME...`; a test holds it to them.",
        "Every schema has the slots of the generic state, and adds its own. How to declare one:",
        "[schemas](schemas.md).",
    ]
    for schema in schemas:
        lines += ["", *_section(schema)]
    return "\n".join(lines) + "\n"


def _section(schema: Schema) -> Iterator[str]:
    slots = own_slots(schema)
    yield f"## {published_name(schema)}"
    yield ""
    yield f"`{schema.__module__}:{schema.__qualname__}`, stored as `{stored_name(schema)}`. {about(schema)}"
    yield ""
    yield from _markdown(SLOT_HEADINGS, slot_rows(slots))
    yield ""
    yield from _markdown(FIELD_HEADINGS, field_rows(slots))
    examples = [(slot.name, e) for slot in slots for e in slot.rules.examples[:MOST_EXAMPLES]]
    if examples:
        yield ""
        yield from (
            f'- `{name}`: "{e.text}" gives '
            + ", ".join(f"{field} *{value}*" for field, value in e.fields)
            for name, e in examples
        )


def _markdown(headings: Row, rows: Sequence[Row]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield "|" + "---|" * len(headings)
    yield from (f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _writers(slot: SlotField) -> str:
    return (
        "anybody"
        if slot.rules.min_trust is Trust.DOCUMENT
        else f"{slot.rules.min_trust.word} and above"
    )


def _kept(slot: SlotField) -> str:
    rules = slot.rules
    if rules.pinned:
        return "word for word, until lifted"
    if rules.ephemeral:
        return "one turn"
    return f"the thread; evicted {rules.eviction_priority}" + (
        "; with the words quoted" if rules.quote else ""
    )


def _says(item: type[Item], name: str) -> str:
    schema = wire_field(item, name)
    if choices := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return ", ".join(map(str, choices))
    longest = item.model_json_schema()["properties"][name].get("maxLength")
    return f"text up to {longest}" if longest else str(schema["type"])


def _is(item: type[Item], name: str) -> str:
    facts = {
        "the subject": name in item.key,
        "shown first": name == item.head,
        "not shown": name in item.unseen,
        "computed by commit": name in item.computed,
        "optional": not item.model_fields[name].is_required(),
    }
    return ", ".join(fact for fact, holds in facts.items() if holds)
