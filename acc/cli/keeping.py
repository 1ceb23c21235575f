"""What an operator ends, keeps and deletes: ``acc retire``, ``hold``, ``prune`` and ``erase``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import timedelta
from typing import Annotated, Any, Literal, get_args

from acc.cli import terminal
from acc.cli.opening import (
    conversations,
    erased_named,
    last_policy,
    looking,
    opened,
    plain_policy,
    reading,
    thread_named,
)
from acc.cli.terminal import argument, confirm, flag, model_named, option, tell, tell_table
from acc.errors import InputError, StoreError
from acc.evidence.base import plain
from acc.evidence.erasure import ErasurePlan, Receipt
from acc.evidence.evidence import Evidence
from acc.evidence.policies import Age, Capacity, History, Period
from acc.evidence.retention import PrunePlan
from acc.evidence.target import Target
from acc.journal import ThreadKey
from acc.text.lines import count

Kind = Literal["documents", "messages"]

_POLICIES: Mapping[str, type[Period | History | Capacity]] = {
    "period": Period, "history": History, "capacity": Capacity,
}  # fmt: skip
"""The policies whose numbers are fields; age and idle take days."""


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
    with opened(memory, policy=policy, store="none") as controller:
        before = controller.last_state(place.thread, branch=place.branch)
        step = controller.retire(ids, reason, thread=place.thread, state=before)
    words = {i: found[1].text_of for i in ids if before and (found := before.find(i))}
    lines = [f"retired {item}: {text}" for item, text in words.items()]
    lines.append(f"{place.label} goes on with version {step.state.version:,}")
    value = {"thread": asdict(place.thread), "branch": place.branch, "version": step.state.version}
    value["retired"] = [{"id": item, "text": text} for item, text in words.items()]
    tell(lines, value, as_json=json)


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
    with opened(memory, store="none") if is_named else looking(memory) as controller:
        evidence = Evidence(controller)
        if is_named:
            key = _holder(evidence, ref) or thread_named(controller.journal, thread).thread
            evidence.release(key, ref) if release else evidence.hold(key, ref, reason=reason)
        holds = evidence.held()
    names = ("thread", "ref", "reason", "since")
    rows = [(str(h.thread), h.ref or "(all)", h.reason, h.at) for h in holds]
    value = [plain(each) for each in holds]
    tell_table(names, rows, value, wrap=("reason",), none="no holds", as_json=json)


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
        evidence, where = Evidence(controller), scope or {}
        if name == "idle":
            plan = evidence.plan_expiry(timedelta(**numbers), **where)
        else:
            rule = Age(timedelta(**numbers)) if name == "age" else _POLICIES[name](**numbers)
            plan = evidence.plan_prune(rule, kind=kind, **where)
        confirm(_to_prune(plan), plain(plan), yes=yes, as_json=json)
        done = plan.apply()
    told = f"deleted: {count(done.messages, 'message')}, {count(done.threads, 'thread')}"
    tell([told, *done.warnings], plain(done), as_json=json)


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


def _to_prune(plan: PrunePlan) -> Sequence[str]:
    lines = [f"  delete {d.ref or 'all'} of {d.thread}: {d.why}" for d in plan.doomed]
    lines += [f"  keep {d.ref or 'all'} of {d.thread}: {d.why}" for d in plan.kept]
    kept = f"{len(plan.kept)} are kept although the policy would delete them"
    return [*lines, f"to delete: {len(plan.doomed)} of {plan.judged:,}; {kept}"]


def erase(
    refs: Annotated[list[str] | None, argument("REF", "Messages of --thread, or one document, as "
        "doc.8f1c.")] = None,
    memory: terminal.MemoryOption = terminal.DEFAULT_MEMORY,
    thread: Annotated[str | None, option("NAME", "Erase this thread, or REF or --words in it.")] = None,
    scope: terminal.ScopeOption = None,
    words: Annotated[list[str] | None, option("TEXT", "Erase each message that holds these words. "
        "Repeatable.")] = None,
    model: terminal.ModelOption = "",
    yes: terminal.YesOption = False,
    json: terminal.JsonOption = False,
) -> None:  # fmt: skip
    """Erase a user, a thread, a message or words.

    Prints the plan with its price and asks before it erases. Then it searches all files for what was erased.
    """
    with reading(memory) as journal:
        place = erased_named(journal, thread) if thread else next(conversations(journal), None)
        key = place.thread if place and thread else None
        target = _target(key, refs or [], words or [], scope or {})
        policy = last_policy(journal, place) if place else plain_policy()
    with opened(memory, policy=policy, model=model_named(model)) as controller:
        plan = Evidence(controller).plan_erasure(target)
        value, shows_words = plain(plan), not yes and sys.stdout.isatty()
        for body in value["leaving"]:
            body["text"] = body["text"] if shows_words else ""
        lines = _to_erase(plan, shows_words=shows_words)
        confirm(lines, value, yes=yes, as_json=json)
        receipt = plan.apply()
    tell(_erased(receipt), plain(receipt), as_json=json)
    if traces := receipt.traces:
        what = f"erased words were found in {len(traces)} places: {traces[0].what}"
        hint = "delete the named copies (acc reindex for those in the index), then erase again"
        raise StoreError(what, where=str(traces[0].where), hint=hint)


def _target(
    thread: ThreadKey | None, refs: Sequence[str], words: Sequence[str], scope: terminal.Scope
) -> Target:
    if len(refs) == 1 and refs[0].startswith("doc.") and not thread:
        return Target(document=refs[0], **scope)
    if thread is not None:
        return Target(thread=thread, refs=tuple(refs), words=tuple(words))
    if refs or not (words or scope):
        what = f"{refs[0]} is a message of a thread" if refs else "nothing is named to erase"
        hint = (
            "name --thread NAME, REF with --thread, a document, --scope user=NAME, or --words TEXT"
        )
        raise InputError(what, where="acc erase", hint=hint)
    return Target(words=tuple(words), **scope)


def _to_erase(plan: ErasurePlan, *, shows_words: bool) -> Iterator[str]:
    """Yield what an erasure will do, and its price; without ``shows_words`` not what leaves the states."""
    yield (
        f"to erase: {count(len(plan.deleted), 'thread')}, "
        f"{count(len(plan.messages), 'message')}, {count(plan.commits, 'commit')}"
    )
    if not (plan.deleted or plan.messages):
        yield "  nothing of it is in the journal any more: index, log and files are cleaned"
    yield from (f"  thread {key}: deleted" for key in plan.deleted)
    for gone in plan.messages:
        echo = ", which repeats the erased words" if gone.is_echo else ""
        before = ", blanked before" if gone.is_blank else ""
        yield f"  message {gone.ref} of {gone.thread} ({gone.channel}){echo}{before}"
    for item in plan.leaving:
        binds = ", which BINDS NO MORE" if item.is_pinned else ""
        text = f": {item.text}" if shows_words else ""
        yield f"  leaves the state of {item.thread}: {item.id} of {item.slot}{binds}{text}"
    price = f"at most {count(plan.requests, 'request')}, {plan.tokens:,} tokens"
    yield f"  price: {price if plan.requests else 'no request of a model'}"
    if plan.threads:
        named = ", ".join(map(str, plan.threads))
        hint = "delete them with the checkpointer's delete_thread(NAME)"
        yield f"  checkpoints of {named}, if there are any, keep the words: {hint}"


def _erased(receipt: Receipt) -> Iterator[str]:
    yield (
        f"erasure {receipt.id} is done: {count(receipt.deleted, 'thread')}, "
        f"{count(receipt.messages, 'message')}, {count(receipt.commits, 'commit')}"
    )
    for head in receipt.heads:
        yield f"  {head.thread}, branch {head.branch}, ends with {head.hash}: keep it anew outside"
    yield from (f"  {each} was not searched: no file of this memory" for each in receipt.foreign)
    yield from (f"  left: {trace.where}: {trace.what}" for trace in receipt.traces)
    searched, proved = receipt.searched, "proved" if receipt.proved else "not proved"
    yield (
        f"searched {count(searched.files, 'file')}, {searched.bytes:,} bytes: "
        f"{len(receipt.traces)} traces; {proved}"
    )
