"""The commands and their options. Each command returns a callable that `acc.cli.run` calls.

The module imports no other part of the library before it knows the command, which keeps ``acc
--help`` fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from acc.cli import evidence_commands
from acc.cli.eval_commands import evaluation
from acc.cli.evidence_commands import TenantOption
from acc.cli.options import (
    Api,
    ApiOption,
    AskedOption,
    BoundOption,
    ChannelOption,
    EndpointOption,
    FileArgument,
    JsonOption,
    KeepOption,
    MemoryOption,
    MendOption,
    ModelOption,
    ModeOption,
    NameOption,
    OutOption,
    PriceOption,
    QuietOption,
    RepairOption,
    ReportOption,
    SchemaOption,
    SchemasOption,
    SecondsOption,
    ServerOption,
    StyleOption,
    ThreadOption,
    TurnsOption,
    schema_class,
    schema_classes,
    server_address,
    token_price,
    tool_channel,
)
from acc.cli.schema_commands import schema_app

Work = Callable[[], None]

app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.add_typer(schema_app, name="schema")
app.add_typer(evaluation, name="eval")


HERE = Path("memory")


def parsed(arguments: Sequence[str]) -> Work | None:
    """Return the callable that ``arguments`` ask for; None after printing help or the version.

    Raises:
        Exception: A usage error of Typer; its `format_message` explains it.
    """
    command = typer.main.get_command(app)
    work = command.main(list(arguments), prog_name="acc", standalone_mode=False)
    return work if callable(work) else None


@app.callback(invoke_without_command=True)
def acc(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Tell the version.")] = False,
) -> None:
    """A bounded, auditable memory in front of LLM agents. Keyless and offline."""
    if version:
        from acc import __version__

        typer.echo(f"acc {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def replay(
    file: FileArgument,
    memory: KeepOption = None,
    thread: NameOption = "",
    server: ServerOption = None,
    max_tokens: BoundOption = None,
    style: StyleOption = None,
    schema: SchemaOption = None,
    channel: ChannelOption = None,
    json: OutOption = "",
    repair: RepairOption = False,
    turns: TurnsOption = None,
    quiet: QuietOption = False,
    model: ModelOption = "",
    mode: ModeOption = None,
    price: PriceOption = None,
    report: ReportOption = None,
) -> Work:
    """Replay a conversation turn by turn, and watch the state."""
    from acc.cli.replay import Wanted
    from acc.cli.replay import replay as work

    wanted = Wanted(
        file=file, memory=memory, thread=thread, server=server_address(server),
        max_tokens=max_tokens, style=style, schema=schema_class(schema),
        channels=dict(map(tool_channel, channel or ())),
        json=json, repair=repair, turns=turns, quiet=quiet,
        model=model, mode=mode.value if mode else None, price=token_price(price), report=report,
    )  # fmt: skip
    return lambda: work(wanted)


@app.command()
def show(
    memory: MemoryOption = HERE,
    thread: ThreadOption = None,
    turn: Annotated[
        int | None, typer.Option("--turn", metavar="N", min=0, help="After this turn.")
    ] = None,
    style: StyleOption = None,
    provenance: Annotated[
        bool, typer.Option("--provenance", help="Each item with its source and trust.")
    ] = False,
    schema: SchemaOption = None,
    json: JsonOption = False,
) -> Work:
    """Show the state, as the agent reads it."""
    from acc.cli.show import show as work

    return lambda: work(
        memory, thread, turn,
        schema=schema_class(schema), style=style, provenance=provenance, as_json=json,
    )  # fmt: skip


@app.command()
def diff(
    first: Annotated[int | None, typer.Argument(help="By default the last but one.", min=0)] = None,
    second: Annotated[int | None, typer.Argument(help="By default the last.", min=0)] = None,
    memory: MemoryOption = HERE,
    thread: ThreadOption = None,
    schema: SchemaOption = None,
    json: JsonOption = False,
) -> Work:
    """Show what changed between two turns, and why."""
    from acc.cli.show import tell_difference as work

    return lambda: work(memory, thread, first, second, schema=schema_class(schema), as_json=json)


@app.command()
def verify(
    memory: MemoryOption = HERE,
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="NAME", help="By default all threads.")
    ] = None,
    head: Annotated[
        str, typer.Option("--head", metavar="DIGEST", help="The log's head, as kept elsewhere.")
    ] = "",
    schema: SchemasOption = None,
    max_tokens: BoundOption = None,
    json: JsonOption = False,
) -> Work:
    """Recompute every commit of the audit logs."""
    from acc.cli.show import verify_logs as work

    return lambda: work(
        memory,
        thread,
        head=head,
        schemas=schema_classes(schema),
        max_tokens=max_tokens,
        as_json=json,
    )


@app.command()
def retire(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Items, such as c3.")],
    memory: MemoryOption = HERE,
    thread: ThreadOption = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Told to the agent.")
    ] = "",
    server: ServerOption = None,
    schema: SchemaOption = None,
    json: JsonOption = False,
) -> Work:
    """Retire items from the state: rules, goals or others."""
    from acc.cli.prune import retire as work

    return lambda: work(
        ids, memory, thread,
        reason=reason, server=server_address(server), schema=schema_class(schema), as_json=json,
    )  # fmt: skip


@app.command()
def doctor(
    endpoint: EndpointOption = "",
    model: AskedOption = "",
    api: ApiOption = Api.CHAT,
    seconds: SecondsOption = 60.0,
    memory: MemoryOption = HERE,
    tenant: TenantOption = "default",
    repair: MendOption = False,
    server: ServerOption = None,
    json: JsonOption = False,
) -> Work:
    """Check the installation and a memory, or a model's endpoint. Repairs on request."""
    if endpoint or model:
        from acc.cli.doctor_endpoint import examine_endpoint

        return lambda: examine_endpoint(
            endpoint, model=model, api=api.value, seconds=seconds, as_json=json
        )
    from acc.cli.doctor import examine as work

    return lambda: work(memory, tenant, repair=repair, server=server_address(server), as_json=json)


@app.command()
def threads(memory: MemoryOption = HERE, json: JsonOption = False) -> Work:
    """List the threads of a memory."""
    from acc.cli.show import threads as work

    return lambda: work(memory, as_json=json)


evidence_commands.register(app)
