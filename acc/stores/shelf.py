"""Shelves: records of a namespace that belong to no single thread.

A namespace is a tenant's user and agent. Each shelf (documents, experiences, quarantine, threads,
usage) is a log with computable ids: ``<namespace key>.<shelf>:<seq>``, from 1 without a gap. A
deleted record leaves a tombstone. A compacted shelf begins later: a record at its first place names
the new beginning, and each beginning has a record that names the next one, if any
(`acc.evidence.usage.compact`).

The shelf of threads is the `Directory`: the first write to a thread or namespace adds its entry. A
namespace without a conversation also has an entry (a thread without a name), because erasing a user
must find the documents and experiences of all their agents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import count
from typing import Any, Literal
from weakref import WeakKeyDictionary

from acc.errors import ConflictError, StoreError
from acc.state.reasons import Reason
from acc.stores.protocol import UNNAMED, Artifact, ArtifactStore, ManagedStore, Thread, artifact_id

ERASED = "erased"
"""Reason on the tombstone of an erased record."""

_DIGEST = re.compile("[0-9a-f]{24}")
"""Form of the ids of messages that came without one: a digest of the words."""

Why = Literal["erased", "pruned", "overtaken"]


def tombstone_of(artifact: Artifact, why: Why, at: str) -> Artifact:
    """Return the record that replaces ``artifact``: its place without its content.

    A retirement keeps its (emptied) record: without it, recall could return the old rule as valid.
    A prune keeps the identity, which recognizes a retry; an erasure removes it, because it is a
    digest of the words. The chat message's id stays, because a graph with that message in its
    checkpoint must not store it again. An erasure removes an id that
    `acc.integrations.messages` may have made from the words.
    """
    is_digest = why == "erased" and _DIGEST.fullmatch(artifact.message)
    emptied: dict[str, Any] = {
        "at": at, "text": "", "call_id": "", "name": "",
        "message": "" if is_digest else artifact.message,
        "identity": artifact.identity if why == "pruned" else f"{why}:{artifact.id}",
    }  # fmt: skip
    if not marks_retirement(artifact):
        emptied |= {"kind": "tombstone", "sources": (), "reason": why, "trust": None}
    return artifact.model_copy(update=emptied)


def is_erased(artifact: Artifact) -> bool:
    """Return whether the record was erased: only its place is left."""
    return artifact.identity == f"{ERASED}:{artifact.id}"


def marks_retirement(artifact: Artifact) -> bool:
    """Return whether the record says that a rule or goal was retired."""
    return artifact.kind == "set_aside" and artifact.reason == Reason.RETIRED.value


def managed(store: ArtifactStore) -> ManagedStore:
    """Return ``store`` if it supports retention and erasure; else raise a `StoreError`."""
    if isinstance(store, ManagedStore):
        return store
    raise StoreError(
        "the store cannot list, replace and delete records",
        where=type(store).__name__,
        hint="implement acc.stores.protocol.ManagedStore; acc.testing.check_store tests it",
    )


ShelfName = Literal["documents", "experiences", "quarantine", "threads", "usage"]

_FIRST_READ = 16
_LARGEST_READ = 1024
_ATTEMPTS = 50

BASE = "base"
"""Name of a record that says where a compacted shelf begins; its text is that place."""


def namespace(user: str = UNNAMED, agent: str = UNNAMED, tenant: str = UNNAMED) -> Thread:
    """Return the identity of a namespace: a thread without a name, unlike any conversation."""
    return Thread(thread="", user=user, agent=agent, tenant=tenant)


def namespace_of(thread: Thread) -> Thread:
    """Return the namespace of a thread."""
    return thread.model_copy(update={"thread": ""})


_WRITES = count(1)
_DOCUMENTS: WeakKeyDictionary[ArtifactStore, int] = WeakKeyDictionary()


def documents_written(store: ArtifactStore) -> None:
    """Note that documents were written to ``store``, to refresh the readers' view of them."""
    with suppress(TypeError):  # such a store is read again at each turn
        _DOCUMENTS[store] = next(_WRITES)


def documents_mark(store: ArtifactStore) -> int | None:
    """Return a number that changes when this process writes documents; None if it is not known."""
    try:
        return None if store.shared else _DOCUMENTS.get(store, 0)
    except TypeError:
        return None


@lru_cache(maxsize=1024)
def document_spaces(thread: Thread) -> tuple[Thread, ...]:
    """Return the namespaces with documents visible to a thread or namespace; its own first.

    A document without a user is visible to every user of the tenant, one without an agent to every
    agent.
    """
    users = dict.fromkeys((thread.user, UNNAMED))
    agents = dict.fromkeys((thread.agent, UNNAMED))
    return tuple(namespace(u, a, thread.tenant) for u in users for a in agents)


class Shelf:
    """One shelf, kept up to date with the store. Not safe for use by several threads at once.

    ``first`` is the first place of the shelf, as far as this process knows.
    """

    def __init__(self, store: ArtifactStore, space: Thread, name: ShelfName) -> None:
        self.store = store
        self.space = space
        self.name = name
        self._key = space.key
        self._records: list[Artifact] = []
        self.first = self._seen = 1

    def refresh(self) -> None:
        """Read records added since the last refresh, by this object or another."""
        batch = _FIRST_READ
        while True:
            ids = [self.id_of(seq) for seq in range(self.end, self.end + batch)]
            found = self.store.get(self.space.tenant, [*self._signposts(), *ids])
            if found and _says_where(found[0]):
                self.first, self._records = int(found[0].text), []
                continue
            self._records.extend(found)
            if len(found) < batch:
                break
            batch = min(batch * 2, _LARGEST_READ)

    def reread(self, ids: Sequence[str]) -> None:
        """Read these records again after they were replaced."""
        for record in self.store.get(self.space.tenant, ids):
            if 0 <= record.seq - self.first < len(self._records):
                self._records[record.seq - self.first] = record

    def records(self) -> list[Artifact]:
        """Return all current records of the shelf except tombstones."""
        self.refresh()
        return [a for a in self._records if a.kind != "tombstone"]

    def news(self) -> list[Artifact]:
        """Return records added since the last call, except tombstones."""
        self.refresh()
        seen, self._seen = self._seen, self.end
        return [a for a in self._records[max(0, seen - self.first) :] if a.kind != "tombstone"]

    def append(self, artifacts: Sequence[Artifact]) -> list[Artifact]:
        """Append ``artifacts`` in order; return them as stored.

        Concurrent appends are safe: each gets its own places. A `ConflictError` if other writers
        took every place that was tried.
        """
        for _ in range(_ATTEMPTS):
            self.refresh()
            placed = self.append_next(artifacts)
            if placed is not None:
                return placed
        raise ConflictError(
            "other processes write to this shelf without a pause",
            where=f"{self.name} of user {self.space.user!r}",
            hint="try again when the other processes are done",
        )

    def append_next(self, artifacts: Sequence[Artifact]) -> list[Artifact] | None:
        """Append ``artifacts`` after the last known record; None if another writer took a place."""
        placed = self._placed(artifacts)
        try:
            self.store.add(self.space.tenant, placed)
        finally:  # a failed write may leave some records
            if self.name == "documents":
                documents_written(self.store)
        if placed and not self._is_mine(placed):
            return None
        self._records.extend(placed)
        return placed

    def next_seq(self) -> int:
        """Return the place of the next record, as far as this process knows."""
        self.refresh()
        return self.end

    @property
    def end(self) -> int:
        """The place after the last record that was read."""
        return self.first + len(self._records)

    def id_of(self, seq: int) -> str:
        """Return the id of a place."""
        return artifact_id(self._key, self.name, seq)

    def moved_id(self, first: int) -> str:
        """Return the id of the record with the new beginning of a shelf that began at ``first``."""
        return artifact_id(self._key, f"{self.name}.{BASE}", first)

    def _placed(self, artifacts: Iterable[Artifact]) -> list[Artifact]:
        mine = {"thread": self._key, "branch": self.name}
        return [
            artifact.model_copy(update={**mine, "seq": seq, "id": self.id_of(seq)})
            for seq, artifact in enumerate(artifacts, self.end)
        ]

    def _is_mine(self, placed: Sequence[Artifact]) -> bool:
        """Return whether this writer has all places; if not, bury the records that it did place."""
        ids = [a.id for a in placed]
        found = self.store.get(self.space.tenant, [*self._signposts(), *ids])
        stored = {a.id: a for a in found}
        mine = [a for a in placed if stored.get(a.id) == a]
        start = int(found[0].text) if found and _says_where(found[0]) else self.first
        if start <= placed[0].seq:
            is_lost = len(mine) < len(placed)
        elif len(mine) == len(placed):
            # The shelf was compacted concurrently. The next compaction deletes the records before
            # the new beginning. If that compaction has happened, these records came after it,
            # and no reader sees them.
            is_lost = bool(self.store.get(self.space.tenant, [self.moved_id(start)]))
        else:
            # Without any of the ids, the records were read and then deleted.
            is_lost = not stored.keys().isdisjoint(ids)
        if is_lost:
            self._bury(mine)
        return not is_lost

    def _signposts(self) -> list[str]:
        return [self.moved_id(self.first)] if self.name == "usage" else []

    def _bury(self, placed: Sequence[Artifact]) -> None:
        if placed:
            tombstones = [tombstone_of(artifact, "overtaken", artifact.at) for artifact in placed]
            managed(self.store).replace(self.space.tenant, tombstones)


def _says_where(record: Artifact) -> bool:
    return record.kind == "usage" and record.name == BASE


class Directory:
    """The entries of a store's namespaces, read once and then updated. Not thread-safe."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store = store
        self._shelves: dict[str, Shelf] = {}
        self._places: dict[str, dict[str, str]] = {}

    def enrol(self, thread: Thread, at: str) -> None:
        """Add ``thread``, or a namespace, to the directory of its namespace; idempotent."""
        if not self.has(thread):
            self._shelf(thread).append([_entry(thread, at)])

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


def _entry(thread: Thread, at: str) -> Artifact:
    return Artifact(
        id="", thread="", branch="", seq=0, turn=0, kind="thread",
        text=json.dumps(thread.model_dump(), ensure_ascii=False), identity=thread.key, at=at,
    )  # fmt: skip
