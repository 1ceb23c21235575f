"""The tool that erases: the first call returns the plan and a code, a call with that code erases."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from acc.errors import InputError
from acc.evidence.erasure import Erasure, refuse_unproved
from acc.evidence.erasure_plan import Effects, ErasurePlan, Target
from acc.mcp_server.answers import Answers, quoted
from acc.stores.protocol import Thread
from acc.turn.observations import is_ingested

WHOLE = "*"
"""Stands for the whole thread in place of a ref."""

LONGEST_SHOWN = 200
"""Maximum characters of the text that the plan shows."""


def erase(answers: Answers, ref: str, thread: str, confirm: str = "") -> str:
    """Erase what ``ref`` of a thread names, if ``confirm`` is the code of exactly this erasure.

    Otherwise nothing is erased, and the answer is the plan with its code. The code belongs to the records that
    go: if others would go by now, the code does not fit, and the answer is the new plan.

    Raises:
        InputError: The thread has no such evidence, or a hold protects it.
        StoreError: The erasure failed, or a file still holds what was erased.
    """
    who = answers.serving.whose(thread)
    ref = ref.strip()
    text = "" if ref == WHOLE else _text(answers, ref, who)
    target = Target(
        user=who.user, thread=who.thread, artifact=None if ref == WHOLE else ref,
        agent=who.agent, tenant=who.tenant,
    )  # fmt: skip
    eraser = Erasure(answers.memory)
    plan = eraser.plan(target)
    code = _code(plan)
    if confirm.strip() != code:
        stale = "the plan has changed since; " if confirm.strip() else ""
        head = f"{stale}nothing is erased yet. This would go for good, from thread {who.thread!r}:"
        tail = f'to erase it, call forget again with confirm="{code}"'
        cut = text[:LONGEST_SHOWN] + ("..." if len(text) > LONGEST_SHOWN else "")
        words = [f"- {ref}: {quoted(cut)}"] if text else []
        return "\n".join([head, *words, *_effects(plan, plan.effects), tail])
    receipt = eraser.erase(plan)
    refuse_unproved(receipt)
    found = f"searched {receipt.files} files: no trace is left"
    if receipt.foreign:
        found = "the files of a server were not searched"
    return "\n".join(["erased:", *_effects(plan, receipt.effects), found])


def _text(answers: Answers, ref: str, who: Thread) -> str:
    """Return the text behind a ref of the thread itself.

    Raises:
        InputError: The thread has no such evidence.
    """
    state = answers.memory.last_state(who)
    text = ""
    if state is not None:
        with answers.memory._locked_log(who) as log:
            text = log.branch(state.branch).text(ref)
    if not text:
        what = "documents are the operator's" if is_ingested(ref) else f"no evidence {ref[:40]!r}"
        raise InputError(
            what,
            where=f"thread {who.thread!r}",
            hint=f"take a ref such as u3 from recall, or {WHOLE} for the whole thread",
        )
    return text


def _code(plan: ErasurePlan) -> str:
    """Eight digits over everything that goes."""
    going = (plan.target, plan.delete, plan.bury, plan.claims, plan.echoes, plan.logs)
    return hashlib.sha256(repr(going).encode()).hexdigest()[:8]


def _effects(plan: ErasurePlan, effects: Effects) -> Iterator[str]:
    kinds = ", ".join(f"{number} {kind}" for kind, number in effects.kinds)
    yield f"- records: {plan.records} ({kinds})"
    if plan.echoes:
        yield f"- among them what repeats the words: {', '.join(plan.echoes)}"
    for gone in effects.dropped:
        yield f"- the whole audit log of thread {gone.thread!r}, {gone.records} commits"
    for log in effects.rewritten:
        yield f"- the words in {log.records} of {log.of} commits of thread {log.thread!r}"
        for item in log.leaving:
            words = f": {quoted(item.words)}" if item.words else ""
            yield f"- from its state {item.id} {item.slot}{words}"
