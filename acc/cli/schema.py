"""``acc schema``: lists, shows, exports, checks, creates and compares schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from acc.cli.options import JsonOption, SchemaOption, typer_app
from acc.cli.output import count, print_json, print_table, write_text
from acc.compress.protocol import wire_schema
from acc.errors import InputError
from acc.schema.catalog import as_text, published, schema_named, state_document
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

schema = typer_app("List, show, export, check, create and compare schemas.")


@schema.command(name="list")
def list_(json: JsonOption = False) -> None:
    """List the schemas of all installed packages."""
    found = [(name, entry.value, schema_named(name)) for name, entry in published().items()]
    if json:
        print_json([
            {"name": name, "class": value, "version": own_version(schema),
             "max_tokens": schema.max_tokens, "summary": summary(schema)}
            for name, value, schema in found
        ])  # fmt: skip
        return
    rows = [
        (name, str(own_version(schema)), f"{schema.max_tokens:,}", summary(schema), value)
        for name, value, schema in found
    ]
    print_table(("name", "version", "max tokens", "use", "class"), rows, wrap=("use", "class"))


@schema.command()
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A name that acc schema list shows, file.py, or module:Class."
        ),
    ],
    whole: Annotated[
        bool, typer.Option("--all", help="Also show the slots of the generic state.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show the slots of a schema and their items."""
    schema = schema_named(name)
    slots = list(schema.slots().values()) if whole else own_slots(schema)
    if json:
        document = state_document(schema)
        print_json({slot.name: document["properties"][slot.name]["x-acc"] for slot in slots})
        return
    print(f"{schema.__name__}: {about(schema)}\n")
    print_table(SLOT_HEADINGS, slot_rows(slots), wrap=("kept", "what belongs there"))
    print()
    print_table(FIELD_HEADINGS, field_rows(slots), wrap=("says", "is"))
    inherited = len(schema.slots()) - len(slots)
    if inherited:
        print(f"\nplus {inherited} slots of the generic state: acc schema show {name} --all")


@schema.command()
def export(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME", help="One schema, or several with --as page."),
    ],
    form: Annotated[
        Literal["state", "wire", "page"],
        typer.Option(
            "--as",
            help="state: JSON Schema of a stored state. wire: JSON Schema of what a model writes. "
            "page: reference page in Markdown.",
        ),
    ] = "state",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file to write. [default: stdout]")
    ] = None,
) -> None:
    """Write a schema as JSON Schema or as a page."""
    schemas = [schema_named(name) for name in names]
    if len(schemas) > 1 and form != "page":
        raise InputError(
            f"{len(schemas)} schemas for one JSON Schema",
            where=", ".join(names),
            hint="name one schema, or add --as page",
        )
    if form == "page":
        text = page(schemas)
    else:
        text = as_text((state_document if form == "state" else wire_schema)(schemas[0]))
    write_text(out or "-", text)


@schema.command()
def check(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A schema (file.py or another name of it), or a stored state (file.json).",
        ),
    ],
    schema: SchemaOption = None,
    json: JsonOption = False,
) -> None:
    """Check a schema, or that a stored state loads."""
    if file.endswith(".json"):
        if schema is None and Path(file).exists():
            raise InputError(
                "the schema of this stored state is not named", where=file, hint="add --schema NAME"
            )
        state = stored_state(schema or schema_named("generic"), Path(file))
        items = sum(1 for _ in state.items())
        if json:
            print_json({
                "schema": state.schema_name, "turn": state.turn, "items": items, "hash": state.hash,
            })  # fmt: skip
        else:
            print(
                f"{file} loads as {state.schema_name}: turn {state.turn:,}, {count(items, 'item')}"
            )
        return
    found = schema_named(file)
    advised = advice(found)
    if json:
        print_json({"schema": found.__name__, "version": own_version(found), "advice": advised})
        return
    own = len(own_slots(found))
    print(
        f"{found.__name__} is valid: version {own_version(found)}, {count(own, 'slot')} of its own"
    )
    for line in advised:
        print(f"advice: {line}")


@schema.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The domain, such as clinic.")],
    folder: Annotated[Path, typer.Option(metavar="DIR", help="The folder to write to.")] = Path(),
    json: JsonOption = False,
) -> None:
    """Write a commented example schema and its test."""
    file, test = start(name, folder)
    if json:
        print_json({"schema": str(file), "test": str(test)})
        return
    print(f"{file}: the schema; change it to what your domain needs")
    print(f"{test}: its test; run it with: python -m pytest {test}")
    print(f"then: acc schema check {file}; acc replay FILE --schema {file}")


@schema.command()
def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A schema, or its exported JSON.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="A schema, or its exported JSON.")],
    json: JsonOption = False,
) -> None:
    """Compare two schemas, and show what a migration must answer."""
    before, after = document_named(old), document_named(new)
    found = differences(before, after)
    questions = len(open_questions(before, after))
    since, until = version_of(before), version_of(after)
    if json:
        changes = [difference._asdict() for difference in found]
        print_json({"from": since, "to": until, "to_answer": questions, "changes": changes})
        return
    for difference in found:
        print("\n".join(_difference_lines(difference)))
    if not found:
        print("no difference that affects a stored state")
    elif not questions:
        print("stored states load as they are")
    elif until > since:
        print(
            f"{count(questions, 'question')} to answer in the migrations from version {since} to {until}"
        )
    else:
        print(
            f"{count(questions, 'question')} to answer: set schema_version to {since + 1}, and declare a "
            f"migration from {since}"
        )


def _difference_lines(difference: Difference) -> list[str]:
    lines = [f"{difference.where}: {difference.change}".removeprefix(": ")]
    if difference.question:
        lines.append(f"    question: {difference.question}")
    if difference.effect:
        lines.append(f"    stored states: {difference.effect}")
    return lines
