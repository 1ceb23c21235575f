"""Rewriting a thread's audit log: what was erased taken out, and the tombstone commit at its end."""

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
        store: Where the evidence is.
        folder: The folder of the audit logs; None if none are kept.
        space: The namespace.
    """

    def __init__(self, store: ArtifactStore, folder: Path | None, space: Thread) -> None:
        self._store = store
        self._folder = folder
        self._space = space

    def threads(self) -> list[Thread]:
        """The namespace's threads, by its directory and by the logs that there are.

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
        """The log of a thread, if it has one."""
        log = AuditLog.of(self._folder, thread) if self._folder else None
        return log if log is not None and log.path.exists() else None

    def paths(self) -> list[Path]:
        """The logs that there are."""
        return [log.path for thread in self.threads() if (log := self.log(thread))]

    def newest(self, thread: Thread) -> list[Mapping[str, Any]]:
        """The newest state of each branch of a thread, as plain JSON; empty if none is known."""
        log = self.log(thread)
        # Not `newest_by_branch`, which looks at the last records only: a branch may rest for long.
        newest = (
            {entry["state"]["branch"]: entry["state"] for entry in log.records()} if log else {}
        )
        return list(newest.values())


Spaces = dict[Thread, list[Thread]]
"""Namespaces, each with its threads."""


def known_spaces(store: ManagedStore, folder: Path | None, tenant: str) -> Spaces:
    """The namespaces of a tenant, by their directories and by the logs that there are.

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
    """Those of the ``known`` namespaces that may see the documents of ``space``, but for itself."""
    return {
        other: threads
        for other, threads in known.items()
        if other != space and space in document_spaces(other)
    }


def logged(folder: Path | None) -> Iterator[Thread]:
    """The threads that have an audit log in ``folder``, damaged ones too: who is not concerned goes on."""
    for path in sorted(folder.glob("*.jsonl")) if folder and folder.is_dir() else ():
        if owner := AuditLog(path).owner():
            yield owner


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a log, oldest first."""
    return AuditLog(path).records()


def cited_in(state: Mapping[str, Any]) -> dict[str, str]:
    """The refs that a state's items rest on, point to, or that are pending; and who does."""
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
    """What `rewrite` would do to ``log``; None where the log has nothing of what was erased.

    Raises:
        AuditError: It cannot be read.
    """
    future = _Future(log, erased)
    for _ in future.records("", ""):
        pass
    return future.told()


def rewrite(log: AuditLog, erased: Erased, erasure: str, at: str) -> Rewritten | None:
    """Take what was erased out of ``log``, and commit the state without it.

    The file is written anew beside the old one and takes its place at once; a kill leaves one
    or the other. Done once: a log that ends with this very erasure is left as it is.

    Args:
        log: The log.
        erased: What was erased.
        erasure: The erasure's identity.
        at: The time.

    Returns:
        What was done; None where the log has nothing of it.

    Raises:
        OSError: It cannot be written, or somebody else keeps it locked.
        AuditError: It cannot be read.
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
    """A log without what was erased: its records, and the tombstone commits that follow them."""

    def __init__(self, log: AuditLog, erased: Erased) -> None:
        self._log = log
        self._erased = erased
        self._is_concerned = False
        self._counted = self._redacted = 0
        self._leaving: list[Leaving] = []
        self._last: Mapping[str, Any] = {}

    def records(self, erasure: str, at: str) -> Iterator[Record]:
        """What the log will hold, in order."""
        items = items_resting_alone(self._log.records(), self._erased)
        newest: dict[str, Record] = {}
        for record in self._log.records():
            after = redacted(record, self._erased, items)
            self._counted += 1
            self._is_concerned |= after is not None
            self._redacted += after is not None and not record.get("redacted")
            # What the tombstone commit is made from: the state as it was, not as it is told now.
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
        """What comes of it, once all records were asked for."""
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
