"""The operator's acts on a memory: those of ``acc retire``, ``hold`` and ``erase``, planned and then done.

The page itself only reads. Each act opens the memory, beside the agent's process, and closes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from acc.controller.controller import MemoryController
from acc.errors import ConflictError, InputError
from acc.evidence.erasure import ErasurePlan, Receipt
from acc.evidence.evidence import Evidence
from acc.evidence.target import Target
from acc.inspector.acts import Plan
from acc.journal import ThreadKey

Open = Callable[[], MemoryController[Any]]


@dataclass(frozen=True)
class OperatorActs:
    """An `acc.inspector.acts.Acts` on the memory that ``open`` opens."""

    open: Open

    def retire(self, thread: ThreadKey, branch: str, ids: Sequence[str], reason: str) -> Plan:
        """Plan the end of items of a branch's newest state."""
        with self.open() as memory:
            state = memory.last_state(thread, branch=branch)
            found = {each: state.find(each) if state is not None else None for each in ids}
        if missing := [each for each, item in found.items() if item is None] or (
            not ids and ["none"]
        ):
            raise InputError(
                f"no item {', '.join(missing)} in the newest state", where=str(thread),
                hint="choose items of the newest commit",
            )  # fmt: skip

        def act() -> list[str]:
            with self.open() as memory:
                memory.retire(
                    ids, reason, thread=thread, state=memory.last_state(thread, branch=branch)
                )
            return [f"retired {', '.join(ids)} on every branch that holds them"]

        lines = [f"retire {name}: {item[1].text_of}" for name, item in found.items() if item]
        return Plan([*lines, f"reason, kept in the commit: {reason or '(none)'}"], act)

    def hold(self, thread: ThreadKey, ref: str, reason: str, *, release: bool) -> Plan:
        """Plan a hold on evidence or on the thread, or its release."""
        what = f"{ref or 'the whole thread'} of {thread}"

        def act() -> list[str]:
            with self.open() as memory:
                evidence = Evidence(memory)
                if release:
                    evidence.release(thread, ref)
                else:
                    evidence.hold(thread, ref, reason=reason)
                return [
                    f"{h.ref or '(all)'} of {h.thread}: {h.reason}" for h in evidence.held()
                ] or ["no holds"]

        if release:
            return Plan([f"release the hold on {what}"], act)
        return Plan([f"protect from deletion: {what}", f"reason: {reason}"], act)

    def erase(self, thread: ThreadKey, branch: str, what: str, ref: str) -> Plan:
        """Plan an erasure of the evidence ``ref`` of a branch, the thread or its user."""
        target = _target(thread, branch, what, ref)
        with self.open() as memory:
            lines = list(_planned(Evidence(memory).plan_erasure(target)))

        def act() -> list[str]:
            with self.open() as memory:
                plan = Evidence(memory).plan_erasure(target)
                if list(_planned(plan)) != lines:
                    raise ConflictError(
                        "the memory has changed since the plan was shown", where=str(thread),
                        hint="make the plan again, and confirm that one",
                    )  # fmt: skip
                return list(_done(plan.apply()))

        return Plan(lines, act)


def _target(thread: ThreadKey, branch: str, what: str, ref: str) -> Target:
    match what:
        case "evidence" if ref:
            return Target(thread=thread, refs=(ref,), branch=branch)
        case "thread":
            return Target(thread=thread)
        case "user" if thread.user:
            return Target(tenant=thread.tenant, user=thread.user)
    raise InputError("nothing of that kind can be erased", hint="what is evidence, thread or user")


def _planned(plan: ErasurePlan) -> Iterator[str]:
    """Yield what an erasure will do."""
    yield from (f"the whole thread {each}" for each in plan.deleted)
    yield from (
        f"{each.ref} of {each.thread}, {each.channel}{', repeats the words' if each.is_echo else ''}"
        for each in plan.messages
    )
    yield f"{plan.commits} commits are made anew without it, with at most {plan.requests} requests"
    for item in plan.leaving:
        yield f"from the state of {item.thread}, branch {item.branch}: {item.id} {item.text}"


def _done(receipt: Receipt) -> Iterator[str]:
    """Yield what an erasure did."""
    yield f"erased {receipt.messages} messages and {receipt.deleted} threads"
    yield f"searched {receipt.searched.files} files: {'no trace is left' if receipt.proved else 'not proved'}"
    yield from (f"a trace in {each.where}: {each.what}" for each in receipt.traces)
    yield from (f"not searched: {each}" for each in receipt.foreign)
    yield from (f"a copy may hold it: {each}" for each in receipt.exports)
