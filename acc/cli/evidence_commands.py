"""The commands for evidence: ingest, search, prune, hold, erase, vacuum, export, import."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from acc.cli.acts import DryOption, Way, YesOption
from acc.cli.options import JsonOption, MemoryOption, ServerOption, server_address

Work = Callable[[], None]

HERE = Path("memory")

UserOption = Annotated[str, typer.Option("--user", metavar="NAME", help="Whose evidence.")]
AgentOption = Annotated[str, typer.Option("--agent", metavar="NAME", help="Of which agent.")]
TenantOption = Annotated[str, typer.Option("--tenant", metavar="NAME", help="Of which tenant.")]
KindOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kind", metavar="KIND",
        help="observation (raw turns), set_aside, document, experience or quarantine. Repeatable. "
        "[default: document, experience]",
    ),
]  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    for command in (ingest, search, prune, hold, erase, vacuum, export):
        app.command()(command)
    app.command("import")(import_)


def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files or folders.")],
    memory: MemoryOption = HERE,
    user: UserOption = "default",
    agent: AgentOption = "default",
    tenant: TenantOption = "default",
    judge: Annotated[
        str, typer.Option("--judge", metavar="MODEL", help="Keep what this model approves of.")
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete earlier versions of the same files.")
    ] = False,
    server: ServerOption = None,
    json: JsonOption = False,
) -> Work:
    """Ingest documents: text, Markdown, HTML, PDF.

    Turns recall them by default. Without --user, every user of the tenant sees them; without
    --agent, every agent does.
    """
    from acc.cli.evidence import ingest as work

    return lambda: work(
        paths, memory, (user, agent, tenant),
        judge=judge, replace=replace, server=server_address(server), as_json=json,
    )  # fmt: skip


def search(
    query: Annotated[str, typer.Argument(help="Words.")],
    memory: MemoryOption = HERE,
    user: UserOption = "default",
    agent: AgentOption = "default",
    tenant: TenantOption = "default",
    most: Annotated[int, typer.Option("--most", metavar="N", min=1, help="Results.")] = 8,
    quarantine: Annotated[
        bool, typer.Option("--quarantine", help="What an evaluator refused.")
    ] = False,
    server: ServerOption = None,
    json: JsonOption = False,
) -> Work:
    """Search a user's threads and the documents that the user may see, by words."""
    from acc.cli.evidence import search as work

    return lambda: work(
        query, memory, (user, agent, tenant),
        most=most, quarantine=quarantine, server=server_address(server), as_json=json,
    )  # fmt: skip


def prune(
    memory: MemoryOption = HERE,
    user: UserOption = "default",
    agent: AgentOption = "default",
    tenant: TenantOption = "default",
    policy: Annotated[
        str,
        typer.Option(
            "--policy", help="period, history, combined or intersection. Has to be named."
        ),
    ] = "",
    like: Annotated[
        str,
        typer.Option(
            "--like",
            metavar="AGENT",
            help="Whose numbers of the paper stand for those that are not given: ehragent, cic-iot; "
            "agentdriver, whose beta is in metres.",
        ),
    ] = "ehragent",
    period: Annotated[int | None, typer.Option("--period", metavar="N", min=1)] = None,
    alpha: Annotated[int | None, typer.Option("--alpha", metavar="N", min=0)] = None,
    n: Annotated[int | None, typer.Option("--n", metavar="N", min=0)] = None,
    beta: Annotated[float | None, typer.Option("--beta", metavar="X")] = None,
    capacity: Annotated[
        int | None, typer.Option("--capacity", metavar="N", min=0, help="Then keep at most N.")
    ] = None,
    kind: KindOption = None,
    dry_run: DryOption = False,
    yes: YesOption = False,
    server: ServerOption = None,
    json: JsonOption = False,
) -> Work:
    """Delete evidence that is rarely read or was of little use. Prints the plan, then asks."""
    from acc.cli.prune import Numbers, chosen_policy
    from acc.cli.prune import prune as work

    judge = chosen_policy(policy, like, Numbers(period, alpha, n, beta, capacity))
    return lambda: work(
        memory, (user, agent, tenant), judge, kind or [],
        way=Way(dry_run, yes, json), server=server_address(server),
    )  # fmt: skip


def hold(
    ref: Annotated[str, typer.Argument(help="A ref; empty for the whole thread.")] = "",
    memory: MemoryOption = HERE,
    thread: Annotated[
        str, typer.Option("--thread", metavar="NAME", help="Its thread; none for a document's ref.")
    ] = "",
    user: UserOption = "default",
    agent: AgentOption = "default",
    tenant: TenantOption = "default",
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT")] = "",
    release: Annotated[bool, typer.Option("--release", help="Lift the hold.")] = False,
    server: ServerOption = None,
    json: JsonOption = False,
) -> Work:
    """Hold evidence: no policy deletes it. Without a ref or thread, list the holds."""
    from acc.cli.prune import hold as work

    return lambda: work(
        ref, thread, memory, (user, agent, tenant),
        reason=reason, lift=release, server=server_address(server), as_json=json,
    )  # fmt: skip


def erase(
    memory: MemoryOption = HERE,
    user: Annotated[
        str | None, typer.Option("--user", metavar="NAME", help="All of this user's.")
    ] = None,
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="NAME", help="This thread.")
    ] = None,
    artifact: Annotated[
        str | None,
        typer.Option("--artifact", metavar="REF", help="One ref, on --thread; or a document's."),
    ] = None,
    agent: AgentOption = "default",
    tenant: TenantOption = "default",
    keep_echoes: Annotated[
        bool, typer.Option("--keep-echoes", help="Leave other evidence that repeats the words.")
    ] = False,
    despite_hold: Annotated[bool, typer.Option("--despite-hold")] = False,
    checkpointer: Annotated[
        list[str] | None,
        typer.Option(
            "--checkpointer", metavar="URL",
            help="Delete the threads' checkpoints too: sqlite:PATH or postgresql://... Alone: do what "
            "earlier erasures left to do there.",
        ),
    ] = None,
    dry_run: DryOption = False,
    yes: YesOption = False,
    server: ServerOption = None,
    json: JsonOption = False,
) -> Work:  # fmt: skip
    """Erase a user, a thread or one piece of evidence from every file, and verify it.

    Prints the plan, then asks.
    """
    from acc.cli.erase import erase as work

    return lambda: work(
        memory, user=user, thread=thread, artifact=artifact, agent=agent, tenant=tenant,
        echoes=not keep_echoes, despite_holds=despite_hold, checkpointers=checkpointer or [],
        way=Way(dry_run, yes, json), server=server_address(server),
    )  # fmt: skip


def vacuum(
    memory: MemoryOption = HERE, server: ServerOption = None, json: JsonOption = False
) -> Work:
    """Rewrite the files of a memory, which removes all traces of deleted records."""
    from acc.cli.evidence import vacuum as work

    return lambda: work(memory, server=server_address(server), as_json=json)


def export(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="Where to.")],
    memory: MemoryOption = HERE,
    user: UserOption = "default",
    agent: AgentOption = "default",
    tenant: TenantOption = "default",
    server: ServerOption = None,
    json: JsonOption = False,
) -> Work:
    """Write a user's evidence and audit logs to one file."""
    from acc.cli.evidence import export as work

    return lambda: work(
        out, memory, (user, agent, tenant), server=server_address(server), as_json=json
    )


def import_(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="What acc export wrote.")],
    memory: MemoryOption = HERE,
    server: ServerOption = None,
    json: JsonOption = False,
) -> Work:
    """Import a file of acc export and check its hashes: all of it or nothing."""
    from acc.cli.evidence import import_ as work

    return lambda: work(source, memory, server=server_address(server), as_json=json)
