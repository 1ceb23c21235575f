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
        raise InputError(
            what, where=name, hint="use the name of a schema, or its JSON file"
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _no_document(name) from error
    if not complete:
        raise _no_document(name)
    return dict(found)


def _no_document(name: str) -> InputError:
    return InputError(
        "not an exported schema",
        where=name,
        hint="create it with acc schema export NAME --out FILE",
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
            "states are stored under the name of their class: keep the name, or load old states with the old class",
        )  # fmt: skip
    if now["max_tokens"] < was["max_tokens"]:
        yield Difference(
            "", f"max_tokens {was['max_tokens']} -> {now['max_tokens']}",
            effect="the next commit evicts items into the store; rules and goals that alone exceed it stop the thread",
        )  # fmt: skip
    elif now["max_tokens"] > was["max_tokens"]:
        yield Difference("", f"max_tokens {was['max_tokens']} -> {now['max_tokens']}")


def _removed(name: str, was: Mapping[str, Any]) -> Iterator[Difference]:
    into = "which slot with quotes" if was["quote"] else "which slot"
    yield Difference(name, "removed", f"{into} gets its items? Each keeps its id")


def _slot(name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    yield from _fields(name, was["fields"], now["fields"])
    if was["key"] != now["key"]:
        yield Difference(
            name, f"key {_list(was['key'])} -> {_list(now['key'])}",
            effect="stored items with the same new key stay until the next such item replaces the first",
        )  # fmt: skip
    if was["head"] != now["head"]:
        yield Difference(name, f"head {was['head']} -> {now['head']}")
    yield from _rules(name, was, now)


_EFFECTS = {
    "pinned": "stored items are pinned from the next commit on, or can be evicted again",
    "quote": "stored items do not change; new items follow the new rule",
    "write": "stored items keep their trust; new items need the new trust",
    "lifetime": "stored items expire, or stay, from the next commit on",
    "letter": "stored items keep their ids",
    "evict": "",
    "guidance": "",
}


def _rules(name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    if now["places"] != was["places"]:
        fewer = now["places"] < was["places"]
        effect = "the next commit evicts items into the store; a thread with more pinned items than places stops"
        yield Difference(
            name, f"places {was['places']} -> {now['places']}", effect=effect if fewer else ""
        )
    for rule, effect in _EFFECTS.items():
        if was[rule] != now[rule]:
            change = rule if rule == "guidance" else f"{rule} {was[rule]} -> {now[rule]}"
            yield Difference(name, change, effect=effect)
    before, after = was.get("roles", []), now.get("roles", [])
    if before != after:
        change = f"roles {_list(before) or 'all'} -> {_list(after) or 'all'}"
        effect = (
            "a stored state of a role that loses the slot does not load while it holds items there"
        )
        yield Difference(name, change, effect=effect if after else "")


def _fields(name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    for field in (field for field in was if field not in now):
        yield Difference(
            f"{name}.{field}", "removed",
            f"which field gets its value? If none, the migration rewrites {name}.{field}",
        )  # fmt: skip
    for field in (field for field in now if field not in was):
        asks = "which value do stored items get?" if now[field]["required"] else ""
        yield Difference(f"{name}.{field}", "added" if asks else "added, with a default", asks)
    for field in (field for field in was if field in now):
        yield from _field(f"{name}.{field}", was[field], now[field])


def _field(where: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    if was.get("type") != now.get("type"):
        yield Difference(
            where, f"type {was.get('type')} -> {now.get('type')}",
            f"what happens to stored values? The migration rewrites {where}",
        )  # fmt: skip
        return
    yield from _choices(where, _allowed(was), _allowed(now))
    if not _allowed(now):
        yield from _lengths(where, was, now)


def _lengths(where: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    lengths = [len(choice) for choice in _allowed(was)]
    longest = max(lengths, default=was.get("maxLength"))
    shortest = min(lengths, default=was.get("minLength", 0))
    most = now.get("maxLength")
    if most is not None and (longest is None or most < longest):
        change = f"at most {most} characters" + (f", was {longest}" if longest else "")
        yield Difference(
            where, change, f"what happens to longer texts? The migration rewrites {where}"
        )
    if now.get("minLength", 0) > shortest:
        yield Difference(where, "may not be empty", "which value do items with an empty value get?")


def _choices(where: str, was: list[str], now: list[str]) -> Iterator[Difference]:
    gone = [choice for choice in was if choice not in now]
    if now and (gone or not was):
        change = f"no longer allows {_list(gone)}" if gone else f"allows only {_list(now)}"
        yield Difference(
            where, change, f"which value do other items get? The migration rewrites {where}"
        )
    if was and (fresh := [choice for choice in now if choice not in was]):
        yield Difference(where, f"now allows {_list(fresh)}")
    if was and not now:
        yield Difference(where, "now allows any text")


def _allowed(field: Mapping[str, Any]) -> list[str]:
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
        (item.__name__, name, _values(item, name), _remarks(item, name))
        for item in items
        for name in item.own_fields()
    ]


def about(schema: Schema) -> str:
    """A schema's purpose, version and token limit, in one line."""
    version = own_version(schema)
    return f"{summary(schema)} Version {version}, at most {schema.max_tokens:,} tokens."


def summary(schema: Schema) -> str:
    """The first paragraph of a schema's docstring, as one line."""
    first = inspect.cleandoc(vars(schema).get("__doc__") or "").partition("\n\n")[0]
    return " ".join(first.split()) or "No docstring."


def page(schemas: Sequence[Schema]) -> str:
    """The Markdown reference page of ``schemas``. Lists the generic slots once."""
    lines = [
        "# Schema reference",
        "",
        "Generated from the types by `acc schema export --as page NAME...`; a test holds it to them.",
        "Every schema has the slots of the generic state, and adds its own. How to declare one:",
        "[schemas](schemas.md).",
        "",
        "The `status` of a fact says on whose word it stands: `stated` by the user, `decided`, `observed` (its",
        "author saw it, as in the output of a tool), `reported` (somebody else said it), or `hypothesis`",
        "(unsettled). A fact of a tool or document reads `by tool` or `by document` instead; behind `hypothesis`",
        "and others that such a source does not usually have, it stands too.",
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
    least, roles = slot.rules.min_trust, slot.rules.roles
    who = "anybody" if least is Trust.DOCUMENT else f"{least.word} and above"
    return who + (f", for {', '.join(roles)}" if roles else "")


def _kept(slot: SlotField) -> str:
    rules = slot.rules
    if rules.pinned:
        return "word for word, until lifted"
    if rules.ephemeral:
        return "one turn"
    return f"the thread; evicted {rules.eviction_priority}" + (
        "; with the words quoted" if rules.quote else ""
    )


def _values(item: type[Item], name: str) -> str:
    schema = wire_field(item, name)
    if choices := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return ", ".join(map(str, choices))
    longest = item.model_json_schema()["properties"][name].get("maxLength")
    return f"text up to {longest}" if longest else str(schema["type"])


def _remarks(item: type[Item], name: str) -> str:
    facts = {
        "the subject": name in item.key,
        "shown first": name == item.head,
        "not shown": name in item.unseen,
        "computed by commit": name in item.computed,
        "optional": not item.model_fields[name].is_required(),
    }
    return ", ".join(fact for fact, holds in facts.items() if holds)
