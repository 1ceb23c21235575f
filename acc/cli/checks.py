"""``acc verify``, ``heads`` and ``doctor``: whether a memory, the installation and a model are as they should be."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from acc import __version__
from acc.cli import terminal
from acc.cli.opening import (
    CHROMA,
    INSTALL,
    Memory,
    NamedBranch,
    check_memory,
    looking,
    opened,
    plain_policy,
    reading,
    schema_of,
    thread_named,
)
from acc.cli.terminal import option, print_json, tell
from acc.controller.indexing import FOLDER
from acc.errors import AccError, AuditError, ConfigurationError, InputError
from acc.evidence.base import plain
from acc.evidence.evidence import Evidence, Health, Lag
from acc.evidence.files import read_heads
from acc.journal import Journal, Report
from acc.journal.opened import FILE
from acc.models.endpoints import as_model
from acc.models.protocol import AnswerError, Completion, PromptMessage, object_in
from acc.state.policy import Policy
from acc.text.lines import count, inert_line

_MOST_LAGS = 5

_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"greeting": {"type": "string"}, "letters": {"type": "integer"}},
    "required": ["greeting", "letters"],
    "additionalProperties": False,
}
_MESSAGES = (
    PromptMessage("system", "You greet people in French. If asked for JSON, you answer in JSON."),
    PromptMessage("user", "Greet me with one word, and tell how many letters it has."),
)
FIX = "restore a backup, and compare it with heads that you keep outside (acc verify --head FILE)"


def verify(
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    thread: Annotated[str | None, option("NAME", "Check this thread. [default: all]")] = None,
    head: Annotated[Path | None, option("FILE", "Check that each head of this file of acc heads is a commit "
        "still.")] = None,
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """Check a memory by recomputing every commit.

    Checks each message, commit and chain, thread by thread. Agents go on meanwhile. It says what cannot be recomputed,
    and why.
    """
    anchors = list(read_heads(head)) if head else []
    with reading(memory) as journal:
        keys = None if thread is None else [thread_named(journal, thread).thread]
        if keys is not None:
            anchors = [each for each in anchors if each.thread in keys]
        policies, missing = _stored_policies(journal)
        report = journal.verify(policies, threads=keys, anchors=anchors)
    if not report.threads:
        raise InputError("no thread has a commit", where=str(memory), hint="name another memory")
    damages = [{**asdict(each), "text": str(each)} for each in report.damages]
    value = {
        "threads": report.threads, "messages": report.messages, "heads": len(anchors),
        "recomputed": report.recomputed, "not_recomputed": report.unexplained,
        "reasons": dict(report.reasons),
        "damages": damages, "is_clean": report.is_clean,
    }  # fmt: skip
    lines = [_told(report, len(anchors)), *(f"damaged: {each['text']}" for each in damages)]
    lines += [f"to check commits of {name}: {INSTALL}" for name in missing]
    tell(lines, value, as_json=json)
    if report.damages:
        first, number = report.damages[0], count(len(report.damages), "damage")
        raise AuditError(f"{number}: {first.what}", where=str(first.thread), hint=FIX)


def _stored_policies(journal: Journal) -> tuple[list[Policy], list[str]]:
    """Return a policy for each schema of a journal's commits, and the names of schemas that are not installed."""
    found, missing = [], []
    for name in dict.fromkeys(str(body["schema"]) for body in journal.policies().values()):
        try:
            found.append(plain_policy(schema=schema_of(name)))
        except ConfigurationError:
            missing.append(name)
    return found, missing


def _told(report: Report, anchors: int) -> str:
    equal = ", all equal" if report.is_clean and report.recomputed else ""
    parts = [
        f"{count(report.threads, 'thread')}: {count(report.recomputed, 'commit')} recomputed{equal}",
        f"{count(report.messages, 'message')} checked",
    ]
    if report.unexplained:
        why = ", ".join(f"{reason} ({number:,})" for reason, number in report.reasons.items())
        parts.append(f"{count(report.unexplained, 'commit')} not recomputed: {why}")
    if anchors:
        parts.append(f"compared with {count(anchors, 'head')}")
    return "; ".join(parts)


class Finding(NamedTuple):
    """The result of one check: ``note`` works but could be better, ``bad`` does not work."""

    level: Literal["ok", "note", "bad"]
    what: str
    hint: str = ""


def doctor(
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    endpoint: Annotated[str, option("MODEL", "Check this model at OPENAI_BASE_URL, or NAME@URL, instead of a "
        "memory. Asks one short question.")] = "",
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """Check the installation, a memory or a model's server.

    Each line begins with ok, note (works, but could be better, or was not checked) or bad.
    """
    details: dict[str, Any] = {}
    findings: list[Finding] = []
    try:
        findings.extend(_endpoint(endpoint) if endpoint else _all(memory, details))
    except AccError as error:
        where = f" ({error.where})" if error.where else ""
        findings.append(Finding("bad", f"{error.what}{where}", error.hint))
    if json:
        print_json({"checks": [finding._asdict() for finding in findings], **details})
    for level, what, hint in () if json else findings:
        fix = f"\n      to fix: {inert_line(hint)}" if hint else ""
        print(f"{level:<5} {inert_line(what)}{fix}", flush=True)
    if bad := [finding for finding in findings if finding.level == "bad"]:
        what = f"{len(bad)} of {len(findings)} checks failed: {bad[0].what}"
        raise AccError(what, hint=bad[0].hint)


def _all(memory: Memory, details: dict[str, Any]) -> Iterator[Finding]:
    """Check the installation and the memory, if there is one. A folder without one is no error: nothing is made."""
    beside = (f"{name} {version(name)}" for name in ("chromadb", "langgraph", "openai"))
    named = (f"acc {__version__}", f"Python {platform.python_version()}", *beside)
    yield Finding("ok", ", ".join(named))
    if os.environ.get("OPENAI_API_KEY"):
        at = f" for {url}" if (url := os.environ.get("OPENAI_BASE_URL")) else ""
        yield Finding("ok", f"OPENAI_API_KEY is set{at}; acc doctor --endpoint MODEL tests it")
    else:
        yield Finding("ok", "OPENAI_API_KEY is not set: the keyless rules compress")
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


def _label(each: Lag) -> str:
    return NamedBranch(each.thread, each.branch).label


def _endpoint(given: str) -> Iterator[Finding]:
    started = time.perf_counter()
    model = as_model(given)
    answer = model.complete(_MESSAGES, _SCHEMA, max_tokens=1_024)
    if answer.usage.requests > 1:
        yield Finding("note", "the server refuses a JSON Schema as response_format")
    yield _shape(model.name, answer)
    yield Finding("ok", f"the answer took {time.perf_counter() - started:.1f} s")


def _shape(name: str, answer: Completion) -> Finding:
    if answer.cut_off:
        hint = "let the model reason less, or use another: its answer reached the limit of tokens"
        return Finding("bad", f"{name}: the answer was cut off", hint)
    try:
        found = object_in(answer.text, ("greeting", "letters"))
        said = f"an object with the fields {', '.join(found)}"
    except AnswerError as error:
        found, said = {}, str(error)
    fits = isinstance(found.get("greeting"), str) and isinstance(found.get("letters"), int)
    if fits and len(found) == 2:
        return Finding("ok", f"{name}: it answers by a JSON Schema")
    what = f"{name}: it was to answer by a JSON Schema, and answered {said}"
    return Finding("bad", what, "use a stronger model: this one does not follow a JSON Schema")
