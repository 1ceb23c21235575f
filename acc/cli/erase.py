"""``acc erase``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from acc.cli.acts import Told, Way, carry_out
from acc.cli.evidence import Server, kept
from acc.errors import InputError, StoreError
from acc.evidence.checkpoints import Due, Settled, rows_at, without_password
from acc.evidence.erasure import Erasure, Receipt, refuse_unproved
from acc.evidence.erasure_plan import Effects, ErasurePlan, Target

_KINDS = {
    "observation": "raw turns", "set_aside": "items that left a state", "document": "documents",
    "experience": "experiences", "thread": "directory", "claim": "claims of turns",
    "branch": "branches", "tombstone": "tombstones",
}  # fmt: skip


def erase(
    memory: Path,
    *,
    user: str | None,
    thread: str | None,
    artifact: str | None,
    agent: str,
    tenant: str,
    echoes: bool,
    despite_holds: bool,
    checkpointers: Sequence[str],
    way: Way,
    server: Server = None,
) -> None:
    """Erase a user, a thread or an artifact, and verify the erasure.

    With checkpointers alone, delete the checkpoints that earlier erasures could not delete.

    Raises:
        InputError: Nothing is named, a name is empty, no checkpoints are due, or the user did not
            confirm.
        StoreError: Some of the data is still present.
    """
    if checkpointers and (user, thread, artifact) == (None, None, None):
        _settle(memory, checkpointers, server, way)
        return
    target = Target(user, thread, artifact, agent, tenant)
    with kept(memory, server, reads=way.dry_run) as controller:
        eraser = Erasure(controller)
        plan = eraser.plan(target, echoes=echoes, despite_holds=despite_holds)
        receipts: list[Receipt] = []

        def act() -> Told:
            receipts.append(eraser.erase(plan, checkpointers))
            return _report(receipts[0], plan)

        carry_out(way, _plan(plan, checkpointers, words=way.looks), act)
    for receipt in receipts:
        refuse_unproved(receipt)


def _settle(memory: Path, checkpointers: Sequence[str], server: Server, way: Way) -> None:
    with kept(memory, server, reads=way.dry_run) as controller:
        eraser = Erasure(controller)
        waiting = eraser.waiting()
        if not waiting:
            raise InputError(
                "no erasure waits for a checkpointer",
                where=str(memory),
                hint="name what is to be erased: --user, --thread or --artifact",
            )
        left: list[str] = []

        def act() -> Told:
            done = eraser.settle(checkpointers)
            left.extend(why for _, settled in done for why in settled.left)
            return _settled(done)

        # The user confirmed this with the erasure, and every opening of the memory retries it.
        carry_out(way._replace(yes=True), _due(waiting), act)
    if left:
        raise StoreError("; ".join(left), where="checkpoints of earlier erasures")


def _due(waiting: Sequence[Due]) -> Told:
    lines = [
        f"erasure {due.erasure}: checkpoints of {', '.join(due.threads)} in {', '.join(due.urls)}"
        for due in waiting
    ]
    return Told(lines, [due._asdict() for due in waiting])


def _settled(done: Sequence[tuple[str, Settled]]) -> Told:
    lines = [f"erasure {id_}: {settled.rows} rows of checkpoints deleted" for id_, settled in done]
    value = [{"id": id_, "checkpoints": s.rows, "left": s.left} for id_, s in done]
    return Told(lines, value)


def _plan(plan: ErasurePlan, checkpointers: Sequence[str], *, words: bool) -> Told:
    target = plan.target
    who = f"tenant {target.tenant!r}, user {target.whose!r}"
    whose = who if target.kind == "user" else f"{who}, agent {target.agent!r}"
    effects = plan.effects if words else plan.effects.without_words()
    rows, unknown = _rows(plan, checkpointers)
    lines = [f"to erase: the {target.kind} {target.name!r} ({whose})", *_lines(plan, effects)]
    if checkpointers:
        counted = "; ".join([f"{rows} rows of checkpoints", *unknown])
        lines.append(f"  checkpoints of {', '.join(plan.conversations) or 'no thread'}: {counted}")
    lines.append("  the files of the store are rewritten, and searched for what was erased")
    return Told(lines, {**_value(plan, effects), "checkpoints": rows, "unknown": unknown})


def _report(receipt: Receipt, plan: ErasurePlan) -> Told:
    found = f"{len(receipt.traces)} traces" if receipt.traces else "no trace"
    lines = [f"erasure {receipt.id} is done:", *_lines(plan, receipt.effects)]
    lines += [f"  {log.path.name} ends with state {log.head}" for log in receipt.rewritten]
    if receipt.checkpoints:
        lines.append(f"  {receipt.checkpoints} rows of checkpoints deleted")
    if receipt.foreign:
        lines.append(
            "the server's files were not searched: stop it, and run acc vacuum on its folder"
        )
    lines.append(f"{found} in {receipt.files} files")
    return Told(lines, {
        **_value(plan, receipt.effects), "id": receipt.id, "checkpoints": receipt.checkpoints,
        "unknown": list(receipt.left), "files": receipt.files, "traces": len(receipt.traces),
        "proved": receipt.proved,
    })  # fmt: skip


def _lines(plan: ErasurePlan, effects: Effects) -> Iterator[str]:
    kinds = ", ".join(f"{_KINDS.get(kind, kind)} {count}" for kind, count in effects.kinds)
    yield f"  records of evidence: {plan.records}" + (f" ({kinds})" if kinds else "")
    if plan.echoes:
        yield f"  among them, because they repeat the words: {', '.join(plan.echoes)}"
    if effects.digests:
        yield f"  claims of turns that lose the digest of what was said: {effects.digests}"
    for gone in effects.dropped:
        yield f"  audit log {gone.log} (thread {gone.thread!r}) goes whole: {gone.records} records"
    for log in effects.rewritten:
        yield (
            f"  audit log {log.path.name} (thread {log.thread!r}): "
            f"{log.records} of {log.of} records redacted"
        )
        for item in log.leaving:
            yield f"    leaves the state: {item.id} of {item.slot}" + (
                f": {item.words}" if item.words else ""
            )
    yield f"  threads concerned: {', '.join(effects.threads) or 'none'}"


def _value(plan: ErasurePlan, effects: Effects) -> dict[str, Any]:
    return {
        "target": plan.target.kind, "name": plan.target.name,
        "records": plan.records, "kinds": dict(effects.kinds), "digests": effects.digests,
        "echoes": list(plan.echoes), "threads": list(effects.threads),
        "conversations": list(plan.conversations),
        "audit_logs": len(effects.dropped), "dropped": [log._asdict() for log in effects.dropped],
        "rewritten": [
            {"log": str(log.path), "thread": log.thread, "records": log.records, "of": log.of,
             "items": list(log.items), "head": log.head,
             "leaving": [item._asdict() for item in log.leaving]}
            for log in effects.rewritten
        ],
    }  # fmt: skip


def _rows(plan: ErasurePlan, checkpointers: Sequence[str]) -> tuple[int, list[str]]:
    """Count the checkpoint rows to delete, and explain why some databases cannot be queried."""
    rows, unknown = 0, []
    for url in checkpointers:
        try:
            rows += rows_at(url, plan.conversations)
        except StoreError as error:
            unknown.append(f"{without_password(url)}: {error.what}")
    return rows, unknown
