"""``acc doctor``: checks the installation, the memory in a folder, and a model's server."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from packaging.requirements import Requirement

from acc import __version__
from acc.cli import options
from acc.cli.opening import CHROMA, Memory, Place, check_memory, looking, opened
from acc.cli.options import option
from acc.cli.output import count, print_json
from acc.controller.indexing import FOLDER
from acc.errors import AccError, InputError
from acc.evidence.base import plain
from acc.evidence.evidence import Evidence
from acc.evidence.health import Health, Waiting
from acc.journal.opened import FILE
from acc.text.lines import inert_line

_MOST_LAGS = 5


class Finding(NamedTuple):
    """The result of one check: ``note`` works but could be better, ``bad`` does not work."""

    level: Literal["ok", "note", "bad"]
    what: str
    hint: str = ""

    @classmethod
    def of_error(cls, error: AccError) -> Finding:
        """Return the finding that an error describes."""
        return cls("bad", error.what + (f" ({error.where})" if error.where else ""), error.hint)


def doctor(
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    endpoint: Annotated[str, option("MODEL|URL", "Check this model at OPENAI_BASE_URL, NAME@URL, or the first "
        "model at a URL, instead of a memory. Asks one short question.")] = "",
    json: options.JsonOption = False,
) -> None:  # fmt: skip
    """Check the installation, a memory or a model's server.

    Each line begins with ok, note (works, but could be better, or was not checked) or bad.
    """
    details: dict[str, Any] = {}
    if endpoint:
        from acc.cli.endpoint import check_endpoint

        findings = list(check_endpoint(endpoint))
    else:
        findings = [*_packages(), _api_key()]
        try:
            findings += _memory(memory, details)
        except AccError as error:
            findings.append(Finding.of_error(error))
    if json:
        print_json({"checks": [finding._asdict() for finding in findings], **details})
    for level, what, hint in () if json else findings:
        fix = f"\n      to fix: {inert_line(hint)}" if hint else ""
        print(f"{level:<5} {inert_line(what)}{fix}", flush=True)
    if bad := [finding for finding in findings if finding.level == "bad"]:
        what = f"{len(bad)} of {len(findings)} checks failed: {bad[0].what}"
        raise AccError(what, hint=bad[0].hint)


def _packages() -> Iterator[Finding]:
    yield Finding("ok", f"acc {__version__}, Python {platform.python_version()}")
    try:
        declared = requires("agent-cognitive-compressor") or []
    except PackageNotFoundError:
        what = "acc runs from its sources and is not installed: versions are not checked"
        yield Finding("note", what, "install it with pip install PATH_OF_THE_FOLDER")
        return
    found = [_package(Requirement(line)) for line in declared if "extra ==" not in line]
    wrong = [finding for finding in found if finding.level != "ok"]
    yield from wrong or [Finding("ok", "; ".join(finding.what for finding in found))]


def _package(needed: Requirement) -> Finding:
    try:
        installed = version(needed.name)
    except PackageNotFoundError:
        return Finding("bad", f"{needed.name} is not installed", f"pip install '{needed}'")
    if not needed.specifier.contains(installed, prereleases=True):
        what = f"{needed.name} {installed} is installed, {needed.specifier} is needed"
        return Finding("bad", what, f"pip install '{needed}'")
    return Finding("ok", f"{needed.name} {installed}")


def _api_key() -> Finding:
    if not os.environ.get("OPENAI_API_KEY"):
        return Finding("ok", "OPENAI_API_KEY is not set: the keyless rules compress")
    at = f" for {url}" if (url := os.environ.get("OPENAI_BASE_URL")) else ""
    return Finding("ok", f"OPENAI_API_KEY is set{at}; acc doctor --endpoint MODEL tests it")


def _memory(memory: Memory, details: dict[str, Any]) -> Iterator[Finding]:
    """Check the memory in a folder, if there is one. A folder without one is no error: nothing is made."""
    has_index = bool(os.environ.get(CHROMA))
    if isinstance(memory, Path):
        if not memory.exists() or (memory.is_dir() and not (memory / FILE).exists()):
            yield Finding("ok", f"no memory in {memory} yet")
            return
        check_memory(memory)
        if not os.access(memory, os.W_OK) or not os.access(memory / FILE, os.W_OK):
            what = "the folder or its journal cannot be written: every step would fail"
            raise InputError(what, where=str(memory), hint="give this user write access")
        has_index = has_index or (memory / FOLDER).is_dir()
    with opened(memory) if has_index else looking(memory) as controller:
        health = Evidence(controller).health()
    details["health"] = plain(health)
    yield from _journal(health)
    yield from _index(health, has_index=has_index)


def _journal(health: Health) -> Iterator[Finding]:
    held = (health.threads, "thread"), (health.messages, "message"), (health.commits, "commit")
    told = ", ".join(count(number, noun) for number, noun in held)
    sizes = ", ".join(f"{name} {size / 2**20:,.1f} MiB" for name, size in health.sizes.items())
    free = f"{health.free_bytes / 2**20:,.1f} MiB free in the journal"
    yield Finding("ok", f"the journal has {told}; on the disk: {sizes}; {free}")
    for problem in health.problems:
        if problem.startswith("journal: "):
            yield Finding("bad", problem, "run acc verify, and restore a backup")
    for turn in health.open:
        what = f"{_label(turn)}: {count(turn.messages, 'message')} of a turn without a commit"
        yield Finding("note", what, "nothing: the next step of the thread takes them up")


def _index(health: Health, *, has_index: bool) -> Iterator[Finding]:
    problems = [each for each in health.problems if not each.startswith("journal: ")]
    for problem in problems:
        yield Finding("note", problem, "steps go on; close the other process, or run acc reindex")
    behind = sum(each.messages for each in health.lag)
    if not has_index:
        yield Finding("note", "there is no index: recall finds by words alone", "run acc reindex")
    elif behind:
        named = ", ".join(f"{_label(each)} {each.messages:,}" for each in health.lag[:_MOST_LAGS])
        more = " and others" if len(health.lag) > _MOST_LAGS else ""
        what = f"the index lacks {count(behind, 'message')}: {named}{more}"
        yield Finding("note", what, "nothing: each thread's next step fills it; or acc reindex")
    elif not problems:
        yield Finding("ok", "the index has every message")


def _label(each: Waiting) -> str:
    return Place(each.thread, each.branch).label
