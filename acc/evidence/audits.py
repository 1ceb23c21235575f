"""Find the audit logs of a namespace, and rewrite them without erased evidence."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from acc.audit.log import FORMAT, AuditLog
from acc.audit.record import digest_of
from acc.audit.redaction import Erased, Leaving, Record, erased_state, items_resting_alone, redacted
from acc.evidence.erasure_plan import Rewritten
from acc.folders import opened_private
from acc.stores.directory import enrolled, spaces_in, threads_in
from acc.stores.protocol import ArtifactStore, ManagedStore, Thread
from acc.stores.shelf import document_spaces, namespace_of
from acc.text.lines import canonical_json


class Audits:
    """The audit logs of a namespace.

    Args:
        store: The store of the evidence.
        folder: The folder of the audit logs; None if none are kept.
        space: The namespace.
    """

    def __init__(self, store: ArtifactStore, folder: Path | None, space: Thread) -> None:
        self._store = store
        self._folder = folder
        self._space = space

    def threads(self) -> list[Thread]:
        """Return the namespace's threads, from its directory and its logs.

        Raises:
            StoreError: The store cannot be read.
            AuditError: A log cannot be read.
        """
        found = {thread.key: thread for thread in enrolled(self._store, self._space)}
        for thread in logged(self._folder):
            if thread.model_copy(update={"thread": ""}) == self._space:
                found.setdefault(thread.key, thread)
        return list(found.values())

    def log(self, thread: Thread) -> AuditLog | None:
        """Return the log of a thread, if it has one."""
        log = AuditLog.of(self._folder, thread) if self._folder else None
        return log if log is not None and log.path.exists() else None

    def paths(self) -> list[Path]:
        """Return the paths of the existing logs."""
        return [log.path for thread in self.threads() if (log := self.log(thread))]

    def newest(self, thread: Thread) -> list[Mapping[str, Any]]:
        """Return the newest known state of each branch of a thread, as plain JSON."""
        log = self.log(thread)
        # `newest_by_branch` reads only the last records, but a branch may be idle for longer.
        newest = (
            {entry["state"]["branch"]: entry["state"] for entry in log.records()} if log else {}
        )
        return list(newest.values())


Spaces = dict[Thread, list[Thread]]
"""Namespaces, each with its threads."""


def known_spaces(store: ManagedStore, folder: Path | None, tenant: str) -> Spaces:
    """Return the namespaces of a tenant, from their directories and logs.

    Raises:
        StoreError: The store cannot be read.
        AuditError: A log cannot be read.
    """
    entries = store.get(tenant, store.ids(tenant, kind="thread"))
    threads = [*threads_in(entries), *(t for t in logged(folder) if t.tenant == tenant)]
    found: Spaces = {space: [] for space in spaces_in(entries)}
    for thread in {thread.key: thread for thread in threads}.values():
        found.setdefault(namespace_of(thread), []).append(thread)
    return found


def other_readers(known: Spaces, space: Thread) -> Spaces:
    """Return the other ``known`` namespaces that may see the documents of ``space``."""
    return {
        other: threads
        for other, threads in known.items()
        if other != space and space in document_spaces(other)
    }


def logged(folder: Path | None) -> Iterator[Thread]:
    """Yield the threads with an audit log in ``folder``, including damaged logs.

    Work that does not need a damaged log can continue.
    """
    for path in sorted(folder.glob("*.jsonl")) if folder and folder.is_dir() else ():
        if owner := AuditLog(path).owner():
            yield owner


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a log, oldest first."""
    return AuditLog(path).records()


def cited_in(state: Mapping[str, Any]) -> dict[str, str]:
    """Return each ref that a state's items cite or that is pending, with the id of the item."""
    found: dict[str, str] = {}
    for value in state.values():
        for item in value if isinstance(value, list) else ():
            if not isinstance(item, Mapping):
                continue
            refs = [*item.get("sources", ()), item.get("artifact", ""), item.get("ref", "")]
            for ref in filter(None, refs):
                found.setdefault(str(ref), str(item.get("id") or "pending"))
    return found


_HALF = ".erasing"


def foreseen(log: AuditLog, erased: Erased) -> Rewritten | None:
    """Return the result of `rewrite` without writing; None if the log has no erased evidence.

    Raises:
        AuditError: The log cannot be read.
    """
    future = _Future(log, erased)
    for _ in future.records("", ""):
        pass
    return future.told()


def rewrite(log: AuditLog, erased: Erased, erasure: str, at: str) -> Rewritten | None:
    """Rewrite ``log`` without erased evidence, and commit the state without it.

    A new file replaces the old one atomically; a kill leaves one or the other. Idempotent: a log
    that ends with this erasure stays unchanged.

    Args:
        log: The log.
        erased: The erased evidence.
        erasure: The erasure's id.
        at: The time.

    Returns:
        The changes; None if the log has no erased evidence.

    Raises:
        OSError: The log cannot be written, or another process holds its lock.
        AuditError: The log cannot be read.
    """
    half = log.path.with_name(log.path.name + _HALF)
    with log.lock:
        half.unlink(missing_ok=True)
        if ((log.last() or {}).get("erasure") or {}).get("id") == erasure:
            return _done_before(log, erasure)
        if foreseen(log, erased) is None:
            return None
        future = _Future(log, erased)
        previous = ""
        with opened_private(half) as file:
            for record in future.records(erasure, at):
                line, previous = _chained(record, previous)
                file.write(line)
            file.flush()
            os.fsync(file.fileno())
        os.replace(half, log.path)
    return future.told()


class _Future:
    """A log without erased evidence: its redacted records, then tombstone commits."""

    def __init__(self, log: AuditLog, erased: Erased) -> None:
        self._log = log
        self._erased = erased
        self._is_concerned = False
        self._counted = self._redacted = 0
        self._leaving: list[Leaving] = []
        self._last: Mapping[str, Any] = {}

    def records(self, erasure: str, at: str) -> Iterator[Record]:
        """Yield the records of the rewritten log, in order."""
        items = items_resting_alone(self._log.records(), self._erased)
        newest: dict[str, Record] = {}
        for record in self._log.records():
            after = redacted(record, self._erased, items)
            self._counted += 1
            self._is_concerned |= after is not None
            self._redacted += after is not None and not record.get("redacted")
            # The tombstone commit needs the original state, not the redacted one.
            newest.pop(record["state"]["branch"], None)
            newest[record["state"]["branch"]] = {**(after or record), "state": record["state"]}
            yield after or record
        for at_end, record in enumerate(newest.values(), 1 - len(newest)):
            state, gone = erased_state(record["state"], self._erased)
            if gone or not at_end:
                self._leaving += gone
                changed = 0 if at_end else self._redacted
                self._last = _tombstone(record, state, gone, erasure, at, changed)
                yield self._last

    def told(self) -> Rewritten | None:
        """Return the result, after all records were read."""
        if not self._is_concerned:
            return None
        leaving = tuple(dict.fromkeys(self._leaving))
        name, head = self._last["thread"]["thread"], self._last["state"]["hash"]
        return Rewritten(self._log.path, name, self._redacted, self._counted, leaving, head)


def _done_before(log: AuditLog, erasure: str) -> Rewritten:
    records = list(log.records())
    ours = [r for r in records if (r.get("erasure") or {}).get("id") == erasure]
    leaving = [Leaving(gone["id"], gone["slot"]) for record in ours for gone in record["diff"]]
    last = ours[-1]
    return Rewritten(
        log.path, last["thread"]["thread"], last["erasure"]["redacted"], len(records) - len(ours),
        tuple(dict.fromkeys(leaving)), last["state"]["hash"],
    )  # fmt: skip


def _tombstone(
    record: Mapping[str, Any],
    state: Record,
    gone: list[Leaving],
    erasure: str,
    at: str,
    changed: int,
) -> Record:
    kept = {name: record[name] for name in ("thread", "policy", "tokens") if name in record}
    return {
        **kept,
        "format": FORMAT,
        "at": at,
        "prior": state["parent"],
        "turn": {
            "observations": [], "number": state["turn"], "reply": None, "heard": [], "pending": [],
        },
        "evidence": [], "proposal": None, "verdicts": [], "notes": [], "set_aside": [],
        "state": state,
        "diff": [
            {"change": "removed", "id": item.id, "slot": item.slot, "said": ""} for item in gone
        ],
        "erasure": {"id": erasure, "items": [item.id for item in gone], "redacted": changed},
    }  # fmt: skip


def _chained(record: Mapping[str, Any], previous: str) -> tuple[bytes, str]:
    body = {**record, "previous": previous}
    digest = digest_of(body)
    line = canonical_json({**body, "digest": digest}) + "\n"
    return line.encode("utf-8", "surrogatepass"), digest
