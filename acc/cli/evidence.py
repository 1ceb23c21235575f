"""``acc ingest``, ``search``, ``vacuum``, ``export`` and ``import``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from acc.cli.opening import opened
from acc.cli.screen import table, told_json
from acc.controller import MemoryController
from acc.errors import InputError
from acc.evidence import portability
from acc.evidence.addition import Addition, Judgement, ModelJudge
from acc.evidence.documents import Documents, Ingested, files_below
from acc.evidence.portability import import_into, read_export
from acc.evidence.upkeep import pending
from acc.evidence.upkeep import vacuum as rewrite
from acc.recall.candidates import WideScope, each_ref
from acc.state.policy import Policy
from acc.stores.protocol import UNNAMED, Artifact, Thread
from acc.stores.shelf import Shelf, namespace
from acc.text.lines import inert_line

Names = tuple[str, str, str]
"""User, agent and tenant."""

Server = tuple[str, int] | None

MOST_NAMED = 10
"""Maximum number of unreadable files that an error names."""


@contextmanager
def kept(
    memory: Path, server: Server, *, new: bool = False, reads: bool = False
) -> Iterator[MemoryController]:
    """Open the memory in a folder.

    Completes work that a killed process left, and reports it on stderr.

    Args:
        memory: The folder.
        server: The Chroma server that holds the records.
        new: Create the folder if it is absent.
        reads: Complete nothing; refuse a memory with incomplete work instead.

    Raises:
        InputError: There is no memory and ``new`` is False, or the memory has incomplete work.
    """
    if not new:
        check_memory(memory, server)
    with opened(memory, Policy(), server=server, resumes=not reads) as controller:
        if reads and (half := pending(controller)):
            raise InputError(
                f"something is half done: {'; '.join(half)}",
                where=str(memory),
                hint="run acc doctor --repair, which ends it, as every opening of the memory does; then look "
                "again",
            )
        for said in controller.resumed:
            print(f"acc: {said}", file=sys.stderr)
        yield controller


def check_memory(memory: Path, server: Server) -> None:
    """Check that the folder holds a memory. Opening any other folder would create a store in it.

    Raises:
        InputError: The folder holds no memory.
    """
    if server is not None and (memory.is_dir() or not memory.exists()):
        return
    what, hint = "no memory in this folder", "name the folder of one with --memory"
    if memory.exists() and not memory.is_dir():
        what = "this is a file, not the folder of a memory"
    elif (memory / "chroma.sqlite3").is_file():
        return
    elif (memory / "audit").is_dir():
        what = "only audit logs are in this folder"
        hint = "name the Chroma server that holds the records with --server HOST:PORT"
    raise InputError(what, where=str(memory), hint=hint)


def space_of(names: Names) -> Thread:
    """The namespace of a user, agent and tenant."""
    user, agent, tenant = names
    return namespace(user, agent, tenant)


def reaches(space: Thread) -> str:
    """Describe the users and agents that recall the documents of a namespace."""
    users = f"user {space.user!r}" if space.has_user else "every user"
    agents = f"agent {space.agent!r}" if space.agent != UNNAMED else "every agent"
    return f"{users} and {agents} of tenant {space.tenant!r}"


def ingest(
    paths: Sequence[Path],
    memory: Path,
    names: Names,
    *,
    judge: str = "",
    replace: bool = False,
    server: Server = None,
    as_json: bool = False,
) -> None:
    """Ingest files. An unreadable file does not stop the others.

    Raises:
        InputError: Some files could not be read. The others were ingested.
    """
    files = files_below(paths)
    addition = Addition("automatic", ModelJudge(judge)) if judge else Addition("all")
    reached = reaches(space_of(names))
    found: list[Ingested] = []
    refused: list[InputError] = []
    with kept(memory, server, new=True) as controller:
        shelf = Documents.of(controller, space_of(names), addition)
        for file in files:
            try:
                found.append(shelf.ingest(file, replace=replace))
            except InputError as error:
                refused.append(error)
                continue
            if not as_json:
                print(_taken_in(found[-1], reached))
    if as_json and found:
        told_json([
            {"name": f.name, "ref": f.ref, "parts": f.parts, "replaced": f.replaced,
             "ended": f.ended, "reaches": reached if f.judgement.admitted else "nobody",
             **f.judgement.model_dump()}
            for f in found
        ])  # fmt: skip
    _refuse(refused, len(files))


def _taken_in(each: Ingested, reached: str) -> str:
    said = f"{each.parts} parts" if each.parts else "there already"
    if each.ended:
        said += ", which ends an ingest that was interrupted"
    if each.replaced:
        said += f", {each.replaced} parts of earlier versions deleted"
    said += f"; recalled for {reached}"
    if not each.judgement.admitted:
        said = f"refused, in quarantine: {each.judgement.reason}"
    return inert_line(f"{each.ref}  {each.name}: {said}")


def _refuse(refused: Sequence[InputError], files: int) -> None:
    if refused and files == 1:
        raise refused[0]
    if refused:
        named = [f"{error.where}: {error.what}" for error in refused[:MOST_NAMED]]
        if len(refused) > MOST_NAMED:
            named.append(f"and {len(refused) - MOST_NAMED} more")
        raise InputError(
            f"{len(refused)} of {files} files are not taken in, the others are",
            where="; ".join(named),
            hint="mend these and ingest the same again: what is there is not taken in twice",
        )


def search(
    query: str,
    memory: Path,
    names: Names,
    *,
    most: int,
    quarantine: bool = False,
    server: Server = None,
    as_json: bool = False,
) -> None:
    """Print the best matches in a user's threads and documents, or in the quarantine."""
    space = space_of(names)
    with kept(memory, server) as controller:
        if quarantine:
            refused = Shelf(controller.artifacts, space, "quarantine").records()
            found = [(a, 0.0) for a in refused if _has(a, query)][:most]
        else:
            ranked = WideScope(controller.artifacts, space).search(query, most)
            found = list(zip(each_ref(ranked, space), (s for _, s in ranked), strict=True))
    if as_json:
        told_json([{"score": round(s, 4), **a.model_dump(mode="json")} for a, s in found])
        return
    if not found:
        print(
            f"nothing found (user {space.user!r}, agent {space.agent!r}, tenant {space.tenant!r})"
        )
        return
    rows = [(f"{s:.2f}", a.ref, a.name or a.channel.value, _said(a)) for a, s in found]
    table(("score", "ref", "from", "text"), rows, folds=("text",))


def _has(artifact: Artifact, query: str) -> bool:
    return all(word in artifact.text.lower() for word in query.lower().split())


def _said(artifact: Artifact) -> str:
    text = " ".join(artifact.text.split())[:300]
    if artifact.kind in ("document", "experience"):
        judgement = Judgement.model_validate_json(artifact.reason)
        return text if judgement.admitted else f"{text} (refused: {judgement.reason})"
    return text


def vacuum(memory: Path, *, server: Server = None, as_json: bool = False) -> None:
    """Rewrite the files of a memory. On a server, only compact the usage records."""
    with kept(memory, server) as controller:
        before, after, own = rewrite(controller)
    if as_json:
        told_json({"bytes_before": before, "bytes_after": after, "server": not own})
        return
    print(f"{before:,} bytes before, {after:,} after")
    if not own:
        print("the server's files stay as they are: stop it, and run acc vacuum on its folder")


def export(
    out: Path, memory: Path, names: Names, *, server: Server = None, as_json: bool = False
) -> None:
    """Export a namespace to a file."""
    with kept(memory, server) as controller:
        moved = portability.export(
            controller.artifacts, controller.settings.audit, space_of(names), out
        )
    if as_json:
        told_json({"records": moved.records, "audit_logs": moved.logs, "file": str(out)})
    else:
        print(f"{moved.records:,} records and {moved.logs} audit logs in {out}")


def import_(source: Path, memory: Path, *, server: Server = None, as_json: bool = False) -> None:
    """Import a file that `export` wrote."""
    if not memory.exists():
        read_export(source)  # a file that is none leaves no folder behind
    with kept(memory, server, new=True) as controller:
        moved = import_into(controller, source)
    if as_json:
        told_json({"records": moved.records, "written": moved.written, "audit_logs": moved.logs})
    else:
        print(f"{moved.records:,} records, {moved.written:,} of them new; {moved.logs} audit logs")
