"""``acc schema``: lists, shows, exports, checks, creates and compares schemas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from acc.cli.screen import table, told_json
from acc.compress.protocol import wire_schema
from acc.errors import InputError
from acc.folders import opened_for_text
from acc.schema.catalog import Schema, as_text, published, schema_named, state_document
from acc.schema.pages import (
    FIELD_HEADINGS,
    SLOT_HEADINGS,
    Difference,
    about,
    differences,
    document_named,
    field_rows,
    open_questions,
    own_slots,
    page,
    slot_rows,
    summary,
    version_of,
)
from acc.schema.starting import advice, start, stored_state
from acc.state.migrations import own_version
from acc.state.model import CompressedCognitiveState


def list_schemas(*, as_json: bool = False) -> None:
    """Print the published schemas."""
    found = [(name, entry.value, schema_named(name)) for name, entry in published().items()]
    if as_json:
        told_json([
            {"name": name, "class": value, "version": own_version(schema),
             "max_tokens": schema.max_tokens, "summary": summary(schema)}
            for name, value, schema in found
        ])  # fmt: skip
        return
    rows = [
        (name, str(own_version(schema)), f"{schema.max_tokens:,}", summary(schema), value)
        for name, value, schema in found
    ]
    table(("name", "version", "tokens", "for", "class"), rows, folds=("for", "class"))


def show_schema(name: str, *, whole: bool = False, as_json: bool = False) -> None:
    """Print a schema's own slots and their items; with ``whole`` the inherited slots too."""
    schema = schema_named(name)
    slots = list(schema.slots().values()) if whole else own_slots(schema)
    if as_json:
        document = state_document(schema)
        told_json({slot.name: document["properties"][slot.name]["x-acc"] for slot in slots})
        return
    print(f"{schema.__name__}: {about(schema)}\n")
    table(SLOT_HEADINGS, slot_rows(slots), folds=("kept", "what belongs there"))
    print()
    table(FIELD_HEADINGS, field_rows(slots), folds=("says", "is"))
    inherited = len(schema.slots()) - len(slots)
    if inherited:
        print(f"\nand the {inherited} slots of the generic state: acc schema show {name} --all")


_FORMS: dict[str, Callable[[Sequence[Schema]], str]] = {
    "state": lambda schemas: as_text(state_document(schemas[0])),
    "wire": lambda schemas: as_text(wire_schema(schemas[0])),
    "page": page,
}


def export_schema(names: Sequence[str], form: str, out: Path | None) -> None:
    """Write a schema as JSON Schema, or several as a reference page, to ``out`` or stdout.

    Raises:
        InputError: Several schemas are given for a form that takes one, or the file cannot be
            written.
    """
    schemas = [schema_named(name) for name in names]
    if len(schemas) > 1 and form != "page":
        raise InputError(
            f"{len(schemas)} schemas for one JSON Schema", where=", ".join(names), hint="name one"
        )
    text = _FORMS[form](schemas)
    if out is None:
        print(text, end="")
    else:
        _write(out, text)


def _write(out: Path, text: str) -> None:
    try:
        with opened_for_text(out) as file:
            file.write(text)
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror or error}",
            where=str(out),
            hint="name another file",
        ) from error


def check_schema(file: str, *, schema: Schema | None = None, as_json: bool = False) -> None:
    """Check a schema's declaration, or load a stored state (a ``.json`` file) under ``schema``.

    Raises:
        SchemaError: The declaration is wrong.
        StateError: The state does not load.
    """
    if file.endswith(".json"):
        _check_stored(Path(file), schema, as_json)
        return
    found = schema_named(file)
    advised = advice(found)
    if as_json:
        told_json({"schema": found.__name__, "version": own_version(found), "advice": advised})
        return
    own = own_slots(found)
    print(
        f"{found.__name__} is declared rightly: version {own_version(found)}, {len(own)} slots of its own"
    )
    for line in advised:
        print(f"advice: {line}")


def _check_stored(file: Path, schema: Schema | None, as_json: bool) -> None:
    if schema is None and file.exists():
        raise InputError(
            "a stored state without its schema", where=str(file), hint="name it with --schema NAME"
        )
    state = stored_state(schema or CompressedCognitiveState, file)
    items = sum(1 for _ in state.items())
    if as_json:
        told_json(
            {"schema": state.schema_name, "turn": state.turn, "items": items, "hash": state.hash}
        )
        return
    print(f"{file} loads as {state.schema_name}: turn {state.turn:,}, {items} items")


def new_schema(name: str, folder: Path, *, as_json: bool = False) -> None:
    """Write a commented example schema and its test into ``folder``."""
    schema, test = start(name, folder)
    if as_json:
        told_json({"schema": str(schema), "test": str(test)})
        return
    print(f"{schema}: the schema; change it to what your domain carries")
    print(f"{test}: its test; run it with: python -m pytest {test}")
    print(f"then: acc schema check {schema}; acc replay FILE --schema {schema}")


def compare_schemas(old: str, new: str, *, as_json: bool = False) -> None:
    """Print the differences of two schemas, and the questions that a migration must answer."""
    before, after = document_named(old), document_named(new)
    found = differences(before, after)
    asked = len(open_questions(before, after))
    since, until = version_of(before), version_of(after)
    if as_json:
        changes = [difference._asdict() for difference in found]
        told_json({"from": since, "to": until, "to_answer": asked, "changes": changes})
        return
    for difference in found:
        print("\n".join(_lines(difference)))
    print(_verdict(len(found), asked, since, until))


def _lines(difference: Difference) -> list[str]:
    lines = [f"{difference.where}: {difference.change}".removeprefix(": ")]
    if difference.question:
        lines.append(f"    to answer: {difference.question}")
    if difference.effect:
        lines.append(f"    stored states: {difference.effect}")
    return lines


def _verdict(found: int, asked: int, since: int, until: int) -> str:
    if not found:
        return "no difference that a stored state could feel"
    if not asked:
        return "stored states load as they are"
    if until > since:
        return f"{asked} to answer, by the migrations from version {since} to {until}"
    return f"{asked} to answer: set schema_version to {since + 1}, and declare a migration from {since}"
