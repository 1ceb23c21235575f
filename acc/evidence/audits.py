"""What the audit logs of a memory tell of its namespaces: their threads, and the current states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from acc.audit import AuditLog
from acc.evidence.directory import enrolled, spaces_in, threads_in
from acc.evidence.shelf import document_spaces, namespace_of
from acc.store import ArtifactStore, ManagedStore, Thread


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
