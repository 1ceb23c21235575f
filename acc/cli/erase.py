"""``acc erase``: shows what an erasure takes and costs, asks, erases, and tells what it found afterwards."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Annotated

from acc.cli import terminal
from acc.cli.opening import (
    conversations,
    erased_named,
    last_policy,
    opened,
    plain_policy,
    reading,
)
from acc.cli.terminal import Summary, argument, carry_out, model_named, option
from acc.errors import InputError, StoreError
from acc.evidence.base import plain
from acc.evidence.erasure import ErasurePlan, Receipt
from acc.evidence.evidence import Evidence
from acc.evidence.target import Target
from acc.journal import ThreadKey
from acc.text.lines import count


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
    receipts: list[Receipt] = []
    with opened(memory, policy=policy, model=model_named(model)) as controller:
        plan = Evidence(controller).plan_erasure(target)

        def act() -> Summary:
            receipts.append(plan.apply())
            return Summary(list(_done_lines(receipts[0])), plain(receipts[0]))

        shows_words = not yes and sys.stdout.isatty()
        carry_out(_planned(plan, shows_words=shows_words), act, yes=yes, as_json=json)
    if traces := receipts[0].traces:
        what = f"erased words were found in {len(traces)} places: {traces[0].what}"
        hint = "delete the named copies, then erase again"
        raise StoreError(what, where=str(traces[0].where), hint=hint)


def _target(
    thread: ThreadKey | None, refs: Sequence[str], words: Sequence[str], scope: terminal.Scope
) -> Target:
    """Return what is to be erased."""
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


def _planned(plan: ErasurePlan, *, shows_words: bool) -> Summary:
    value = plain(plan)
    for body in value["leaving"]:
        body["text"] = body["text"] if shows_words else ""
    lines = list(_plan_lines(plan, shows_words=shows_words))
    if plan.threads:
        named = ", ".join(map(str, plan.threads))
        hint = "delete them with the checkpointer's delete_thread(NAME)"
        lines.append(f"  checkpoints of {named}, if there are any, keep the words: {hint}")
    return Summary(lines, value)


def _plan_lines(plan: ErasurePlan, *, shows_words: bool) -> Iterator[str]:
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


def _done_lines(receipt: Receipt) -> Iterator[str]:
    """Yield what an erasure did, and what its search found."""
    yield (
        f"erasure {receipt.id} is done: {count(receipt.deleted, 'thread')}, "
        f"{count(receipt.messages, 'message')}, {count(receipt.commits, 'commit')}"
    )
    for head in receipt.heads:
        yield f"  {head.thread}, branch {head.branch}, ends with {head.hash}: keep it anew outside"
    yield from (f"  {each} is a copy made before: it was not searched" for each in receipt.exports)
    yield from (f"  {each} was not searched: no file of this memory" for each in receipt.foreign)
    yield from (f"  left: {trace.where}: {trace.what}" for trace in receipt.traces)
    searched, proved = receipt.searched, "proved" if receipt.proved else "not proved"
    yield (
        f"searched {count(searched.files, 'file')}, {searched.bytes:,} bytes: "
        f"{len(receipt.traces)} traces; {proved}"
    )
