"""``acc schema``: lists schemas, shows the tables of one, and prints its JSON Schemas."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from acc.cli.terminal import JsonOption, argument, print_json, print_table, tell_table
from acc.errors import AccError
from acc.schema import Schema, as_text, published, schema_named, state_document
from acc.state.items import Item, Words
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import wire_schema
from acc.state.slots import SlotField, choices_of, key_of
from acc.text.lines import count
from acc.turn.observations import Trust

Row = tuple[str, ...]

_SLOT_HEADINGS = ("slot", "holds", "places", "written by", "leaves", "what belongs there")
_FIELD_HEADINGS = ("item", "field", "says", "is")


def schema(
    name: Annotated[str, argument("NAME", "A published name, file.py, or module:Class. [default: list all]")] = "",
    form: Annotated[Literal["state", "wire"] | None, typer.Option("--as", help="Print the JSON Schema of a stored "
        "state, or that of what a model writes (wire).")] = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """List, show and export schemas.

    With NAME alone, its slots are shown.
    """
    if not name:
        _list(as_json=json)
    elif form:
        document = state_document if form == "state" else wire_schema
        sys.stdout.write(as_text(document(schema_named(name))))
    else:
        _show(schema_named(name), as_json=json)


def _list(*, as_json: bool) -> None:
    rows = [_row(name, entry.value) for name, entry in published().items()]
    names = ("name", "max_tokens", "summary", "class")
    value, none = [dict(zip(names, row, strict=True)) for row in rows], "no schema is published"
    tell_table(names, rows, value, wrap=("summary", "class"), none=none, as_json=as_json)


def _row(name: str, value: str) -> tuple[str, str, str, str]:
    try:
        found = schema_named(name)
    except AccError as error:  # of a package that is broken: the others are listed all the same
        return name, "", f"cannot be loaded: {error.what}", value
    return name, f"{found.max_tokens:,}", _summary(found), value


def _show(found: Schema, *, as_json: bool) -> None:
    slots = own_slots(found)
    if as_json:
        told = {"schema": found.__name__, "slots": [slot.name for slot in slots]}
        print_json({**told, "document": state_document(found)})
        return
    print(f"{found.__name__}: {_summary(found)} At most {found.max_tokens:,} tokens.\n")
    print_table(_SLOT_HEADINGS, _slot_rows(slots), wrap=("written by", "what belongs there"))
    print()
    print_table(_FIELD_HEADINGS, _field_rows(slots), wrap=("says", "is"))
    if inherited := len(found.slots()) - len(slots):
        print(f"\nplus {count(inherited, 'slot')} of the generic state: acc schema generic")


def own_slots(schema: Schema) -> list[SlotField]:
    """Return the slots that a schema adds or redeclares; for the generic state, all its slots."""
    generic = CompressedCognitiveState.slots()
    return [
        slot
        for name, slot in schema.slots().items()
        if schema is CompressedCognitiveState or generic.get(name) != slot
    ]


def _summary(schema: Schema) -> str:
    """Return the first paragraph of a schema's docstring, as one line."""
    first = inspect.cleandoc(vars(schema).get("__doc__") or "").partition("\n\n")[0]
    return " ".join(first.split()) or "No docstring."


def _slot_rows(slots: Sequence[SlotField]) -> list[Row]:
    return [
        (s.name, s.item.__name__, str(s.rules.places), _writers(s), _leaves(s), s.rules.guidance)
        for s in slots
    ]


def _field_rows(slots: Sequence[SlotField]) -> list[Row]:
    return [
        (item.__name__, name, _values(item, name), _remarks(item, name))
        for item in dict.fromkeys(slot.item for slot in slots)
        for name in item.own_fields()
    ]


def _writers(slot: SlotField) -> str:
    if slot.is_pinned:
        return "user and operator, in their words"
    if not slot.is_record:
        return "commit"
    least = slot.rules.least
    return "anybody" if least is Trust.DOCUMENT else f"{least.word} and above"


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
