"""The commands below ``acc schema``. Each returns a callable, like those of `acc.cli.commands`."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from acc.cli.options import JsonOption, SchemaOption, schema_class

Work = Callable[[], None]

schema_app = typer.Typer(rich_markup_mode=None)


class Form(StrEnum):
    """The export formats of a schema."""

    STATE = "state"
    WIRE = "wire"
    PAGE = "page"


NameArgument = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A name of acc schema list, file.py, or module:Class."),
]


@schema_app.callback(invoke_without_command=True)
def schema(context: typer.Context) -> None:
    """List, show, export, check, create and compare schemas."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@schema_app.command(name="list")
def list_(json: JsonOption = False) -> Work:
    """List the schemas that installed packages publish."""
    from acc.cli.schema import list_schemas as work

    return lambda: work(as_json=json)


@schema_app.command()
def show(
    name: NameArgument,
    whole: Annotated[
        bool, typer.Option("--all", help="With the slots of the generic state.")
    ] = False,
    json: JsonOption = False,
) -> Work:
    """Show the slots of a schema as tables."""
    from acc.cli.schema import show_schema as work

    return lambda: work(name, whole=whole, as_json=json)


@schema_app.command()
def export(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Several for a page.")],
    form: Annotated[
        Form,
        typer.Option(
            "--as",
            help="JSON Schema of a stored state, or of what a model writes; or a reference page.",
        ),
    ] = Form.STATE,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="By default stdout.")
    ] = None,
) -> Work:
    """Write a schema as JSON Schema."""
    from acc.cli.schema import export_schema as work

    return lambda: work(names, form.value, out)


@schema_app.command()
def check(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="file.py with a schema, or a stored state (.json)."),
    ],
    schema: SchemaOption = None,
    json: JsonOption = False,
) -> Work:
    """Check a schema's declaration, or that a stored state loads."""
    from acc.cli.schema import check_schema as work

    return lambda: work(file, schema=schema_class(schema), as_json=json)


@schema_app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The domain, such as clinic.")],
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="Where to write it.")
    ] = Path(),
    json: JsonOption = False,
) -> Work:
    """Write a commented example schema that passes its own test."""
    from acc.cli.schema import new_schema as work

    return lambda: work(name, folder, as_json=json)


@schema_app.command()
def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A schema, or its exported JSON.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="A schema, or its exported JSON.")],
    json: JsonOption = False,
) -> Work:
    """Show the differences of two schemas, and the questions that a migration must answer."""
    from acc.cli.schema import compare_schemas as work

    return lambda: work(old, new, as_json=json)
