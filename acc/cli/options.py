"""Options that several commands share, and the parsers of their values."""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.main import get_command

from acc.audit.medium import DATABASE, AuditPlace, AuditStore, audit_store
from acc.compress.protocol import Price
from acc.folders import expanded
from acc.schema.catalog import Schema, schema_named
from acc.state.proposal import Mode
from acc.state.render import Style


def typer_app(help: str) -> typer.Typer:
    """A group of commands that prints its help if no command is given."""

    def print_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    return typer.Typer(
        rich_markup_mode=None, add_completion=False, help=help,
        invoke_without_command=True, callback=print_help,
    )  # fmt: skip


class Server(NamedTuple):
    """The address of a Chroma server."""

    host: str
    port: int


def parse_server(text: str) -> Server:
    """Parse HOST:PORT.

    Raises:
        typer.BadParameter: The text has another form.
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise typer.BadParameter(f"{text!r} is not HOST:PORT")
    return Server(host.removeprefix("[").removesuffix("]"), int(port))


def parse_price(text: str) -> Price:
    """Parse IN,OUT or IN,OUT,CACHED: money per million tokens.

    Raises:
        typer.BadParameter: The text has another form.
        ConfigurationError: A number is negative.
    """
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        numbers = []
    if not 2 <= len(numbers) <= 3:
        raise typer.BadParameter(f"{text!r} is not IN,OUT or IN,OUT,CACHED per million tokens")
    return Price(*numbers)


def _expand(path: Path | None) -> Path | None:
    """Expand ``~``. A shell expands it in ``--memory ~/x`` but not in ``--memory=~/x``."""
    return expanded(path) if path is not None else None


DEFAULT_MEMORY = Path("memory")

_DATABASE: ContextVar[AuditStore | None] = ContextVar("audit", default=None)


def audit_place(memory: Path) -> AuditPlace:
    """The place of the audit logs of a memory: the database of ``--audit``, or the folder in the memory's."""
    return _DATABASE.get() or memory.absolute() / "audit"


def _use_database(context: typer.Context, address: str | None) -> None:
    """Open the database of the audit logs for the running command, and close it at its end."""
    database = None
    if address and not address.startswith(DATABASE):
        raise typer.BadParameter("--audit is not postgresql://...")
    if address:
        database = audit_store(address)
        context.call_on_close(database.close)
    _DATABASE.set(database)


def _with_audit(
    audit: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="ACC_AUDIT",
            expose_value=False,  # `audit_place` returns it
            callback=_use_database,
            help="The PostgreSQL database that holds the audit logs, as postgresql://... "
            "[default: the folder audit in the memory's]",
        ),
    ] = None,
) -> None:
    """Declare the option that every command with ``--memory DIR`` has."""


def with_audit_option(command: Any) -> Any:
    """Add ``--audit`` to a command that has the option ``--memory DIR``, and to no other."""
    if any("--memory" in option.opts and option.metavar == "DIR" for option in command.params):
        declared = typer.Typer(add_completion=False)
        declared.command()(_with_audit)
        command.params += [o for o in get_command(declared).params if "--audit" in o.opts]
    return command


MemoryOption = Annotated[
    Path,
    typer.Option("--memory", metavar="DIR", help="The memory's folder.", callback=_expand),
]
NewMemoryOption = Annotated[
    Path | None,
    typer.Option(
        "--memory",
        metavar="DIR",
        help="Keep the memory in this folder. If the folder already holds the thread, continue "
        "after its last turn. [default: a temporary folder]",
        callback=_expand,
    ),
]
ThreadOption = Annotated[
    str | None,
    typer.Option(
        "--thread", metavar="NAME", help="The thread. [default: the only one in the memory]"
    ),
]
UserOption = Annotated[str, typer.Option(metavar="NAME", help="The user.")]
AgentOption = Annotated[str, typer.Option(metavar="NAME", help="The agent.")]
TenantOption = Annotated[str, typer.Option(metavar="NAME", help="The tenant.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ResultsOption = Annotated[
    str,
    typer.Option(
        "--json", metavar="FILE", help="Write the results as JSON to this file; - for stdout."
    ),
]
StyleOption = Annotated[
    Style | None,
    typer.Option(help="Notation of the printed state. [default: that of the thread]"),
]
MaxTokensOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=64, help="Maximum tokens of the state. [default: the schema's]"),
]
SchemaOption = Annotated[
    Schema | None,
    typer.Option(
        metavar="NAME",
        help="The schema of the state: a name that acc schema list shows, file.py, or "
        "module:Class. [default: the thread's, or generic]",
        parser=schema_named,
    ),
]
ServerOption = Annotated[
    Server | None,
    typer.Option(
        metavar="HOST:PORT",
        help="The Chroma server that holds the evidence. The audit logs stay in the folder, "
        "or in the database of --audit.",
        parser=parse_server,
    ),
]
ModelOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Compress with this model: openai:NAME or NAME (uses OPENAI_BASE_URL and "
        "OPENAI_API_KEY), or PROVIDER:NAME through LangChain. [default: the keyless rules]",
    ),
]
ModeOption = Annotated[
    Mode | None,
    typer.Option(
        help="What the model writes: changes (revise) or the whole state (rewrite). "
        "[default: revise]"
    ),
]
PriceOption = Annotated[
    Price | None,
    typer.Option(
        metavar="IN,OUT[,CACHED]",
        help="Price of the model per million tokens, in any currency.",
        parser=parse_price,
    ),
]
