"""The threads and audit logs of namespaces: the store's directory and the audit logs together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from acc.audit.log import AuditLog
from acc.audit.medium import AuditPlace, audit_store
from acc.stores.directory import document_spaces, enrolled, namespace_of, spaces_in, threads_in
from acc.stores.protocol import ArtifactStore, ManagedStore, Thread

Spaces = dict[Thread, list[Thread]]
"""Namespaces, each with its threads."""


def logs_at(place: AuditPlace | None) -> list[AuditLog]:
    """Return all audit logs at ``place``, sorted by name."""
    if place is None:
        return []
    store = audit_store(place)
    return [AuditLog((store, name)) for name in store.names()]


def logged_threads(place: AuditPlace | None) -> Iterator[Thread]:
    """Yield the threads with an audit log at ``place``; damaged logs are included."""
    for log in logs_at(place):
        if owner := log.owner():
            yield owner


def existing_log(place: AuditPlace | None, thread: Thread) -> AuditLog | None:
    """Return the audit log of a thread, if it has one."""
    log = AuditLog.of(place, thread) if place else None
    return log if log is not None and log.exists() else None


def newest_states(place: AuditPlace | None, thread: Thread) -> list[Mapping[str, Any]]:
    """Return the newest state of each branch of a thread, as plain JSON."""
    log = existing_log(place, thread)
    # `AuditLog.newest_by_branch` reads only the last records, but a branch may be idle for longer.
    return list({e["state"]["branch"]: e["state"] for e in log.records()}.values()) if log else []


def threads_of(store: ArtifactStore, place: AuditPlace | None, space: Thread) -> list[Thread]:
    """Return the threads of a namespace, from its directory and its audit logs."""
    found = {thread.key: thread for thread in enrolled(store, space)}
    for thread in logged_threads(place):
        if namespace_of(thread) == space:
            found.setdefault(thread.key, thread)
    return list(found.values())


def known_spaces(store: ManagedStore, place: AuditPlace | None, tenant: str) -> Spaces:
    """Return the namespaces of a tenant, from their directories and audit logs."""
    entries = store.get(tenant, store.ids(tenant, kind="thread"))
    threads = [*threads_in(entries), *(t for t in logged_threads(place) if t.tenant == tenant)]
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
