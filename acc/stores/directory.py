"""Namespaces, and the directory of their threads.

A namespace is a tenant's user and agent. Its shelf of threads is its directory: the first write to
a thread or namespace adds an entry. A namespace without a conversation also has an entry (a thread
without a name), because erasing a user must find the documents and experiences of all their agents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache

from acc.stores.protocol import UNNAMED, Artifact, ArtifactStore, Thread
from acc.stores.shelf import Shelf


def namespace(user: str = UNNAMED, agent: str = UNNAMED, tenant: str = UNNAMED) -> Thread:
    """Return the identity of a namespace: a thread without a name, unlike any conversation."""
    return Thread(thread="", user=user, agent=agent, tenant=tenant)


def namespace_of(thread: Thread) -> Thread:
    """Return the namespace of a thread."""
    return thread.model_copy(update={"thread": ""})


@lru_cache(maxsize=1024)
def document_spaces(thread: Thread) -> tuple[Thread, ...]:
    """Return the namespaces with documents visible to a thread or namespace; its own first.

    A document without a user is visible to every user of the tenant, one without an agent to every
    agent.
    """
    users = dict.fromkeys((thread.user, UNNAMED))
    agents = dict.fromkeys((thread.agent, UNNAMED))
    return tuple(namespace(u, a, thread.tenant) for u in users for a in agents)


def enrol(store: ArtifactStore, thread: Thread, at: str) -> None:
    """Add ``thread``, or a namespace, to the directory of its namespace.

    Does not look whether the entry exists, because a directory can be long. A second entry does no harm.
    """
    shelf = Shelf(store, namespace_of(thread), "threads")
    shelf.skip_to_end()
    shelf.append([entry(thread, at)])


def ensure_enrolled(store: ArtifactStore, threads: Sequence[Thread], at: str) -> None:
    """Add threads and namespaces to their directories unless they are there. Reads these directories whole."""
    for space in dict.fromkeys(map(namespace_of, threads)):
        shelf = Shelf(store, space, "threads")
        known = {record.identity for record in shelf.records()}
        new = [t for t in threads if namespace_of(t) == space and t.key not in known]
        if new:
            shelf.append([entry(thread, at) for thread in new])


def enrolled(store: ArtifactStore, space: Thread) -> list[Thread]:
    """Return the threads of a namespace, in the order of their first turns."""
    return threads_in(Shelf(store, space, "threads").records())


def threads_in(records: Iterable[Artifact]) -> list[Thread]:
    """Return the distinct threads that entries name."""
    return [thread for thread in _named(records) if thread.thread]


def spaces_in(records: Iterable[Artifact]) -> list[Thread]:
    """Return the distinct namespaces of the entries."""
    spaces = map(namespace_of, _named(records))
    return list({space.key: space for space in spaces}.values())


def _named(records: Iterable[Artifact]) -> list[Thread]:
    names = (Thread(**json.loads(record.text)) for record in records)
    return list({thread.key: thread for thread in names}.values())


def entry(thread: Thread, at: str) -> Artifact:
    """Return the record of a directory that names ``thread``."""
    return Artifact(
        id="", thread="", branch="", seq=0, turn=0, kind="thread",
        text=json.dumps(thread.model_dump(), ensure_ascii=False), identity=thread.key, at=at,
    )  # fmt: skip
