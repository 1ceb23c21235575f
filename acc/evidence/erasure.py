"""Erasure: an operator's act above the laws, done to its end, and proved.

It takes the records, their vectors and full-text rows, the words in audit logs, and each
committed item that rested on them alone; a tombstone commit says so in the thread. Then every
file of the memory is searched, byte by byte, for what was erased.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acc.audit import AuditLog
from acc.errors import AuditError, StoreError
from acc.evidence.audit_rewrite import Rewritten, rewrite
from acc.evidence.audits import Audits, logged
from acc.evidence.erasure_journal import Begun, ErasureJournal
from acc.evidence.erasure_plan import ErasurePlan
from acc.evidence.redaction import Erased
from acc.evidence.shelf import namespace_of
from acc.evidence.tombstones import ERASED, buried, managed
from acc.evidence.traces import Trace, Traces
from acc.store import Artifact, ArtifactStore, Thread
from acc.stores.embedding import embed


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
    """

    id: str
    records: int
    rewritten: tuple[Rewritten, ...]
    logs: int
    files: int
    traces: tuple[Trace, ...]
    foreign: bool

    @property
    def proved(self) -> bool:
        """Whether every file that could hold something of it was searched, and nothing found."""
        return not self.traces and not self.foreign


class Erasure:
    """Erases from one memory.

    Args:
        store: One that offers `acc.store.ManagedStore`.
        folders: The memory's folders: all their files are searched, and what is begun is noted
            in the first.
        audit: The folder of the audit logs; None if none are kept.
        now: Tells the time as records have it.
        lock: Held meanwhile; a memory's `Memory.lock`.
        forget: Called when records and logs were replaced: what was read is read anew.

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

    def erase(self, plan: ErasurePlan) -> Receipt:
        """Do what ``plan`` says, to its end: a kill meanwhile leaves it to `resume`.

        Raises:
            StoreError: It cannot be done now; nothing of it was, or `resume` does the rest.
            AuditError: An audit log cannot be read or written; likewise.
        """
        at = self._now()
        seed = "\x00".join([at, *plan.delete, *plan.bury])
        begun = Begun(hashlib.sha256(seed.encode()).hexdigest()[:16], at, plan)
        with self._lock:
            self._forget()  # what waits is written, so that it is found
            self._journal.begin(begun)
            return self._done(begun)

    def resume(self) -> Receipt | None:
        """Do the rest of an erasure that a killed process had begun; None if there is none."""
        with self._lock:
            begun = self._journal.under_way()
            return self._done(begun) if begun is not None else None

    def _done(self, begun: Begun) -> Receipt:
        plan = begun.plan
        tenant = plan.target.tenant
        graves = self._graves(begun)
        self._store.replace(tenant, graves)
        self._store.delete(tenant, plan.delete)
        logs = sum(self._without_log(thread) for thread in plan.logs)
        rewritten = tuple(self._rewritten(begun))
        foreign = not self._store.compact()
        self._forget()
        files = self._journal.files()
        traces = tuple(self._left(plan, files))
        receipt = Receipt(
            begun.id,
            len(plan.delete) + len(plan.bury),
            rewritten,
            logs,
            len(files),
            traces,
            foreign,
        )
        self._journal.end(_told(begun, receipt))
        return receipt

    def _graves(self, begun: Begun) -> list[Artifact]:
        plan = begun.plan
        found = self._store.get(plan.target.tenant, plan.bury)
        graves = [buried(a, "erased", begun.at) for a in found if not _is_grave(a)]
        claims = self._store.get(plan.target.tenant, plan.claims)
        blank = {"text": f"{ERASED}:{begun.id}", "identity": f"{ERASED}:{begun.id}"}
        return [*graves, *(claim.model_copy(update=blank) for claim in claims)]

    def _without_log(self, thread: Thread) -> bool:
        log = Audits(self._store, self._audit, namespace_of(thread)).log(thread)
        if log is None:
            return False
        log.path.unlink()
        return True

    def _rewritten(self, begun: Begun) -> Iterator[Rewritten]:
        for thread, refs in begun.plan.threads:
            log = Audits(self._store, self._audit, namespace_of(thread)).log(thread)
            if log is not None:
                retained = self._texts([thread, namespace_of(thread)])
                traces = Traces(begun.plan.texts).without(retained)
                yield from self._rewrite(log, Erased(refs, traces), begun)

    def _rewrite(self, log: AuditLog, erased: Erased, begun: Begun) -> Iterator[Rewritten]:
        try:
            done = rewrite(log, erased, begun.id, begun.at)
        except OSError as error:
            raise AuditError(
                f"the audit log cannot be rewritten: {error.strerror or error}",
                where=str(log.path),
                mend="free space, or let this user write there, and open the memory again",
            ) from error
        if done is not None:
            yield done

    def _left(self, plan: ErasurePlan, files: Iterable[Path]) -> Iterator[Trace]:
        vectors = (embed(text).tobytes() for text in plan.texts if text.strip())
        traces = Traces(plan.texts, vectors)
        found = list(traces.in_files(files))
        if not found:
            return
        # What somebody whose evidence stays said too is theirs.
        unexplained = traces.without(self._texts(self._everybody(plan)))
        yield from unexplained.in_files({trace.path: None for trace in found})

    def _everybody(self, plan: ErasurePlan) -> list[Thread]:
        tenants = {plan.target.tenant, *(t.tenant for t in logged(self._audit))}
        return [Thread(thread="", tenant=tenant, user="") for tenant in sorted(tenants)]

    def _texts(self, owners: Iterable[Thread]) -> Iterator[str]:
        """Texts of the owners' records; of an owner without a user, of the tenant's."""
        for owner in owners:
            key = owner.key if owner.user else ""
            ids = self._store.ids(owner.tenant, thread=key)
            for artifact in self._store.get(owner.tenant, ids):
                yield artifact.text


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


def _is_grave(artifact: Artifact) -> bool:
    return artifact.identity == f"{ERASED}:{artifact.id}"


def _told(begun: Begun, receipt: Receipt) -> dict[str, Any]:
    target = begun.plan.target
    keys = [t.key for t in begun.plan.logs] or [target.artifact]
    return {
        "id": receipt.id, "at": begun.at, "erased": target.kind,
        "of": keys if target.kind != "user" else [],
        "records": receipt.records, "logs": receipt.logs,
        "rewritten": [{"log": r.path.name, "records": r.records, "head": r.head}
                      for r in receipt.rewritten],
        "files": receipt.files, "traces": len(receipt.traces), "foreign": receipt.foreign,
    }  # fmt: skip
