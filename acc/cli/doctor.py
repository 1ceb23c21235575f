"""``acc doctor``: checks the installation and the memory in a folder."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, Literal, NamedTuple

from acc import __version__
from acc.cli.evidence import Server, check_memory
from acc.cli.opening import opened
from acc.cli.screen import told_json
from acc.errors import AccError, StoreError
from acc.evidence.upkeep import check_shelves, interrupted
from acc.evidence.upkeep import check_vectors as find_ailing
from acc.state.policy import Policy
from acc.text.lines import inert_line

Level = Literal["ok", "note", "bad"]


class Finding(NamedTuple):
    """The result of one check.

    Attributes:
        level: ``ok``; ``note`` if it works but could be better; ``bad`` if it does not work.
        what: The result, in words.
        hint: How to fix it.
    """

    level: Level
    what: str
    hint: str = ""


def told(findings: Sequence[Finding], *, as_json: bool, **more: Any) -> None:
    """Print ``findings``. JSON output lists them under ``checks`` and adds the fields in ``more``.

    Raises:
        AccError: At least one finding is ``bad``.
    """
    if as_json:
        told_json({"checks": [finding._asdict() for finding in findings], **more})
    else:
        for level, what, hint in findings:
            line = f"{level:<5} {inert_line(what)}"
            print(line + (f"\n      to fix: {inert_line(hint)}" if hint else ""), flush=True)
    bad = [finding for finding in findings if finding.level == "bad"]
    if bad:
        raise AccError(
            f"{len(bad)} of {len(findings)} checks failed: {bad[0].what}", hint=bad[0].hint
        )


def finding_of(error: AccError) -> Finding:
    """Convert an error into a finding."""
    return Finding("bad", error.what + (f" ({error.where})" if error.where else ""), error.hint)


DISTRIBUTION = "agent-cognitive-compressor"

_TOLD = 10_000
"""Interval of the progress lines, in vectors."""


def examine(
    memory: Path, tenant: str, *, repair: bool, server: Server = None, as_json: bool = False
) -> None:
    """Check the installation, and the memory in a folder if there is one.

    Args:
        memory: The folder.
        tenant: The tenant with the vectors to check.
        repair: Repair what is broken. Otherwise the memory is only read.
        server: The Chroma server that holds the records.
        as_json: Write JSON to stdout.

    Raises:
        AccError: A check failed. All findings were printed before.
    """
    found = [*_packages(), *_surroundings()]
    of_store: dict[str, Any] = {}
    try:
        if server or _may_hold(memory):
            check_memory(memory, server)
            of_store = _store(memory, tenant, repair, server)
            again = _command(memory, tenant, server)
            found += [
                *_half_done(of_store, again),
                *_vectors(of_store, again, repair=repair),
                *_shelves(of_store, again, repair=repair),
            ]
        else:
            found.append(Finding("ok", f"no memory in {memory} yet"))
    except AccError as error:
        found.append(finding_of(error))
    told(found, as_json=as_json, **of_store)


def _packages() -> Iterator[Finding]:
    yield Finding("ok", f"acc {__version__}, Python {platform.python_version()}")
    try:
        declared = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        yield Finding(
            "note", "acc runs from its sources, and is not installed",
            "pip install PATH_OF_THE_FOLDER, so that versions can be checked",
        )  # fmt: skip
        return
    needed = [line for line in declared if "extra ==" not in line]
    found = [_package(line) for line in needed]
    wrong = [finding for finding in found if finding.level != "ok"]
    yield from wrong or [Finding("ok", "; ".join(finding.what for finding in found))]


def _package(line: str) -> Finding:
    from packaging.requirements import Requirement

    needed = Requirement(line)
    try:
        there = version(needed.name)
    except PackageNotFoundError:
        return Finding("bad", f"{needed.name} is not installed", f"pip install '{needed}'")
    if not needed.specifier.contains(there, prereleases=True):
        what = f"{needed.name} {there} is installed, {needed.specifier} is needed"
        return Finding("bad", what, f"pip install '{needed}'")
    return Finding("ok", f"{needed.name} {there}")


def _surroundings() -> Iterator[Finding]:
    where = os.environ.get("OPENAI_BASE_URL")
    if os.environ.get("OPENAI_API_KEY"):
        at = f" for {where}" if where else ""
        yield Finding("ok", f"OPENAI_API_KEY is set{at}; acc doctor --endpoint MODEL tries it")
    else:
        yield Finding("ok", "no OPENAI_API_KEY: the keyless rules compress")


def _may_hold(memory: Path) -> bool:
    """Whether the path may hold a memory: a folder with a store or audit logs, or a non-folder."""
    if not memory.is_dir():
        return memory.exists()
    return any((memory / name).exists() for name in ("chroma.sqlite3", "audit"))


def _command(memory: Path, tenant: str, server: Server) -> str:
    """The command line that repairs the findings."""
    more = "" if tenant == "default" else f" --tenant {shlex.quote(tenant)}"
    at = f" --server {server[0]}:{server[1]}" if server else ""
    return f"run acc doctor --repair --memory {shlex.quote(str(memory))}{more}{at}"


def _store(memory: Path, tenant: str, repair: bool, server: Server) -> dict[str, Any]:
    """Open the store, check its vectors and documents, and return the results."""
    if not server and not os.access(memory, os.W_OK):
        raise StoreError(
            f"the folder {memory} cannot be written",
            hint="let this user write it, or name another folder (--memory DIR)",
        )
    with opened(memory, Policy(), server=server, resumes=repair) as controller:
        half_done = interrupted(controller)
        health = find_ailing(controller.artifacts, tenant, repair=repair, progress=_progress)
        indexes = [index._asdict() for index in health.indexes]
        shelves = check_shelves(controller, tenant, repair=repair)
        return {
            **health._asdict(), "indexes": indexes, "resumed": controller.resumed,
            "half_done": half_done, "after_kill": getattr(controller.artifacts, "after_kill", False),
            "partial": [{**p._asdict(), "space": p.space.model_dump()} for p in shelves.partial],
            "unlisted": [thread.model_dump() for thread in shelves.unlisted],
            "nameless": list(shelves.nameless),
        }  # fmt: skip


def _progress(seen: int, of: int) -> None:
    if seen % _TOLD == 0:
        print(f"acc: looked at {seen:,} of {of:,} vectors", file=sys.stderr, flush=True)


def _half_done(store: Mapping[str, Any], again: str) -> Iterator[Finding]:
    if store["after_kill"]:
        yield Finding("note", "the process before ended without closing the memory")
    for what in store["resumed"]:
        yield Finding("note", what)
    for what in store["half_done"]:
        yield Finding("bad", what, f"{again}: it ends that, as every opening of the memory does")


def _vectors(store: Mapping[str, Any], again: str, *, repair: bool) -> Iterator[Finding]:
    lost, unreachable = len(store["lost"]), len(store["unreachable"])
    left = {key for index in store["indexes"] for key in index["left"]}
    said = (
        f"the store opens: {store['records']:,} records, {lost} without a vector, "
        f"{unreachable} that a query of Chroma's does not come to"
    )
    if not repair and lost:
        yield Finding("bad", said, f"{again}: it makes the vectors anew")
    elif not repair and unreachable:
        why = "acc reads by id and misses nothing"
        yield Finding("note", f"{said} ({why})", f"{again}, if others query the collection")
    elif not left:
        mended = ", all mended" if lost or unreachable else ""
        yield Finding("note" if mended else "ok", said + mended)
    elif left & set(store["lost"]):
        yield Finding("bad", f"{said}; {len(left)} are left", "restore a backup of the store")
    else:
        yield Finding(
            "note", f"{said}; {len(left)} are left: among many texts that are equal, or equally far "
            "from one another, Chroma's graph falls apart",
            "nothing, if nobody but acc reads it: recall goes by id; of a server, stop it and run "
            "acc doctor on its folder",
        )  # fmt: skip


def _shelves(store: Mapping[str, Any], again: str, *, repair: bool) -> Iterator[Finding]:
    level: Level = "note" if repair else "bad"
    for each in store["partial"]:
        said = f"the document {each['name'] or each['ref']} is there in part"
        back = each["there"] < each["of"]
        if not repair:
            does = (
                f"take back its {each['there']} of {each['of']} parts" if back else "note its end"
            )
            yield Finding(level, said, f"{again} to {does}")
            continue
        hint = f"run acc ingest on it again, for the user {each['space']['user']!r}"
        done = f"; its {each['there']} of {each['of']} parts were taken back" if back else ""
        yield Finding(level, said + done, hint if back else "")
    if count := len(store["unlisted"]):
        said = f"{count} threads or users without an entry in the directory"
        yield Finding(
            "note", said + (", all entered now" if repair else ""), "" if repair else again
        )
    if count := len(store["nameless"]):
        yield Finding(
            "note", f"evidence of {count} users without an entry in the directory, nobody knows whose",
            "it is entered when they ingest or finish something again",
        )  # fmt: skip
