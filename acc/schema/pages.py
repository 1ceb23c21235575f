"""A schema for people: rows for a terminal, and its page of the reference."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence

from acc.items import Item
from acc.migrations import own_version, stored_name
from acc.schema.catalog import Schema, published_name
from acc.slots import SlotField
from acc.state import CompressedCognitiveState
from acc.turn import Trust
from acc.wire_fields import wire_field

Row = tuple[str, ...]

SLOT_HEADINGS = ("slot", "holds", "places", "written by", "kept", "what belongs there")
MOST_EXAMPLES = 2
"""Examples of a slot that the page and the prompt show; the JSON Schema has them all."""

FIELD_HEADINGS = ("item", "field", "says", "is")


def own_slots(schema: Schema) -> list[SlotField]:
    """The slots that a schema adds to the generic state, or declares anew; all of the generic one."""
    generic = CompressedCognitiveState.slots()
    return [
        s
        for name, s in schema.slots().items()
        if schema is CompressedCognitiveState or generic.get(name) != s
    ]


def slot_rows(slots: Sequence[SlotField]) -> list[Row]:
    """A row a slot, under `SLOT_HEADINGS`."""
    return [
        (slot.name, slot.item.__name__, str(slot.rules.places), _writers(slot), _kept(slot), slot.rules.guidance)
        for slot in slots
    ]  # fmt: skip


def field_rows(slots: Sequence[SlotField]) -> list[Row]:
    """A row a field of each item type, under `FIELD_HEADINGS`."""
    items = dict.fromkeys(slot.item for slot in slots)
    return [
        (item.__name__, name, _says(item, name), _is(item, name))
        for item in items
        for name in item.own_fields()
    ]


def about(schema: Schema) -> str:
    """A schema's first line: what it is for, its version and its bound."""
    version = own_version(schema)
    return f"{summary(schema)} Version {version}, at most {schema.max_tokens:,} tokens."


def summary(schema: Schema) -> str:
    """The first paragraph of a schema's docstring, as one line."""
    said = inspect.cleandoc(vars(schema).get("__doc__") or "").partition("\n\n")[0]
    return " ".join(said.split()) or "No docstring."


def page(schemas: Sequence[Schema]) -> str:
    """The reference page of some schemas, in Markdown; the generic slots are told once."""
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
    return "anybody" if slot.rules.write is Trust.DOCUMENT else f"{slot.rules.write.word} and above"


def _kept(slot: SlotField) -> str:
    rules = slot.rules
    if rules.pinned:
        return "word for word, until lifted"
    if rules.lifetime == "turn":
        return "one turn"
    return f"the thread; evicted {rules.evict}" + ("; with the words quoted" if rules.quote else "")


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
