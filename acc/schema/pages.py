"""What is told of a schema: its tables, and an example to start from."""

from __future__ import annotations

import inspect
import keyword
import sys
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from acc.errors import InputError
from acc.schema import Schema, published_name
from acc.state.items import Item, Words
from acc.state.model import CompressedCognitiveState
from acc.state.slots import SlotField, choices_of, key_of
from acc.turn.observations import Trust

Row = tuple[str, ...]

SLOT_HEADINGS = ("slot", "holds", "places", "written by", "leaves", "what belongs there")
FIELD_HEADINGS = ("item", "field", "says", "is")


def own_slots(schema: Schema) -> list[SlotField]:
    """Return the slots that a schema adds or redeclares; for the generic state, all its slots."""
    generic = CompressedCognitiveState.slots()
    return [
        slot
        for name, slot in schema.slots().items()
        if schema is CompressedCognitiveState or generic.get(name) != slot
    ]


def slot_rows(slots: Sequence[SlotField]) -> list[Row]:
    """Return one table row per slot, under `SLOT_HEADINGS`."""
    return [
        (s.name, s.item.__name__, str(s.rules.places), _writers(s), _leaves(s), s.rules.guidance)
        for s in slots
    ]


def field_rows(slots: Sequence[SlotField]) -> list[Row]:
    """Return one table row per field of each item type, under `FIELD_HEADINGS`."""
    return [
        (item.__name__, name, _values(item, name), _remarks(item, name))
        for item in dict.fromkeys(slot.item for slot in slots)
        for name in item.own_fields()
    ]


def about(schema: Schema) -> str:
    """Return a schema's purpose and token limit, in one line."""
    return f"{summary(schema)} At most {schema.max_tokens:,} tokens."


def summary(schema: Schema) -> str:
    """Return the first paragraph of a schema's docstring, as one line."""
    first = inspect.cleandoc(vars(schema).get("__doc__") or "").partition("\n\n")[0]
    return " ".join(first.split()) or "No docstring."


def page(schemas: Sequence[Schema]) -> str:
    """Return the Markdown reference page of ``schemas``. Lists the generic slots once."""
    lines = [
        "# Schema reference",
        "",
        "Generated from the types by `acc schema NAME... --as page`.",
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
    yield f"`{schema.__module__}:{schema.__qualname__}`. {about(schema)}"
    yield ""
    yield from _markdown(SLOT_HEADINGS, slot_rows(slots))
    yield ""
    yield from _markdown(FIELD_HEADINGS, field_rows(slots))


def _markdown(headings: Row, rows: Sequence[Row]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield "|" + "---|" * len(headings)
    yield from (
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows
    )


def _writers(slot: SlotField) -> str:
    if slot.is_pinned:
        who = "user and operator, in their words"
    elif not slot.is_record:
        who = "commit"
    else:
        least = slot.rules.least
        who = "anybody" if least is Trust.DOCUMENT else f"{least.word} and above"
    return who


def _leaves(slot: SlotField) -> str:
    if slot.is_pinned:
        return "when its speaker ends it"
    if not slot.is_record:
        return "with the next compression"
    return "dropped or replaced" + (
        f"; first, over {slot.rules.share:.0%} of the room" if slot.rules.share < 1 else ""
    )


def _values(item: type[Item], name: str) -> str:
    if name in (choices := choices_of(item)):
        return ", ".join(choices[name])
    if item.model_fields[name].annotation in (Words, Words | None):
        return "words and who said them"
    found = item.model_json_schema()["properties"][name]
    longest = found.get("maxLength")
    return f"text up to {longest}" if longest else str(found.get("type", "one of a few"))


def _remarks(item: type[Item], name: str) -> str:
    facts = {
        "the subject": name in key_of(item),
        "optional": not item.model_fields[name].is_required(),
    }
    return ", ".join(fact for fact, holds in facts.items() if holds)


_TAKEN = sys.stdlib_module_names | {"acc", "acc_schemas", "acc_graphs", "pydantic", "pytest"}
"""Modules that a file of the same name would shadow."""


def start(name: str, folder: Path) -> Path:
    """Write the example of a domain, such as ``field_service``, into ``folder``, and return its file."""
    is_name = name.isascii() and name.isidentifier() and name == name.lower()
    if not is_name or keyword.iskeyword(name) or name in _TAKEN:
        raise InputError(
            f"{name!r} is {'taken' if name in _TAKEN else 'not a module name'}",
            where="acc schema --new",
            hint="choose a name such as field_service",
        )
    words = [word.capitalize() for word in name.split("_") if word]
    file = folder / f"{name}.py"
    if file.exists():
        raise InputError("the file exists already", where=str(file), hint="choose another name")
    example = files(__package__).joinpath("new_schema.txt").read_text(encoding="utf-8")
    text = example.format(title=" ".join(words), state=f"{''.join(words)}State")
    file.write_text(text, encoding="utf-8")
    return file
