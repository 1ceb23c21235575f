"""What an erasure says it did, and whether that is proved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from acc.errors import StoreError
from acc.evidence.audit_rewrite import Rewritten
from acc.evidence.erasure_journal import Begun
from acc.evidence.traces import Trace


@dataclass(frozen=True)
class Receipt:
    """What an erasure did. It says nothing of what was erased.

    Attributes:
        id: Its identity; tombstone commits have it.
        records: Records deleted, or buried under a tombstone.
        rewritten: What became of audit logs.
        logs: Audit logs that went whole.
        files: Files that were searched.
        traces: What was still found. None is what should be.
        foreign: Whether the store's files are a server's, which nobody searched.
        checkpoints: Rows of checkpoints that went.
        left: Why checkpoints are still there, a reason for each database. That is tried again whenever
            the memory is opened.
    """

    id: str
    records: int
    rewritten: tuple[Rewritten, ...]
    logs: int
    files: int
    traces: tuple[Trace, ...]
    foreign: bool
    checkpoints: int = 0
    left: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether every file that could hold something of it was searched, and nothing found."""
        return not self.traces and not self.foreign and not self.left


def refuse_unproved(receipt: Receipt) -> None:
    """Raise where something of what was erased is still there.

    Raises:
        StoreError: Where, so that it can be removed by hand.
    """
    if receipt.traces:
        places = {f"{trace.path} at byte {trace.offset}" for trace in receipt.traces}
        raise StoreError(
            "what was erased still stands in a file",
            where="; ".join(sorted(places)[:5]),
            mend="remove that file if it is a copy or a backup, and run the same erasure again",
        )
    if receipt.left:
        raise StoreError(
            f"checkpoints still hold what was erased: {'; '.join(receipt.left)}",
            where=f"erasure {receipt.id}",
            mend="it is tried again whenever the memory is opened, and by acc erase --checkpointer URL",
        )


def told(begun: Begun, receipt: Receipt) -> dict[str, Any]:
    """The receipt as the file of receipts has it."""
    target = begun.plan.target
    keys = [t.key for t in begun.plan.logs] or [target.artifact or ""]
    return {
        "id": receipt.id, "at": begun.at, "erased": target.kind,
        "of": keys if target.kind != "user" else [],
        "records": receipt.records, "logs": receipt.logs,
        "rewritten": [{"log": r.path.name, "records": r.records, "head": r.head}
                      for r in receipt.rewritten],
        "files": receipt.files, "traces": len(receipt.traces), "foreign": receipt.foreign,
    }  # fmt: skip
