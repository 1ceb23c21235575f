"""``acc doctor``: checks the installation, and the memory in a folder."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer
from packaging.requirements import Requirement

from acc import __version__
from acc.audit.medium import audit_store
from acc.cli import options
from acc.cli.opening import FIX_LOGS, check_memory, opened
from acc.cli.output import count, print_json
from acc.errors import AccError, StoreError
from acc.evidence.log_health import compare_logs
from acc.evidence.marks import DatabaseMarks, marks_of
from acc.evidence.upkeep import check_records, check_shelves, interrupted
from acc.state.policy import Policy
from acc.stores.protocol import UNNAMED
from acc.text.lines import inert_line

Level = Literal["ok", "note", "bad"]
Api = Literal["chat", "responses"]


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

    @classmethod
    def of_error(cls, error: AccError) -> Finding:
        """The finding that an error describes."""
        return cls("bad", error.what + (f" ({error.where})" if error.where else ""), error.hint)


def doctor(
    endpoint: Annotated[
        str,
        typer.Option(
            metavar="URL|MODEL",
            help="Check the API at this URL, or this model at OPENAI_BASE_URL, instead of a "
            "memory. Sends at most eight short questions.",
        ),
    ] = "",
    model: Annotated[
        str,
        typer.Option(metavar="NAME", help="The model at the URL. [default: the first it lists]"),
    ] = "",
    api: Annotated[Api, typer.Option(help="The API of the endpoint.")] = "chat",
    seconds: Annotated[
        float, typer.Option(metavar="N", min=0.01, help="Time limit of each question.")
    ] = 60.0,
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    tenant: options.TenantOption = UNNAMED,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair/--dry-run",
            help="Repair what is broken, or only print the command that repairs it.",
        ),
    ] = False,
    server: options.ServerOption = None,
    json: options.JsonOption = False,
) -> None:
    """Check the installation, a memory or a model endpoint.

    Each line begins with ok, note (works, but could be better) or bad.
    """
    details: dict[str, Any] = {}
    if endpoint or model:
        from acc.cli.doctor_endpoint import check_endpoint

        findings = list(check_endpoint(endpoint, model, api, seconds))
    else:
        findings = [*_packages(), *_api_key()]
        try:
            if server or _may_hold_memory(memory):
                check_memory(memory, server)
                details = _store(memory, tenant, repair, server)
                findings += _store_findings(
                    details, _repair_command(memory, tenant, server), repaired=repair
                )
            else:
                findings.append(Finding("ok", f"no memory in {memory} yet"))
        except AccError as error:
            findings.append(Finding.of_error(error))
    _report(findings, details, as_json=json)


def _report(findings: Sequence[Finding], details: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the findings.

    Raises:
        AccError: At least one finding is ``bad``.
    """
    if as_json:
        print_json({"checks": [finding._asdict() for finding in findings], **details})
    else:
        for level, what, hint in findings:
            fix = f"\n      to fix: {inert_line(hint)}" if hint else ""
            print(f"{level:<5} {inert_line(what)}{fix}", flush=True)
    bad = [finding for finding in findings if finding.level == "bad"]
    if bad:
        raise AccError(
            f"{len(bad)} of {len(findings)} checks failed: {bad[0].what}", hint=bad[0].hint
        )


_DISTRIBUTION = "agent-cognitive-compressor"


def _packages() -> Iterator[Finding]:
    yield Finding("ok", f"acc {__version__}, Python {platform.python_version()}")
    try:
        declared = requires(_DISTRIBUTION) or []
    except PackageNotFoundError:
        yield Finding(
            "note", "acc runs from its sources and is not installed: versions are not checked",
            "install it with pip install PATH_OF_THE_FOLDER",
        )  # fmt: skip
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


def _api_key() -> Iterator[Finding]:
    url = os.environ.get("OPENAI_BASE_URL")
    if os.environ.get("OPENAI_API_KEY"):
        at = f" for {url}" if url else ""
        yield Finding("ok", f"OPENAI_API_KEY is set{at}; acc doctor --endpoint MODEL tests it")
    else:
        yield Finding("ok", "OPENAI_API_KEY is not set: the keyless rules compress")


def _may_hold_memory(memory: Path) -> bool:
    """Whether the path may hold a memory: a folder with a store or audit logs, or a non-folder."""
    if not memory.is_dir():
        return memory.exists()
    return any((memory / name).exists() for name in ("chroma.sqlite3", "audit"))


def _repair_command(memory: Path, tenant: str, server: options.Server | None) -> str:
    more = "" if tenant == UNNAMED else f" --tenant {shlex.quote(tenant)}"
    at = f" --server {server.host}:{server.port}" if server else ""
    return f"acc doctor --repair --memory {shlex.quote(str(memory))}{more}{at}"


def _store(
    memory: Path, tenant: str, repair: bool, server: options.Server | None
) -> dict[str, Any]:
    """Check the store's records and documents, and return the results."""
    if not server and not os.access(memory, os.W_OK):
        raise StoreError(
            f"the folder {memory} cannot be written",
            hint="give this user write access, or name another folder with --memory",
        )
    place = options.audit_place(memory)
    if isinstance(place, Path) and (unwritable := _unwritable(place)):
        raise StoreError(
            f"{unwritable} cannot be written: every step would fail",
            hint="give this user write access to the audit folder and to its files",
        )
    if not isinstance(place, Path):
        marks = DatabaseMarks(audit_store(place))
        marks.write("doctor", {})  # an error if a step could not write
        marks.remove("doctor")
    with opened(memory, Policy(), server=server, repair=repair) as controller:
        half_done = interrupted(marks_of(controller))
        records = check_records(controller.artifacts, tenant, _progress)
        shelves = check_shelves(controller, tenant, repair=repair)
        return {
            "records": records, "resumed": controller.resumed, "half_done": half_done,
            "after_kill": getattr(controller.artifacts, "after_kill", False),
            "partial": [{**p._asdict(), "space": p.space.model_dump()} for p in shelves.partial],
            "unlisted": [thread.model_dump() for thread in shelves.unlisted],
            "nameless": list(shelves.nameless),
            "logs": [
                {"thread": each.thread.thread, "what": each.what, "is_known": each.is_known}
                for each in compare_logs(controller, tenant)
            ],
        }  # fmt: skip


def _unwritable(audit: Path) -> Path | None:
    """Return the audit folder, its lock or a log, if a step could not write to it."""
    if audit.exists() and not audit.is_dir():
        return audit
    files = [audit.with_name(f"{audit.name}.lock"), *sorted(audit.glob("*.jsonl"))]
    wrong = (each for each in files if each.exists() and not each.is_file())
    locked = (each for each in (audit, *files) if each.exists() and not os.access(each, os.W_OK))
    return next(chain(wrong, locked), None)


def _progress(done: int, total: int) -> None:
    if done % 10_000 == 0:
        print(f"acc: checked {done:,} of {total:,} records", file=sys.stderr, flush=True)


def _store_findings(store: Mapping[str, Any], command: str, *, repaired: bool) -> Iterator[Finding]:
    if store["after_kill"]:
        yield Finding("note", "the last process ended without closing the memory")
    for what in store["resumed"]:
        yield Finding("note", what)
    for what in store["half_done"]:
        yield Finding("bad", what, f"run {command}. Any other use of the memory finishes it, too")
    yield Finding("ok", f"the store opens, and its {count(store['records'], 'record')} can be read")
    for document in store["partial"]:
        yield _partial_document(document, command, repaired=repaired)
    for each in store["logs"]:
        yield _log_finding(**each)
    if unlisted := len(store["unlisted"]):
        what = f"{unlisted:,} threads or users are missing in the directory of threads"
        if repaired:
            yield Finding("note", f"{what}; they were added")
        else:
            yield Finding("note", what, f"run {command}")
    if nameless := len(store["nameless"]):
        yield Finding(
            "note", f"evidence of {count(nameless, 'user')} whose names are not in the directory",
            "nothing: the names are added when these users ingest or finish something again",
        )  # fmt: skip


def _log_finding(thread: str, what: str, is_known: bool) -> Finding:
    what = f"thread {thread}: {what}"
    if is_known:
        return Finding("note", f"{what}; an operator has adopted a state since")
    return Finding("bad", what, FIX_LOGS)


def _partial_document(document: Mapping[str, Any], command: str, *, repaired: bool) -> Finding:
    what = f"the document {document['name'] or document['ref']} was only partly ingested"
    parts = f"its {document['there']} of {document['of']} parts"
    is_incomplete = document["there"] < document["of"]
    if not repaired:
        action = f"delete {parts}" if is_incomplete else "record that it is complete"
        return Finding("bad", what, f"run {command} to {action}")
    if not is_incomplete:
        return Finding("note", what)
    user = document["space"]["user"]
    return Finding(
        "note", f"{what}; {parts} were deleted", f"ingest it again with acc ingest --user {user}"
    )
