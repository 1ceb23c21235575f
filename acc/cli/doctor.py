"""``acc doctor``: whether what is installed works, and the memory in a folder opens."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from acc import __version__
from acc.cli.evidence import Server, kept
from acc.cli.findings import Finding, Level, finding_of, told
from acc.errors import AccError
from acc.evidence.checkup import check_shelves
from acc.evidence.health import examine as find_ailing

DISTRIBUTION = "agent-cognitive-compressor"

_TOLD = 10_000
"""Vectors after which it is said how many were looked at."""


def examine(
    memory: Path, tenant: str, *, repair: bool, server: Server = None, as_json: bool = False
) -> None:
    """Examine the installation, and the memory in a folder where there is one.

    Args:
        memory: The folder.
        tenant: Whose records' vectors are looked at.
        repair: Whether lost and unreachable vectors are mended.
        server: The Chroma server that holds the records.
        as_json: Tell it in JSON.

    Raises:
        AccError: Something does not work; every finding was told before.
    """
    found = [*_packages(), *_surroundings()]
    of_store: dict[str, Any] = {}
    if not (memory.exists() or server):
        found.append(Finding("ok", f"no memory in {memory} yet"))
    elif not os.access(memory, os.W_OK) and server is None:
        mend = "let this user write it, or name another folder (--memory DIR)"
        found.append(Finding("bad", f"the folder {memory} cannot be written", mend))
    else:
        try:
            of_store = _store(memory, tenant, repair, server)
            found += [*_vectors(of_store, repair=repair), *_shelves(of_store, repair=repair)]
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


def _store(memory: Path, tenant: str, repair: bool, server: Server) -> dict[str, Any]:
    """What opening the store and looking at its vectors shows."""
    with kept(memory, server) as controller:
        health = find_ailing(controller.artifacts, tenant, repair=repair, told=_progress)
        indexes = [index._asdict() for index in health.indexes]
        shelves = check_shelves(controller, tenant, repair=repair)
        return {
            **health._asdict(), "indexes": indexes, "resumed": controller.resumed,
            "partial": [{**p._asdict(), "space": p.space.model_dump()} for p in shelves.partial],
            "unlisted": [thread.model_dump() for thread in shelves.unlisted],
            "nameless": list(shelves.nameless),
        }  # fmt: skip


def _progress(seen: int, of: int) -> None:
    if seen % _TOLD == 0:
        print(f"acc: looked at {seen:,} of {of:,} vectors", file=sys.stderr, flush=True)


def _vectors(store: Mapping[str, Any], *, repair: bool) -> Iterator[Finding]:
    lost, unreachable = len(store["lost"]), len(store["unreachable"])
    left = {key for index in store["indexes"] for key in index["left"]}
    said = (
        f"the store opens: {store['records']:,} records, {lost} without a vector, "
        f"{unreachable} that a query of Chroma's does not come to"
    )
    if not repair and (lost or unreachable):
        yield Finding("bad", said, "run acc doctor without --dry-run: it mends them")
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


def _shelves(store: Mapping[str, Any], *, repair: bool) -> Iterator[Finding]:
    level: Level = "note" if repair else "bad"
    for each in store["partial"]:
        said = f"the document {each['name'] or each['ref']} is there in part"
        back = each["there"] < each["of"]
        done = f"; its {each['there']} of {each['of']} parts were taken back" if back else ""
        mend = f"run acc ingest on it again, for the user {each['space']['user']!r}"
        yield Finding(level, said + (done if repair else ""), mend if back else "")
    if count := len(store["unlisted"]):
        said = f"{count} threads or users without an entry in the directory"
        yield Finding("note", said + (", all entered now" if repair else ""))
    if count := len(store["nameless"]):
        yield Finding(
            "note", f"evidence of {count} users without an entry in the directory, nobody knows whose",
            "it is entered when they ingest or finish something again",
        )  # fmt: skip
