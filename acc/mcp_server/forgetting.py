"""The tool that erases: the first call returns the plan and a code, a call with that code erases."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from acc.controller.controller import MemoryController
from acc.errors import InputError, StoreError
from acc.evidence.erasure import ErasurePlan, Receipt
from acc.evidence.evidence import Evidence
from acc.evidence.target import Target
from acc.journal import Head, ThreadKey
from acc.mcp_server.remembering import quoted
from acc.mcp_server.serving import Serving

WHOLE = "*"
"""Stands for the whole thread in place of a ref."""

LONGEST_SHOWN = 200
"""Maximum characters of the text that the plan shows."""


@dataclass(frozen=True)
class Forgetting:
    """Erases what a client names, in the threads of one owner."""

    memory: MemoryController[Any]
    serving: Serving

    def forget(self, ref: str, thread: str, confirm: str = "") -> str:
        """Erase what ``ref`` of a thread names, if ``confirm`` is the code of exactly this erasure.

        Otherwise nothing is erased, and the answer is the plan with its code. The code belongs to what goes: if
        something else would go by now, the code does not fit, and the answer is the new plan.

        Raises:
            InputError: The thread has no such evidence, or a hold protects it.
            StoreError: The erasure failed, or a file still holds what was erased.
        """
        who, ref = self.serving.whose(thread), ref.strip()
        text = "" if ref == WHOLE else self._text(ref, who)
        target = Target(thread=who, refs=() if ref == WHOLE else (ref,))
        plan = Evidence(self.memory).plan_erasure(target)
        code = _code(plan, self.memory.journal.branches(who) if ref == WHOLE else ())
        if confirm.strip() == code:
            return "\n".join(_done(plan.apply()))
        stale = "the plan has changed since; " if confirm.strip() else ""
        head = f"{stale}nothing is erased yet. This would go for good, from thread {who.thread!r}:"
        cut = text[:LONGEST_SHOWN] + ("..." if len(text) > LONGEST_SHOWN else "")
        words = [f"- {ref}: {quoted(cut)}"] if text else []
        tail = f'to erase it, call forget again with confirm="{code}"'
        return "\n".join([head, *words, *_planned(plan), tail])

    def _text(self, ref: str, who: ThreadKey) -> str:
        """Return the text behind a ref of the thread itself."""
        found = self.memory.journal.texts(who, [ref]) if ref else ()
        if not found:
            what = f"no evidence {ref[:40]!r}; documents are the operator's"
            hint = f"take a ref such as u3 from recall, or {WHOLE} for the whole thread"
            raise InputError(what, where=f"thread {who.thread!r}", hint=hint)
        return found[0].text


def _code(plan: ErasurePlan, heads: Sequence[Head]) -> str:
    """Eight digits over everything that goes: of a whole thread, what it holds now."""
    going = (plan.target, plan.deleted, plan.messages, plan.commits, plan.leaving, heads)
    return hashlib.sha256(repr(going).encode("utf-8", "replace")).hexdigest()[:8]


def _planned(plan: ErasurePlan) -> Iterator[str]:
    yield from (f"- the whole thread {each.thread!r}" for each in plan.deleted)
    yield f"- messages: {len(plan.messages)}"
    if echoes := [each.ref for each in plan.messages if each.is_echo]:
        yield f"- among them what repeats the words: {', '.join(echoes)}"
    yield f"- commits that are made anew without it: {plan.commits}"
    if plan.requests:
        yield f"- with at most {plan.requests} requests and {plan.tokens:,} tokens of a model"
    for item in plan.leaving:
        yield f"- from its state {item.id} {item.slot}: {quoted(item.text)}"


def _done(receipt: Receipt) -> Iterator[str]:
    """Yield what was erased; if a trace is left, raise that."""
    if receipt.traces:
        where = ", ".join(str(each.where) for each in receipt.traces[:3])
        what = f"{len(receipt.traces)} places still hold what was erased"
        raise StoreError(what, where=where, hint="the operator removes them, with acc erase")
    yield f"erased: {receipt.messages} messages, {receipt.deleted} threads, {receipt.commits} commits made anew"
    if receipt.foreign:
        yield f"not searched: {', '.join(map(str, receipt.foreign))}"
    yield f"searched {receipt.searched.files} files: no trace is left"
