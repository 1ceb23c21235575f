"""``acc schema``: lists, shows, exports, checks and creates schemas."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from acc.cli.terminal import (
    JsonOption,
    argument,
    flag,
    option,
    print_json,
    print_table,
    tell,
    tell_table,
)
from acc.errors import AccError, InputError
from acc.folders import file_errors
from acc.schema import Schema, as_text, pages, published, schema_named, state_document
from acc.schema.pages import start
from acc.state.proposal import wire_schema
from acc.text.lines import count

Form = Literal["state", "wire", "page"]


def schema(
    names: Annotated[list[str] | None, argument("NAME", "A published name, file.py, or module:Class. [default: "
        "list all]")] = None,
    form: Annotated[Form | None, typer.Option("--as", help="Print the JSON Schema of a stored state, that of what "
        "a model writes (wire), or a reference page in Markdown, also of several schemas.")] = None,
    check: Annotated[Path | None, option("FILE", "Check that the stored state in this file loads.")] = None,
    new: Annotated[bool, flag("--new", "Write a commented example named NAME.py.")] = False,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """List, show, export, check and create schemas.

    With NAME alone, its slots are shown.
    """
    if not names:
        _list(as_json=json)
        return
    if len(names) > 1 and form != "page":
        what, hint = f"{len(names)} schemas", "name one, or add --as page"
        raise InputError(what, where=", ".join(names), hint=hint)
    if new:
        _start(names[0], as_json=json)
    elif form:
        found = [schema_named(name) for name in names]
        document = {"state": state_document, "wire": wire_schema}.get(form)
        sys.stdout.write(as_text(document(found[0])) if document else pages.page(found))
    elif check:
        _check(schema_named(names[0]), check, as_json=json)
    else:
        _show(schema_named(names[0]), as_json=json)


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
    return name, f"{found.max_tokens:,}", pages.summary(found), value


def _show(found: Schema, *, as_json: bool) -> None:
    slots = pages.own_slots(found)
    if as_json:
        told = {"schema": found.__name__, "slots": [slot.name for slot in slots]}
        print_json({**told, "document": state_document(found)})
        return
    print(f"{found.__name__}: {pages.about(found)}\n")
    print_table(
        pages.SLOT_HEADINGS, pages.slot_rows(slots), wrap=("written by", "what belongs there")
    )
    print()
    print_table(pages.FIELD_HEADINGS, pages.field_rows(slots), wrap=("says", "is"))
    if inherited := len(found.slots()) - len(slots):
        print(f"\nplus {count(inherited, 'slot')} of the generic state: acc schema generic")


def _check(found: Schema, file: Path, *, as_json: bool) -> None:
    with file_errors(InputError, "the state cannot be read", where=file, hint="use another file"):
        state = found.load(file.read_bytes())
    items = sum(1 for _ in state.items())
    told = f"{file} loads as {state.schema_name}: turn {state.turn:,}, {count(items, 'item')}"
    value = {"schema": state.schema_name, "turn": state.turn, "items": items}
    tell([told], value, as_json=as_json)


def _start(name: str, *, as_json: bool) -> None:
    file = start(name, Path())
    told = [
        f"{file}: the schema; change it to what your domain needs",
        f"then: acc schema {file}; acc replay FILE --schema {file}",
    ]
    tell(told, {"schema": str(file)}, as_json=as_json)
