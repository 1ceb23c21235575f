"""``acc erase``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from acc.cli.evidence import Server, kept
from acc.cli.screen import told_json
from acc.errors import InputError, StoreError
from acc.evidence.erasure_plan import ErasurePlan, Target
from acc.evidence.erasure_planning import plan_erasure
from acc.evidence.erasure_receipt import Receipt, refuse_unproved
from acc.evidence.keeping import erasure


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
    dry_run: bool = False,
    server: Server = None,
    as_json: bool = False,
) -> None:
    """Erase what is named, and prove it.

    With checkpointers alone, do in them what earlier erasures left to do.

    Raises:
        InputError: Nothing is named, or by an empty name; or nothing is left to do in the checkpointers.
        StoreError: Something of it is still there.
    """
    if checkpointers and (user, thread, artifact) == (None, None, None):
        _settle(memory, checkpointers, server, as_json=as_json)
        return
    target = Target(user, thread, artifact, agent, tenant)
    with kept(memory, server) as controller:
        plan = plan_erasure(
            controller.artifacts, controller.settings.audit, target,
            echoes=echoes, despite_holds=despite_holds,
        )  # fmt: skip
        if dry_run:
            _tell_plan(plan, as_json=as_json)
            return
        receipt = erasure(controller).erase(plan, checkpointers)
    _tell(receipt, plan, as_json=as_json)
    refuse_unproved(receipt)


def _settle(memory: Path, checkpointers: Sequence[str], server: Server, *, as_json: bool) -> None:
    with kept(memory, server) as controller:
        done = erasure(controller).settle(checkpointers)
    if not done:
        raise InputError(
            "no erasure waits for a checkpointer",
            where=str(memory),
            mend="name what is to be erased: --user, --thread or --artifact",
        )
    if as_json:
        told_json([{"id": id_, "checkpoints": s.rows, "left": s.left} for id_, s in done])
    else:
        for id_, settled in done:
            print(f"erasure {id_}: {settled.rows} rows of checkpoints deleted")
    if left := [why for _, settled in done for why in settled.left]:
        raise StoreError("; ".join(left), where="checkpoints of earlier erasures")


def _tell_plan(plan: ErasurePlan, *, as_json: bool) -> None:
    said = {
        "records": len(plan.delete) + len(plan.bury), "audit_logs": len(plan.logs),
        "threads_looked_at": len(plan.threads), "echoes": list(plan.echoes),
        "conversations": list(plan.conversations),
    }  # fmt: skip
    if as_json:
        told_json(said)
        return
    for name, value in said.items():
        print(f"{name.replace('_', ' ')}: {', '.join(value) if isinstance(value, list) else value}")


def _tell(receipt: Receipt, plan: ErasurePlan, *, as_json: bool) -> None:
    if as_json:
        told_json({
            "id": receipt.id, "records": receipt.records, "audit_logs": receipt.logs,
            "rewritten": [{"log": str(r.path), "records": r.records, "items": r.items,
                           "head": r.head} for r in receipt.rewritten],
            "echoes": plan.echoes, "checkpoints": receipt.checkpoints, "files": receipt.files,
            "traces": len(receipt.traces), "proved": receipt.proved,
        })  # fmt: skip
        return
    print(f"erasure {receipt.id}: {receipt.records} records, {receipt.logs} audit logs")
    if plan.echoes:
        print(f"gone with it, because they repeat its words: {', '.join(plan.echoes)}")
    for each in receipt.rewritten:
        items = ", ".join(each.items) or "none"
        print(f"{each.path.stem}: {each.records} records redacted, items {items}; head {each.head}")
    if receipt.checkpoints:
        print(f"{receipt.checkpoints} rows of checkpoints deleted")
    if receipt.foreign:
        print("the server's files were not searched: stop it, and run acc vacuum on its folder")
    found = f"{len(receipt.traces)} traces" if receipt.traces else "no trace"
    print(f"{found} in {receipt.files} files")
