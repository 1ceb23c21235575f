"""The journal of a running erasure, in one file.

Before the file exists nothing has happened; while it exists the erasure has to be completed. It
holds the words to erase, because the search for traces must work after a kill. At the end it is
overwritten, then removed.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from acc.errors import StoreError
from acc.evidence import marks
from acc.evidence.checkpoints import CheckpointsDue, Settled
from acc.evidence.erasure_plan import Dropped, Effects, ErasurePlan, Receipt, Target
from acc.folders import opened_private
from acc.stores.protocol import Thread

NAME = "erasure.json"
RECEIPTS = "erasures.jsonl"


class Begun(NamedTuple):
    """A running erasure.

    Attributes:
        id: Its id.
        at: Time of its start.
        plan: The plan.
        checkpointers: Databases to erase the conversations' checkpoints from.
    """

    id: str
    at: str
    plan: ErasurePlan
    checkpointers: tuple[str, ...] = ()


class ErasureJournal:
    """The journal in a memory's folder; without a folder nothing survives a kill anyway.

    Args:
        folders: The folders of the memory: the first holds the journal, all are searched.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folder = folders[0] if folders else None
        self._folders = folders
        self.checkpoints = CheckpointsDue(self._folder)

    def begin(self, begun: Begun) -> None:
        """Write the journal. On return the erasure will complete, even after a kill.

        Raises:
            StoreError: The journal cannot be written; nothing has happened.
        """
        if self._folder is None:
            return
        marks.begin(self._path, _plain(begun))

    def under_way(self) -> Begun | None:
        """Return the unfinished erasure; drop a journal that was only partly written.

        Raises:
            StoreError: The journal cannot be read.
        """
        said = marks.read(self._path) if self._folder is not None else None
        try:
            return _read(said) if said is not None else None
        except (KeyError, TypeError) as error:
            raise StoreError(
                "the journal of an erasure is none",
                where=str(self._path),
                hint="run the same erasure again after removing this file",
            ) from error

    def end(self, receipt: dict[str, Any]) -> None:
        """Write the receipt, which contains no erased content, and remove the journal."""
        if self._folder is None:
            return
        self._write(receipt)
        marks.wipe(self._path)

    def settled(self, erasure: str, done: Settled) -> None:
        """Write the result of an erasure's checkpoint deletion."""
        if self._folder is not None:
            self._write({"id": erasure, "checkpoints": done.rows, "left": len(done.left)})

    def _write(self, receipt: dict[str, Any]) -> None:
        receipts = (self._folder or Path()) / RECEIPTS
        told = receipts.read_bytes().splitlines() if receipts.exists() else []
        if "records" in receipt and any(receipt["id"].encode() in line for line in told[-1:]):
            return  # a kill came between the receipt and the removal of the journal
        line = json.dumps(receipt, ensure_ascii=False).encode() + b"\n"
        with opened_private(receipts, "ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def files(self) -> list[Path]:
        """Return every file below the folders except the journal."""
        below = {p for folder in self._folders for p in folder.rglob("*") if p.is_file()}
        return sorted(below - {self._path})

    @property
    def _path(self) -> Path:
        return (self._folder or Path()) / NAME


def told(begun: Begun, receipt: Receipt) -> dict[str, Any]:
    """Return the receipt in the form of the receipts file."""
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


def _plain(begun: Begun) -> dict[str, Any]:
    plan = begun.plan
    return {
        "id": begun.id,
        "at": begun.at,
        "checkpointers": begun.checkpointers,
        "plan": {
            **{f.name: getattr(plan, f.name) for f in dataclasses.fields(plan)},
            "target": dataclasses.asdict(plan.target),
            "threads": [[t.model_dump(), sorted(refs)] for t, refs in plan.threads],
            "logs": [t.model_dump() for t in plan.logs],
            # Effects on rewritten logs are computed again during the rewrite.
            "effects": {
                "kinds": plan.effects.kinds, "digests": plan.effects.digests,
                "dropped": plan.effects.dropped,
            },
        },
    }  # fmt: skip


def _read(said: dict[str, Any]) -> Begun:
    plan = said["plan"]
    # Journals of earlier versions have "" for a name that was not given.
    named: dict[str, Any] = {name: what for name, what in plan["target"].items() if what}
    effects = plan.get("effects", {})
    return Begun(
        said["id"],
        said["at"],
        ErasurePlan(
            target=Target(**named),
            delete=tuple(plan["delete"]),
            bury=tuple(plan["bury"]),
            claims=tuple(plan["claims"]),
            threads=tuple((Thread(**t), frozenset(refs)) for t, refs in plan["threads"]),
            logs=tuple(Thread(**t) for t in plan["logs"]),
            texts=tuple(plan["texts"]),
            echoes=tuple(plan["echoes"]),
            conversations=tuple(plan.get("conversations", ())),
            effects=Effects(
                kinds=tuple((kind, count) for kind, count in effects.get("kinds", ())),
                digests=effects.get("digests", 0),
                dropped=tuple(Dropped(*log) for log in effects.get("dropped", ())),
            ),
            with_echoes=plan.get("with_echoes", True),
            despite_holds=plan.get("despite_holds", False),
            owners=tuple(plan.get("owners", ())),
        ),
        tuple(said.get("checkpointers", ())),
    )
