"""What comes into a memory, its copies, and what the operator ends, keeps and deletes.

``acc ingest``, ``export``, ``import``, ``backup``, ``reindex``; ``retire``, ``hold``, ``prune``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from acc.artifacts.chroma import ChromaStore
from acc.cli import terminal
from acc.cli.opening import check_memory, last_policy, looking, opened, reading, thread_named
from acc.cli.terminal import Summary, argument, carry_out, flag, option, print_table, tell
from acc.controller.indexing import FOLDER
from acc.errors import InputError, StoreError
from acc.evidence.base import plain
from acc.evidence.evidence import Evidence
from acc.evidence.policies import Age, Capacity, History, Period
from acc.evidence.retention import ExpiryPlan, PrunePlan
from acc.folders import refuse_memorys
from acc.journal import ThreadKey
from acc.journal.opened import FILE
from acc.text.lines import count, inert_line

Kind = Literal["documents", "messages"]

_POLICIES: Mapping[str, type[Period | History | Capacity]] = {
    "period": Period, "history": History, "capacity": Capacity,
}  # fmt: skip
"""The policies whose numbers are fields; age and idle take days."""


def ingest(
    paths: Annotated[list[Path], argument("PATH", "Files or folders.")],
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    scope: terminal.ScopeOption = None,
    replace: Annotated[bool, flag("--replace", "Delete earlier versions of the same files.")] = False,
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """Add documents that agents can recall.

    Reads text in UTF-8; of a folder, text and Markdown. The threads of --scope recall them; without it, those of no
    named owner.
    """
    with opened(memory, create=True) as controller:
        found = Evidence(controller).ingest(paths, replace=replace, **(scope or {}))
        warnings = controller.index.warnings
    lines = [f"{each.ref}  {each.name}: {_ingested(each)}" for each in found]
    told = "\n".join(map(inert_line, (*lines, *warnings)))
    tell(told, [plain(each) for each in found], as_json=json)


def _ingested(each: Any) -> str:
    if not each.is_new:
        return "already in the memory"
    gone = f", {count(each.replaced, 'earlier version')} deleted" if each.replaced else ""
    return f"{count(each.parts, 'part')} added{gone}"


def export(
    out: Annotated[Path, argument("FILE", "The file to write; .gz is compressed, - is stdout.")],
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    scope: terminal.FilterOption = None,
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """Write threads to a file of JSON lines.

    With their commits and chain of hashes, as acc import and jq read them.
    """
    with opened(memory, index="none") as controller:  # it notes which copies there are
        evidence = Evidence(controller)
        if str(out) == "-":
            for line in evidence.lines(**terminal.named(scope)):
                sys.stdout.write(f"{line.rstrip()}\n")
            return
        refuse_memorys(out)
        done = evidence.export(out, **terminal.named(scope))
    told = f"{count(done.threads, 'thread')}, {count(done.lines, 'line')} written to {out}"
    tell(told, plain(done), as_json=json)


def import_(
    source: Annotated[Path, argument("FILE", "A file that acc export wrote.")],
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """Add the threads of an exported file to a memory.

    Checks the hashes first. If a check fails, nothing is imported.
    """
    if not source.is_file():  # what is none must not make a folder
        raise InputError("no such file", where=str(source), hint="give what acc export wrote")
    with opened(memory, create=True) as controller:
        keys = Evidence(controller).import_(source)
    tell(f"{count(len(keys), 'thread')} imported", [plain(key) for key in keys], as_json=json)


def backup(
    to: Annotated[Path, argument("FOLDER", "The folder to create.")],
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """Copy a memory to a folder while others write.

    To restore, end all writers, put the copy in the place of the memory's folder, and run acc reindex, which builds
    the index, then acc verify.
    """
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        what = "the folder is there already, and not empty"
        raise InputError(what, where=str(to), hint="name a new one")
    with opened(memory, index="none") as controller:  # it notes which copies there are
        size = controller.back_up(to / FILE).stat().st_size
    told = f"{size:,} bytes copied to {to}; the index is built by acc reindex --memory {to}"
    tell(told, {"folder": str(to), "bytes": size}, as_json=json)


def reindex(
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY, json: terminal.JsonOption = False
) -> None:
    """Build the index of a memory anew from its journal.

    The journal is the truth: nothing is lost with an index. Needed after a restore, or with another embedder. A
    damaged index gets another name.
    """
    check_memory(memory)
    index = memory / FOLDER if isinstance(memory, Path) else None
    aside = ChromaStore.set_aside(index) if index is not None and index.is_dir() else None
    with opened(memory) as controller:
        done = Evidence(controller).reindex()
        warnings = controller.index.warnings
    if warnings:
        hint = "end the process that holds it, and run this again"
        raise StoreError(warnings[0], where=str(memory), hint=hint)
    told = f"{count(done.messages, 'message')} of {count(done.threads, 'thread')} in the index"
    if aside is not None:
        told += f"\nthe damaged index is now {aside}: delete it, it may hold what was erased"
    tell(told, {**plain(done), "damaged": str(aside or "")}, as_json=json)


def retire(
    ids: Annotated[list[str], argument("ID", "Items, such as c3. See acc show --provenance.")],
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    thread: terminal.ThreadOption = None,
    reason: Annotated[str, option("TEXT", "Why. The journal keeps it.")] = "",
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """End rules, goals or other items of a state.

    On every branch of the thread. The messages stay in the memory, and the journal says what ended and why.
    """
    with reading(memory) as journal:
        place = thread_named(journal, thread)
        policy = last_policy(journal, place)
    with opened(memory, policy=policy, index="none") as controller:
        before = controller.last_state(place.thread, branch=place.branch)
        step = controller.retire(ids, reason, thread=place.thread, state=before)
    words = {i: found[1].text_of for i in ids if before and (found := before.find(i))}
    lines = [inert_line(f"retired {item}: {text}") for item, text in words.items()]
    lines.append(f"{place.label} goes on with version {step.state.version:,}")
    value = {"thread": asdict(place.thread), "branch": place.branch, "version": step.state.version}
    value["retired"] = [{"id": item, "text": text} for item, text in words.items()]
    tell("\n".join(lines), value, as_json=json)


def hold(
    ref: Annotated[str, argument("REF", "A message or a document. [default: the whole thread]")] = "",
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    thread: terminal.ThreadOption = None,
    reason: Annotated[str, option("TEXT", "Who asks for the hold, and why. Required.")] = "",
    release: Annotated[bool, flag("--release", "Release the hold instead of setting it.")] = False,
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """Protect evidence from deletion, or list what is protected.

    Without REF and --thread, this lists the holds.
    """
    is_named = bool(ref or thread)
    if release and not is_named:
        what = "nothing is named to release"
        raise InputError(what, where="--release", hint="name REF or --thread")
    with opened(memory, index="none") if is_named else looking(memory) as controller:
        evidence = Evidence(controller)
        if is_named:
            key = _holder(evidence, ref) or thread_named(controller.journal, thread).thread
            evidence.release(key, ref) if release else evidence.hold(key, ref, reason=reason)
        holds = evidence.held()
    if json or not holds:
        tell("no holds", [plain(each) for each in holds], as_json=json)
        return
    rows = [(str(h.thread), h.ref or "(all)", h.reason, h.at) for h in holds]
    print_table(("thread", "ref", "reason", "since"), rows, wrap=("reason",))


def _holder(evidence: Evidence, ref: str) -> ThreadKey | None:
    """Return the thread of a document that ``ref`` names; None if it names none, or several."""
    found = [each.thread for each in evidence.documents() if each.ref == ref]
    return found[0] if len(found) == 1 else None


def prune(
    policy: Annotated[str, option("POLICY", "What to delete: period (rarely recalled lately), history (recalled "
        "often and not useful), capacity,limit=N (the least useful beyond N), age,days=N, or idle,days=N (whole "
        "threads). Numbers follow, as in period,period=200,alpha=0 or history,n=5,beta=0.5; also kind=messages "
        "instead of documents.")],
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    scope: terminal.FilterOption = None,
    yes: terminal.YesOption = False,
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """Delete evidence that is rarely read or not useful.

    Prints the plan and asks before it deletes. What a state cites, or acc hold protects, stays.
    """
    name, kind, numbers = _parsed(policy)
    with opened(memory) as controller:
        evidence, where = Evidence(controller), terminal.named(scope)
        plan: PrunePlan | ExpiryPlan
        if name == "idle":
            plan = evidence.plan_expiry(timedelta(**numbers), **where)
        else:
            rule = Age(timedelta(**numbers)) if name == "age" else _POLICIES[name](**numbers)
            plan = evidence.plan_prune(rule, kind=kind, **where)

        def act() -> Summary:
            done = plan.apply()
            told = f"deleted: {count(done.messages, 'message')}, {count(done.threads, 'thread')}"
            return Summary([told, *done.warnings], plain(done))

        carry_out(Summary(_lines(plan), plain(plan)), act, yes=yes, as_json=json)


def _parsed(text: str) -> tuple[str, Kind, dict[str, Any]]:
    """Return name, kind of evidence and numbers of a policy; raise `InputError` if it is none."""
    name, *parts = text.split(",")
    given: dict[str, Any] = dict(part.split("=", 1) for part in parts if "=" in part)
    kind = given.pop("kind", "documents")
    own = fields(_POLICIES[name]) if name in _POLICIES else ()
    needed = {"days"} if name in ("age", "idle") else set()
    takes = needed | {each.name for each in own}
    if not takes or kind not in get_args(Kind) or not needed <= given.keys() <= takes:
        names = ", ".join((*_POLICIES, "age", "idle"))
        hint = f"{name},{min(takes)}=N" if takes else f"choose {names}"
        raise InputError(f"{text!r} is no policy", where="--policy", hint=hint)
    for key, value in given.items():
        try:
            given[key] = int(value) if value.isascii() and value.isdigit() else float(value)
        except ValueError as error:
            what, hint = f"{key} is {value!r}", f"give a number: {key}=N"
            raise InputError(what, where="--policy", hint=hint) from error
    return name, kind, given


def _lines(plan: PrunePlan | ExpiryPlan) -> Sequence[str]:
    """Return the plan of a pruning or of an expiry in words."""
    if isinstance(plan, PrunePlan):
        lines = [f"  delete {d.ref} of {d.thread}: {d.why}" for d in plan.doomed]
        lines += [f"  keep {d.ref} of {d.thread}: {d.why}" for d in plan.kept]
        kept = f"{len(plan.kept)} are kept although the policy would delete them"
        return [*lines, f"to delete: {len(plan.doomed)} of {plan.judged:,}; {kept}"]
    lines = [f"  delete thread {key}: last commit {at}" for key, at in plan.threads.items()]
    lines += [f"  keep thread {held.thread}: {held.reason}" for held in plan.held]
    return [*lines, f"to delete: {count(len(plan.threads), 'thread')}; {len(plan.held)} are held"]
