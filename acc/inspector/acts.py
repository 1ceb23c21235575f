"""The operator's acts: those of ``acc retire``, ``hold`` and ``erase``, each planned first and then confirmed.

The page itself only reads. Each act opens the memory, beside the agent's process, and closes it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from acc.controller.controller import MemoryController
from acc.errors import ConflictError, InputError
from acc.evidence.erasure import ErasurePlan, Receipt
from acc.evidence.evidence import Evidence
from acc.evidence.target import Target
from acc.journal import ThreadKey
from acc.journal.names import MAIN
from acc.text.lines import count

MOST_PLANS = 8
"""Number of plans that wait for a confirmation; the oldest is dropped."""


class Plan(NamedTuple):
    """What an act will do, and what does it and returns lines that say what was done."""

    lines: Sequence[str]
    act: Callable[[], Sequence[str]]


class OperatorActs:
    """Takes acts as JSON values, and keeps their plans until they are confirmed.

    Args:
        open: Opens the memory.
    """

    def __init__(self, open: Callable[[], MemoryController[Any]]) -> None:
        self._open = open
        self._waiting: dict[str, Plan] = {}

    def plan(self, thread: ThreadKey, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Make a plan. Nothing changes.

        Raises:
            InputError: The act is malformed.
            AccError: It cannot be done.
        """
        made = self._planned(thread, asked)
        name = secrets.token_urlsafe(16)
        self._waiting[name] = made
        while len(self._waiting) > MOST_PLANS:
            del self._waiting[next(iter(self._waiting))]
        return {"plan": name, "lines": list(made.lines)}

    def confirm(self, name: str) -> dict[str, Any]:
        """Do what a plan says. It can be confirmed once.

        Raises:
            InputError: No such plan waits.
            AccError: It cannot be done.
        """
        if (made := self._waiting.pop(name, None)) is None:
            raise InputError("no such plan waits", hint="make the plan again, and confirm that one")
        return {"lines": list(made.act())}

    def _planned(self, thread: ThreadKey, asked: Mapping[str, Any]) -> Plan:
        reason, ref = _text(asked, "reason"), _text(asked, "ref")
        branch = _text(asked, "branch") or MAIN
        match _text(asked, "act"):
            case "retire":
                ids = asked.get("ids")
                if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
                    raise InputError("ids is not a list of texts", where="retire")
                return self._retire(thread, branch, ids, reason)
            case "hold" | "release" as act:
                return self._hold(thread, ref, reason, release=act == "release")
            case "erase":
                return self._erase(_target(thread, branch, _text(asked, "what"), ref))
        raise InputError("no such act", hint="act is retire, hold, release or erase")

    def _retire(self, thread: ThreadKey, branch: str, ids: Sequence[str], reason: str) -> Plan:
        """Plan the end of items of a branch's newest state."""
        with self._open() as memory:
            state = memory.last_state(thread, branch=branch)
            found = {each: state.find(each) if state is not None else None for each in ids}
        if not all(found.values()) or not found:
            missing = ", ".join(each for each in found if found[each] is None) or "none"
            what, hint = f"no item {missing} in the newest state", "choose items of it"
            raise InputError(what, where=str(thread), hint=hint)

        def act() -> list[str]:
            with self._open() as memory:
                newest = memory.last_state(thread, branch=branch)
                memory.retire(ids, reason, thread=thread, state=newest)
            return [f"retired {', '.join(ids)} on every branch that holds them"]

        lines = [f"retire {name}: {item[1].text_of}" for name, item in found.items() if item]
        return Plan([*lines, f"reason, kept in the commit: {reason or '(none)'}"], act)

    def _hold(self, thread: ThreadKey, ref: str, reason: str, *, release: bool) -> Plan:
        """Plan a hold on the evidence ``ref``, or on the thread if it is empty; or its release."""

        def act() -> list[str]:
            with self._open() as memory:
                evidence = Evidence(memory)
                if release:
                    evidence.release(thread, ref)
                else:
                    evidence.hold(thread, ref, reason=reason)
                held = [f"{h.ref or '(all)'} of {h.thread}: {h.reason}" for h in evidence.held()]
                return held or ["no holds"]

        what = f"{ref or 'the whole thread'} of {thread}"
        if release:
            return Plan([f"release the hold on {what}"], act)
        return Plan([f"protect from deletion: {what}", f"reason: {reason}"], act)

    def _erase(self, target: Target) -> Plan:
        with self._open() as memory:
            lines = list(plan_lines(Evidence(memory).plan_erasure(target)))

        def act() -> list[str]:
            with self._open() as memory:
                plan = Evidence(memory).plan_erasure(target)
                if list(plan_lines(plan)) != lines:
                    what = "the memory has changed since the plan was shown"
                    raise ConflictError(what, hint="make the plan again, and confirm that one")
                return list(done_lines(plan.apply()))

        return Plan(lines, act)


def _text(asked: Mapping[str, Any], name: str) -> str:
    if not isinstance(value := asked.get(name, ""), str):
        raise InputError(f"{name} is not a text", where="the request")
    return value


def _target(thread: ThreadKey, branch: str, what: str, ref: str) -> Target:
    match what:
        case "evidence" if ref:
            return Target(thread=thread, refs=(ref,), branch=branch)
        case "thread":
            return Target(thread=thread)
        case "user" if thread.user:
            return Target(tenant=thread.tenant, user=thread.user)
    raise InputError("nothing of that kind can be erased", hint="what is evidence, thread or user")


def plan_lines(plan: ErasurePlan, *, shows_words: bool = True) -> Iterator[str]:
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


def done_lines(receipt: Receipt) -> Iterator[str]:
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
