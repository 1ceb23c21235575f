"""``acc verify`` and ``heads``: recompute every commit, and keep heads outside by which a rewritten journal shows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from acc.cli import options
from acc.cli.opening import INSTALL, looking, plain_policy, reading, schema_of, thread_named
from acc.cli.options import option
from acc.cli.output import tell
from acc.errors import AuditError, ConfigurationError, InputError
from acc.evidence.evidence import Evidence
from acc.evidence.moving import read_heads
from acc.journal import Journal, Report
from acc.state.policy import Policy
from acc.text.lines import count

FIX = "restore a backup, and compare it with heads that you keep outside (acc verify --head FILE)"


def verify(
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    thread: Annotated[str | None, option("NAME", "Check this thread. [default: all]")] = None,
    head: Annotated[Path | None, option("FILE", "Check that each head of this file of acc heads is a commit "
        "still.")] = None,
    json: options.JsonOption = False,
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
    tell("\n".join(lines), value, as_json=json)
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


def heads(
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    out: Annotated[Path | None, option("FILE", "Write them to this file. [default: stdout]")] = None,
) -> None:  # fmt: skip
    """Print the last commit of each thread, to keep outside.

    Who rewrites a journal cannot rewrite what is kept elsewhere: acc verify --head FILE compares both.
    """
    with looking(memory) as controller, TemporaryDirectory() as folder:
        file = out or Path(folder) / "heads"
        written = Evidence(controller).write_heads(file)
        print(f"{count(written, 'head')} written to {out}" if out else file.read_text().rstrip())
