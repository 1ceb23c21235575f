"""``acc ingest``, ``search``, ``backup``, ``vacuum``, ``export`` and ``import``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast

import typer

from acc.audit.namespaces import Spaces, known_spaces
from acc.cli.opening import IN_A_COPY, opened_store
from acc.cli.options import (
    DEFAULT_MEMORY,
    AgentOption,
    JsonOption,
    MemoryOption,
    ServerOption,
    TenantOption,
    UserOption,
    audit_place,
)
from acc.cli.output import count, print_json, print_table
from acc.errors import InputError
from acc.evidence import portability
from acc.evidence.addition import Addition, Judgement, ModelJudge
from acc.evidence.backup import back_up
from acc.evidence.documents import Documents, Ingested, files_below
from acc.evidence.upkeep import vacuum as rewrite
from acc.memory import Memory
from acc.recall import full_text
from acc.recall.candidates import each_ref
from acc.stores.directory import enrolled, namespace
from acc.stores.protocol import UNNAMED, Artifact, SearchableStore, Thread, managed
from acc.stores.shelf import Shelf
from acc.text.lines import inert_line

_MOST_NAMED = 10
"""Maximum number of unreadable files that an error names."""


def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Files or folders.")],
    memory: MemoryOption = DEFAULT_MEMORY,
    user: UserOption = UNNAMED,
    agent: AgentOption = UNNAMED,
    tenant: TenantOption = UNNAMED,
    judge: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Ask this model about each document. A refused document goes to quarantine.",
        ),
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete earlier versions of the same files.")
    ] = False,
    server: ServerOption = None,
    json: JsonOption = False,
) -> None:
    """Add documents that agents can recall.

    Reads text, Markdown, HTML and PDF. Every user of the tenant can recall the documents unless
    --user is given, and every agent unless --agent is given.
    """
    files = files_below(paths)
    addition = Addition("automatic", ModelJudge(judge)) if judge else Addition("all")
    space = namespace(user, agent, tenant)
    readers = _readers(space)
    found: list[Ingested] = []
    refused: list[InputError] = []
    with opened_store(memory, server, create=True) as controller:
        shelf = Documents.of(controller, space, addition)
        for file in files:
            try:
                found.append(shelf.ingest(file, replace=replace))
            except InputError as error:
                refused.append(error)
                continue
            if not json:
                print(_ingested_line(found[-1], readers))
    if json and found:
        print_json([
            {"name": f.name, "ref": f.ref, "parts": f.parts, "replaced": f.replaced,
             "ended": f.ended, "reaches": readers if f.judgement.admitted else "nobody",
             **f.judgement.model_dump()}
            for f in found
        ])  # fmt: skip
    _raise_refused(refused, len(files))


def _readers(space: Thread) -> str:
    """Describe the users and agents that recall the documents of a namespace."""
    users = f"user {space.user!r}" if space.has_user else "every user"
    agents = f"agent {space.agent!r}" if space.agent != UNNAMED else "every agent"
    return f"{users} and {agents} of tenant {space.tenant!r}"


def _ingested_line(each: Ingested, readers: str) -> str:
    if not each.judgement.admitted:
        result = f"refused, in quarantine: {each.judgement.reason}"
    else:
        result = f"{count(each.parts, 'part')} added" if each.parts else "already in the memory"
        if each.ended:
            result += ", which completes an interrupted ingest"
        if each.replaced:
            result += f", {count(each.replaced, 'part')} of earlier versions deleted"
        result += f"; recalled for {readers}"
    return inert_line(f"{each.ref}  {each.name}: {result}")


def _raise_refused(refused: Sequence[InputError], files: int) -> None:
    if refused and files == 1:
        raise refused[0]
    if refused:
        named = [f"{error.where}: {error.what}" for error in refused[:_MOST_NAMED]]
        if len(refused) > _MOST_NAMED:
            named.append(f"and {len(refused) - _MOST_NAMED} more")
        raise InputError(
            f"{len(refused)} of {files} files could not be read; the others were ingested",
            where="; ".join(named),
            hint="correct these files and run the same command again: it skips the others",
        )


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words to search for.")],
    memory: MemoryOption = DEFAULT_MEMORY,
    user: UserOption = UNNAMED,
    agent: AgentOption = UNNAMED,
    tenant: TenantOption = UNNAMED,
    most: Annotated[int, typer.Option(metavar="N", min=1, help="Maximum number of results.")] = 8,
    quarantine: Annotated[
        bool,
        typer.Option("--quarantine", help="Search what a judge refused. Needs all the words."),
    ] = False,
    all_users: Annotated[
        bool, typer.Option("--all-users", help="Search every user and agent of the tenant.")
    ] = False,
    server: ServerOption = None,
    json: JsonOption = False,
) -> None:
    """Search a user's threads and documents by words.

    acc erase --artifact and acc hold take the refs that this prints.
    """
    if all_users and quarantine:
        raise InputError(
            "a quarantine belongs to one user",
            where="--all-users",
            hint="name the user with --user",
        )
    space = namespace(user, agent, tenant)
    with opened_store(memory, server, instead=IN_A_COPY) as controller:
        known: Spaces = {}
        if quarantine:
            words = query.lower().split()
            shelf = Shelf(controller.artifacts, space, "quarantine").records()
            refused = [a for a in shelf if all(word in a.text.lower() for word in words)]
            found, matching = [(a, 0.0) for a in refused[:most]], len(refused)
        else:
            store = cast(SearchableStore, controller.artifacts)  # Chroma's
            known = _known(controller, tenant) if all_users else {}
            scope = {space: [], **known} if all_users else {space: enrolled(store, space)}
            ranked, matching = full_text.search(store, scope, query, most)
            found = list(zip(each_ref(ranked, space), (s for _, s in ranked), strict=True))
        known = known or ({} if found else _known(controller, tenant))
    if json:
        print_json([{"score": round(s, 4), **a.model_dump(mode="json")} for a, s in found])
    elif found:
        columns = ["score", "ref", "from", "text"]
        rows = [[f"{s:.2f}", a.ref, a.name or a.channel.value, _excerpt(a)] for a, s in found]
        if all_users:
            columns[1:1] = ["user", "thread"]
            owners = {thread.key: thread for threads in known.values() for thread in threads}
            for row, (artifact, _) in zip(rows, found, strict=True):
                owner = owners.get(artifact.thread)
                row[1:1] = [owner.user, owner.thread] if owner else ["", ""]
        print_table(columns, rows, wrap=("text",))
        print(f"{len(found)} of {count(matching, 'record')} that hold a word of the query")
    else:
        owner_names = f"user {space.user!r}, agent {space.agent!r}, tenant {space.tenant!r}"
        print(f"nothing found ({owner_names}){_others(known, space)}")


def _known(memory: Memory, tenant: str) -> Spaces:
    return known_spaces(managed(memory.artifacts), memory.settings.audit, tenant)


def _others(known: Spaces, space: Thread) -> str:
    """Name the other users and agents of the tenant that have evidence."""
    others = sorted((other for other in known if other != space), key=str)
    if not others:
        return ""
    named = [
        f"--user {o.user}" + ("" if o.agent == UNNAMED else f" --agent {o.agent}") for o in others
    ]
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return (
        f"; others have evidence: {', '.join(named[:_MOST_NAMED])}{more}; --all-users searches all"
    )


def _excerpt(artifact: Artifact) -> str:
    text = " ".join(artifact.text.split())[:300]
    if artifact.kind in ("document", "experience"):
        judgement = Judgement.model_validate_json(artifact.reason)
        return text if judgement.admitted else f"{text} (refused: {judgement.reason})"
    return text


def vacuum(
    memory: MemoryOption = DEFAULT_MEMORY, server: ServerOption = None, json: JsonOption = False
) -> None:
    """Rewrite the files so that no deleted text remains.

    With --server, this only compacts the usage records.
    """
    with opened_store(memory, server) as controller:
        before, after, own = rewrite(controller)
    if json:
        print_json({"bytes_before": before, "bytes_after": after, "server": not own})
        return
    print(f"{before:,} bytes before, {after:,} after")
    if not own:
        print("the server's files are unchanged: stop the server, and run acc vacuum on its folder")


def backup(
    to: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to create.")],
    memory: MemoryOption = DEFAULT_MEMORY,
    json: JsonOption = False,
) -> None:
    """Copy a memory to a folder while others write.

    Steps of other processes wait meanwhile. To restore, end all writers, put the copy in the place of the
    memory's folder, and run acc doctor, then acc verify; then acc adopt, if checkpoints are newer.
    """
    copied = back_up(memory, audit_place(memory), to)
    if json:
        print_json({**copied._asdict(), "folder": str(to)})
    else:
        print(f"{copied.bytes:,} bytes with {count(copied.logs, 'audit log')} copied to {to}")


def export(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    memory: MemoryOption = DEFAULT_MEMORY,
    user: UserOption = UNNAMED,
    agent: AgentOption = UNNAMED,
    tenant: TenantOption = UNNAMED,
    server: ServerOption = None,
    json: JsonOption = False,
) -> None:
    """Write a user's evidence and audit logs to a file.

    Without --agent, those of all agents of the user, also of agents that run inside another one's graph.
    """
    with opened_store(memory, server, instead=IN_A_COPY) as controller:
        moved = portability.export(
            controller.artifacts, controller.settings.audit, namespace(user, agent, tenant), out
        )
    if json:
        print_json({"records": moved.records, "audit_logs": moved.logs, "file": str(out)})
    else:
        print(
            f"{count(moved.records, 'record')} and {count(moved.logs, 'audit log')} written to {out}"
        )


def import_(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A file that acc export wrote.")],
    memory: MemoryOption = DEFAULT_MEMORY,
    server: ServerOption = None,
    json: JsonOption = False,
) -> None:
    """Add the records of an exported file to a memory.

    Checks the hashes first. If a check fails, nothing is imported.
    """
    if not memory.exists():
        portability.read_export(source)  # an invalid file must not create the folder
    with opened_store(memory, server, create=True) as controller:
        moved = portability.import_into(controller, source)
    if json:
        print_json({"records": moved.records, "written": moved.written, "audit_logs": moved.logs})
    else:
        logs = count(moved.logs, "audit log")
        print(f"{count(moved.records, 'record')}, {moved.written:,} of them new; {logs}")
