"""Erasure: an act of the operator that takes precedence over the laws, completed and verified.

It deletes the records, their vectors and full-text rows, the words in audit logs, and each
committed item that rested only on them. A tombstone commit in the thread records this. Every file
of the memory is then searched, byte by byte, for the erased content.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from acc.audit.log import AuditLog, drop_halves
from acc.audit.redaction import Erased, Trace, Traces
from acc.errors import AuditError, ConflictError
from acc.evidence.audits import Audits, logged, rewrite
from acc.evidence.checkpoints import Due, Settled, checkpointer_at, lasting_url
from acc.evidence.erasure_journal import Begun, ErasureJournal, told
from acc.evidence.erasure_plan import ErasurePlan, Receipt, Rewritten, Target
from acc.evidence.erasure_planning import plan_erasure
from acc.evidence.erasure_reach import logs_to_rewrite, texts_of
from acc.stores.embedding import embed
from acc.stores.protocol import Artifact, ArtifactStore, Thread
from acc.stores.shelf import ERASED, buried, is_grave, managed, namespace_of


class Erasure:
    """Erases from one memory.

    Args:
        store: A store with the methods of `acc.stores.protocol.ManagedStore`.
        folders: The memory's folders. All files in them are searched; the first holds the
            journal of unfinished work.
        audit: The folder of the audit logs; None if none are kept.
        now: Returns the time in the format of records.
        lock: Held during the work; a memory's `Memory.lock`.
        forget: Called after records and logs were replaced, to drop cached reads.

    Raises:
        StoreError: The store cannot delete.
    """

    def __init__(
        self,
        store: ArtifactStore,
        folders: Sequence[Path],
        audit: Path | None,
        now: Callable[[], str],
        *,
        lock: AbstractContextManager[Any] | None = None,
        forget: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = managed(store)
        self._audit = audit
        self._now = now
        self._lock = lock or nullcontext()
        self._forget = forget
        self._journal = ErasureJournal(folders)

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
            StoreError: The store cannot be read.
            AuditError: A log to rewrite is damaged, and the erasure could not complete.
        """
        with self._lock:
            self._forget()
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
        at = self._now()
        seed = "\x00".join([at, *plan.delete, *plan.bury])
        begun = Begun(hashlib.sha256(seed.encode()).hexdigest()[:16], at, plan, urls)
        with self._lock:
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
                "the memory has changed since the erasure was planned",
                where=f"the {plan.target.kind} {plan.target.name!r}",
                hint="make the plan anew, look at it, and erase by that one",
            )

    def resume(self) -> Receipt | None:
        """Finish the erasure that a killed process began; None if there is none."""
        with self._lock:
            begun = self._journal.under_way()
            return self._done(begun) if begun is not None else None

    def waiting(self) -> list[Due]:
        """Return checkpoints that earlier erasures still have to delete.

        Raises:
            StoreError: A note of them cannot be read.
        """
        with self._lock:
            return list(self._journal.checkpoints.waiting())

    def settle(self, checkpointers: Sequence[str] = ()) -> list[tuple[str, Settled]]:
        """Retry the checkpoint deletions of earlier erasures; return the results by erasure id.

        Args:
            checkpointers: URLs of databases with their passwords, which are never stored.
        """
        with self._lock:
            return [
                (due.erasure, self._settled(due, checkpointers))
                for due in self._journal.checkpoints.waiting()
            ]

    def _settled(self, due: Due, given: Sequence[str]) -> Settled:
        done = self._journal.checkpoints.settle(due, given)
        self._journal.settled(due.erasure, done)
        return done

    def _done(self, begun: Begun, given: Sequence[str] = ()) -> Receipt:
        plan = begun.plan
        tenant = plan.target.tenant
        graves = self._graves(begun)
        self._store.replace(tenant, graves)
        self._store.delete(tenant, plan.delete)
        for thread in plan.logs:
            self._drop_log(thread)
        rewritten = tuple(self._rewritten(begun))
        if self._audit is not None and self._audit.is_dir():
            drop_halves(self._audit)
        foreign = not self._store.compact()
        self._forget()
        files = self._journal.files()
        traces = tuple(self._left(plan, files))
        effects = dataclasses.replace(plan.effects, rewritten=rewritten).without_words()
        receipt = Receipt(begun.id, plan.records, effects, len(files), traces, foreign)
        threads = sorted({*plan.conversations, *(log.thread for log in rewritten)})
        due = self._journal.checkpoints.owe(begun.id, threads, begun.checkpointers)
        self._journal.end(told(begun, receipt))
        if not due.urls:
            return receipt
        settled = self._settled(due, given)
        return dataclasses.replace(receipt, checkpoints=settled.rows, left=settled.left)

    def _graves(self, begun: Begun) -> list[Artifact]:
        plan = begun.plan
        found = self._store.get(plan.target.tenant, plan.bury)
        graves = [buried(a, "erased", begun.at) for a in found if not is_grave(a)]
        claims = self._store.get(plan.target.tenant, plan.claims)
        blank = {"text": f"{ERASED}:{begun.id}", "identity": f"{ERASED}:{begun.id}"}
        return [*graves, *(claim.model_copy(update=blank) for claim in claims)]

    def _drop_log(self, thread: Thread) -> None:
        log = Audits(self._store, self._audit, namespace_of(thread)).log(thread)
        if log is not None:
            log.path.unlink()

    def _rewritten(self, begun: Begun) -> Iterator[Rewritten]:
        for log, erased in logs_to_rewrite(self._store, self._audit, begun.plan):
            yield from self._rewrite(log, erased, begun)

    def _rewrite(self, log: AuditLog, erased: Erased, begun: Begun) -> Iterator[Rewritten]:
        try:
            done = rewrite(log, erased, begun.id, begun.at)
        except OSError as error:
            raise AuditError(
                f"the audit log cannot be rewritten: {error.strerror or error}",
                where=str(log.path),
                hint="free space, or let this user write there, and open the memory again",
            ) from error
        if done is not None:
            yield done

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
        tenants = {plan.target.tenant, *(t.tenant for t in logged(self._audit))}
        return [Thread(thread="", tenant=tenant, user="") for tenant in sorted(tenants)]
