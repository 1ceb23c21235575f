"""``acc doctor``: whether what is installed works, and the memory in a folder opens."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from acc import __version__
from acc.cli.evidence import Server, kept
from acc.cli.findings import Finding, finding_of, told
from acc.errors import AccError
from acc.evidence.upkeep import examine as find_lost

DISTRIBUTION = "agent-cognitive-compressor"


def examine(
    memory: Path, tenant: str, *, repair: bool, server: Server = None, as_json: bool = False
) -> None:
    """Examine the installation, and the memory in a folder where there is one.

    Args:
        memory: The folder.
        tenant: Whose records' vectors are looked at.
        repair: Whether lost vectors are made anew.
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
            found.append(_vectors(of_store))
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
    """What opening the store shows: records, ids whose vector was lost, how many have one again."""
    with kept(memory, server) as controller:
        health = find_lost(controller.artifacts, tenant, repair=repair)
        return {**health._asdict(), "resumed": controller.resumed}


def _vectors(store: Mapping[str, Any]) -> Finding:
    lost, repaired = len(store["lost"]), store["repaired"]
    said = f"the store opens: {store['records']:,} records, {lost} without a vector"
    if lost > repaired:
        return Finding("bad", said, "run acc doctor without --dry-run: vectors are made anew")
    return Finding("note" if lost else "ok", said + (", all mended" if lost else ""))
