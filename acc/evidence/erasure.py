"""Erasure: an act of the operator that takes precedence over the laws, completed and verified.

It deletes the records, their vectors and full-text rows, the words in audit logs, and each
committed item that rested only on them. A tombstone commit in the thread records this. Every file
of the memory is then searched, byte by byte, for the erased content.

A running erasure has a journal, one mark (`acc.evidence.marks`). Before the mark exists nothing has
happened; while it exists the erasure has to be completed. The journal holds the words to erase,
because the search for traces must work after a kill. At the end it is overwritten, then removed.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from acc.audit.folder import folder_beside
from acc.audit.medium import audit_store
from acc.audit.namespaces import existing_log, logged_threads
from acc.audit.redaction import Trace, Traces
from acc.audit.rewriting import Rewritten, rewrite
from acc.errors import ConflictError, StoreError
from acc.evidence.checkpoints import CheckpointsDue, Due, Settled, checkpointer_at, lasting_url
from acc.evidence.erasure_plan import Effects, ErasurePlan, Target, plan_erasure
from acc.evidence.erasure_reach import logs_to_rewrite, texts_of
from acc.evidence.marks import Marks, folders, marks_of
from acc.stores.embedding import embed
from acc.stores.protocol import Artifact, Thread, managed
from acc.stores.tombstones import ERASED, is_erased, tombstone_of

if TYPE_CHECKING:
    from acc.memory import Memory

JOURNAL = "erasure.json"


@dataclass(frozen=True)
class Receipt:
    """The result of an erasure. It contains no erased content.

    Attributes:
        id: Its id, also in tombstone commits.
        records: Number of records deleted, or replaced by a tombstone.
        effects: The effects of the plan, without the words.
        files: Number of searched files.
        traces: Traces still found; empty after a complete erasure.
        foreign: Whether the store's files or the audit logs are a server's, and were not searched.
        checkpoints: Number of deleted checkpoint rows.
        left: Error for each database that still has checkpoints. Each opening of the memory retries
            the deletion.
    """

    id: str
    records: int
    effects: Effects
    files: int
    traces: tuple[Trace, ...]
    foreign: bool
    checkpoints: int = 0
    left: tuple[str, ...] = ()

    @property
    def rewritten(self) -> tuple[Rewritten, ...]:
        """The rewritten audit logs."""
        return self.effects.rewritten

    @property
    def logs(self) -> int:
        """Number of deleted audit logs."""
        return len(self.effects.dropped)

    @property
    def proved(self) -> bool:
        """Whether every file that could hold a trace was searched, and none found."""
        return not self.traces and not self.foreign and not self.left


def refuse_unproved(receipt: Receipt) -> None:
    """Raise a `StoreError` with the places if erased content is still stored."""
    if receipt.traces:
        places = {f"{trace.path} at byte {trace.offset}" for trace in receipt.traces}
        raise StoreError(
            "a file still contains erased content",
            where="; ".join(sorted(places)[:5]),
            hint="remove the file if it is a copy or a backup, and run the same erasure again",
        )
    if receipt.left:
        raise StoreError(
            f"checkpoints still hold erased content: {'; '.join(receipt.left)}",
            where=f"erasure {receipt.id}",
            hint="each opening of the memory retries the deletion; acc erase --checkpointer URL does it now",
        )


class Erasure:
    """Erases from one memory, whose store must be a `acc.stores.protocol.ManagedStore`."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._store = managed(memory.artifacts)
        self._audit = memory.settings.audit
        self._folders = folders(memory)
        marks = marks_of(memory)
        self._journal = ErasureJournal(marks)
        self._checkpoints = CheckpointsDue(marks)

    def plan(
        self, target: Target, *, echoes: bool = True, despite_holds: bool = False
    ) -> ErasurePlan:
        """Plan the erasure of ``target`` for review and for `erase`. Erases nothing.

        Pending writes of the next turn are written first, and are part of the plan.

        Args:
            target: The evidence to erase.
            echoes: With an artifact, erase evidence of the user that repeats a run of its words;
                with a document, also words of others' agents and tools about it
                (`acc.evidence.erasure_reach`).
            despite_holds: Also erase held evidence.

        Raises:
            InputError: There is no such target, or a hold protects it.
            AuditError: A log to rewrite is damaged, and the erasure could not complete.
        """
        with self._memory._lock:
            self._memory._forget()
            return plan_erasure(
                self._store, self._audit, target, echoes=echoes, despite_holds=despite_holds
            )

    def erase(self, plan: ErasurePlan, checkpointers: Sequence[str] = ()) -> Receipt:
        """Execute ``plan`` completely; after a kill, `resume` does the rest.

        Args:
            plan: The plan.
            checkpointers: URLs of LangGraph's checkpointer databases to erase the conversations
                from (`acc.evidence.checkpoints.checkpointer_at`).

        Returns:
            The receipt; its effects are those of the plan.

        Raises:
            ConflictError: The memory has changed since the plan was made; nothing was done.
            InputError: The target is no longer there, or is held now; nothing was done.
            ConfigurationError: There is no such database; nothing was done.
            StoreError: The erasure failed; nothing was done, or `resume` does the rest.
            AuditError: An audit log cannot be read or written; the same holds.
        """
        for url in checkpointers:
            checkpointer_at(url)
        urls = tuple(map(lasting_url, checkpointers))
        at = self._memory._now()
        seed = "\x00".join([at, *plan.delete, *plan.bury])
        begun = RunningErasure(hashlib.sha256(seed.encode()).hexdigest()[:16], at, plan, urls)
        with self._memory._lock:
            before = self._journal.under_way()
            # A failed erasure must finish first: its journal uses the same file.
            done = self.resume()
            if done is not None and before is not None and before.plan.takes_the_same(plan):
                return done
            self._check_current(plan)
            self._journal.begin(begun)
            return self._done(begun, checkpointers)

    def _check_current(self, plan: ErasurePlan) -> None:
        now = self.plan(plan.target, echoes=plan.with_echoes, despite_holds=plan.despite_holds)
        if now != plan:
            raise ConflictError(
                "the memory has changed since the erasure was planned; nothing was erased",
                where=f"{plan.target.kind} {plan.target.name!r}",
                hint="make a new plan, review it, and erase by the new plan",
            )

    def resume(self) -> Receipt | None:
        """Finish the erasure that a killed process began; None if there is none."""
        with self._memory._lock:
            begun = self._journal.under_way()
            return self._done(begun) if begun is not None else None

    def waiting(self) -> list[Due]:
        """Return checkpoints that earlier erasures still have to delete."""
        with self._memory._lock:
            return list(self._checkpoints.waiting())

    def settle(self, checkpointers: Sequence[str] = ()) -> list[tuple[str, Settled]]:
        """Retry the checkpoint deletions of earlier erasures; return the results by erasure id.

        ``checkpointers`` are URLs of databases with their passwords, which are never stored.
        """
        with self._memory._lock:
            return [
                (due.erasure, self._settled(due, checkpointers))
                for due in self._checkpoints.waiting()
            ]

    def _settled(self, due: Due, given: Sequence[str]) -> Settled:
        done = self._checkpoints.settle(due, given)
        self._journal.append_receipt(
            {"id": due.erasure, "checkpoints": done.rows, "left": len(done.left)}
        )
        return done

    def _done(self, begun: RunningErasure, given: Sequence[str] = ()) -> Receipt:
        plan = begun.plan
        tenant = plan.target.tenant
        tombstones = self._tombstones(begun)
        self._store.replace(tenant, tombstones)
        self._store.delete(tenant, plan.delete)
        for thread in plan.logs:
            if (log := existing_log(self._audit, thread)) is not None:
                log.delete()
        rewritten = tuple(self._rewritten(begun))
        if self._audit is not None:
            audit_store(self._audit).tidy()
        is_elsewhere = self._audit is not None and folder_beside(self._audit) is None
        foreign = not self._store.compact() or is_elsewhere
        self._memory._forget()
        files = self._files()
        traces = tuple(self._left(plan, files))
        effects = dataclasses.replace(plan.effects, rewritten=rewritten).without_words()
        receipt = Receipt(begun.id, plan.records, effects, len(files), traces, foreign)
        threads = sorted({*plan.conversations, *(log.thread for log in rewritten)})
        due = self._checkpoints.owe(begun.id, threads, begun.checkpointers)
        self._journal.end(_receipt_record(begun, receipt))
        if not due.urls:
            return receipt
        settled = self._settled(due, given)
        return dataclasses.replace(receipt, checkpoints=settled.rows, left=settled.left)

    def _tombstones(self, begun: RunningErasure) -> list[Artifact]:
        plan = begun.plan
        found = self._store.get(plan.target.tenant, plan.bury)
        tombstones = [tombstone_of(a, "erased", begun.at) for a in found if not is_erased(a)]
        claims = self._store.get(plan.target.tenant, plan.claims)
        blank = {"text": f"{ERASED}:{begun.id}", "identity": f"{ERASED}:{begun.id}"}
        return [*tombstones, *(claim.model_copy(update=blank) for claim in claims)]

    def _rewritten(self, begun: RunningErasure) -> Iterator[Rewritten]:
        for log, erased in logs_to_rewrite(self._store, self._audit, begun.plan):
            if (done := rewrite(log, erased, begun.id, begun.at)) is not None:
                yield done

    def _files(self) -> list[Path]:
        """Return every file below the folders except the journal."""
        below = {p for folder in self._folders for p in folder.rglob("*") if p.is_file()}
        return sorted(below - {folder / JOURNAL for folder in self._folders})

    def _left(self, plan: ErasurePlan, files: Iterable[Path]) -> Iterator[Trace]:
        vectors = (embed(text).tobytes() for text in plan.texts if text.strip())
        traces = Traces(plan.texts, vectors)
        found = list(traces.in_files(files))
        if not found:
            return
        # Words that remaining evidence also contains are not traces of the erased evidence.
        unexplained = traces.without(texts_of(self._store, self._everybody(plan)))
        yield from unexplained.in_files({trace.path: None for trace in found})

    def _everybody(self, plan: ErasurePlan) -> list[Thread]:
        tenants = {plan.target.tenant, *(t.tenant for t in logged_threads(self._audit))}
        return [Thread(thread="", tenant=tenant, user="") for tenant in sorted(tenants)]


@dataclass(frozen=True)
class RunningErasure:
    """A running erasure, as the journal holds it."""

    id: str
    at: str
    plan: ErasurePlan
    checkpointers: tuple[str, ...] = ()


_RUNNING = TypeAdapter(RunningErasure)


class ErasureJournal:
    """The journal and the receipts of a memory's erasures."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self.append_receipt = marks.append_receipt

    def begin(self, begun: RunningErasure) -> None:
        """Write the journal. On return the erasure will complete, even after a kill."""
        # Effects on rewritten logs are computed again during the rewrite.
        without = {"plan": {"effects": {"rewritten"}}}
        self._marks.write(JOURNAL, _RUNNING.dump_python(begun, mode="json", exclude=without))

    def under_way(self) -> RunningErasure | None:
        """Return the unfinished erasure; drop a journal that was only partly written."""
        said = self._marks.read(JOURNAL)
        if said is None:
            return None
        try:
            # Journals of earlier versions have "" for a name that was not given.
            target = {name: what for name, what in said["plan"]["target"].items() if what}
            plan = {**said["plan"], "target": target}
            return _RUNNING.validate_python({**said, "plan": plan})
        except (KeyError, TypeError, AttributeError, ValidationError) as error:
            raise StoreError(
                "this is not the journal of an erasure",
                where=self._marks.where(JOURNAL),
                hint="remove it, and run the same erasure again",
            ) from error

    def end(self, receipt: dict[str, Any]) -> None:
        """Write the receipt, which contains no erased content, and remove the journal."""
        self.append_receipt(receipt)
        self._marks.remove(JOURNAL)


def _receipt_record(begun: RunningErasure, receipt: Receipt) -> dict[str, Any]:
    target = begun.plan.target
    keys = [t.key for t in begun.plan.logs] or [target.artifact or ""]
    return {
        "id": receipt.id, "at": begun.at, "erased": target.kind,
        "of": keys if target.kind != "user" else [],
        "records": receipt.records, "logs": receipt.logs,
        "rewritten": [{"log": r.log, "records": r.records, "head": r.head}
                      for r in receipt.rewritten],
        "files": receipt.files, "traces": len(receipt.traces), "foreign": receipt.foreign,
    }  # fmt: skip
