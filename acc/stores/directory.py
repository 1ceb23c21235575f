"""Namespaces, and the directory of their threads.

A namespace is a tenant's user and agent. Its shelf of threads is the `Directory`: the first write to
a thread or namespace adds its entry. A namespace without a conversation also has an entry (a thread
without a name), because erasing a user must find the documents and experiences of all their agents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
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


class Directory:
    """The entries of a store's namespaces, read once and then updated. Not thread-safe."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store = store
        self._shelves: dict[str, Shelf] = {}
        self._places: dict[str, dict[str, str]] = {}

    def enrol(self, thread: Thread, at: str) -> None:
        """Add ``thread``, or a namespace, to the directory of its namespace; idempotent."""
        if not self.has(thread):
            self._shelf(thread).append([entry(thread, at)])

    def has(self, thread: Thread) -> bool:
        """Return whether ``thread`` has an entry now."""
        shelf = self._shelf(thread)
        places = self._places[shelf.space.key]
        for record in shelf.news():
            places[record.identity] = record.id
        if thread.key not in places:
            return False
        # Check the store: this or another process may have erased the entry after it was read.
        found = self._store.get(thread.tenant, [places[thread.key]])
        return bool(found) and found[0].identity == thread.key

    def _shelf(self, thread: Thread) -> Shelf:
        space = namespace_of(thread)
        shelf = self._shelves.get(space.key)
        if shelf is None or self._was_cut(shelf):
            shelf = self._shelves[space.key] = Shelf(self._store, space, "threads")
            self._places[space.key] = {}
        return shelf

    def _was_cut(self, shelf: Shelf) -> bool:
        """Return whether the last entry is gone, as after an undone import. It would leave a gap."""
        last = shelf.end - 1
        return last >= shelf.first and not self._store.get(shelf.space.tenant, [shelf.id_of(last)])


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
