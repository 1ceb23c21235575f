"""Shelves: the records of a namespace that belong to no one thread.

A namespace is a tenant's user and agent. Its shelves (documents, experiences, what was
refused, the list of its threads, how evidence fared) are logs of their own, under ids that can
be computed as a thread's can: ``<namespace key>.<shelf>:<seq>``, from 1 without a gap. What is
deleted from one leaves a tombstone in its place. A shelf that was compacted begins later: its first
place says where, and for each beginning a record says where the next one is, if there is one
(`acc.evidence.compaction`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import count
from typing import Literal
from weakref import WeakKeyDictionary

from acc.errors import ConflictError, StoreError
from acc.state.reasons import Reason
from acc.stores.protocol import UNNAMED, Artifact, ArtifactStore, ManagedStore, Thread, artifact_id

ERASED = "erased"
"""Reason on the tombstone of what was erased."""

_DIGEST = re.compile("[0-9a-f]{24}")
"""The form of the ids that a message without one gets: a digest of its words."""

Why = Literal["erased", "pruned", "overtaken"]


def buried(artifact: Artifact, why: Why, at: str) -> Artifact:
    """The record that takes the place of ``artifact``: where it stood, and nothing it said.

    That a rule was retired outlives the words of it: such a record stays, empty, or the old
    rule could be recalled as if it still held. After a prune the identity stays too, by which a
    retry is recognised; it is a digest of the words, so an erasure takes it. The id of the chat
    message stays, so that a graph whose checkpoint still has the message does not store it again;
    but not one that `acc.integrations.messages` may have made from the words.
    """
    told = why == "erased" and _DIGEST.fullmatch(artifact.message)
    kept = {
        "at": at, "text": "", "call_id": "", "message": "" if told else artifact.message,
        "part": artifact.part, "parts": artifact.parts,
    }  # fmt: skip
    if marks_retirement(artifact):
        return artifact.model_copy(
            update={**kept, "identity": _identity(artifact, why), "name": ""}
        )
    return artifact.model_copy(
        update={
            **kept, "kind": "tombstone", "name": "", "sources": (), "reason": why, "trust": None,
            "identity": _identity(artifact, why),
        }
    )  # fmt: skip


def is_grave(artifact: Artifact) -> bool:
    """Whether an erasure has been here: nothing of the record is left but its place."""
    return artifact.identity == f"{ERASED}:{artifact.id}"


def marks_retirement(artifact: Artifact) -> bool:
    """Whether the record says that a rule or goal was retired."""
    return artifact.kind == "set_aside" and artifact.reason == Reason.RETIRED.value


def managed(store: ArtifactStore) -> ManagedStore:
    """``store``, which offers what retention and erasure need.

    Raises:
        StoreError: It does not.
    """
    if isinstance(store, ManagedStore):
        return store
    raise StoreError(
        "the store cannot list, replace and delete",
        where=type(store).__name__,
        hint="give it the methods of acc.stores.protocol.ManagedStore; acc.testing.check_store proves them",
    )


def _identity(artifact: Artifact, why: Why) -> str:
    return artifact.identity if why == "pruned" else f"{why}:{artifact.id}"


ShelfName = Literal["documents", "experiences", "quarantine", "threads", "usage"]

_FIRST_READ = 16
_LARGEST_READ = 1024
_ATTEMPTS = 50

BASE = "base"
"""Name of a record that says where a compacted shelf begins; its text is the place to read from."""


def namespace(user: str = UNNAMED, agent: str = UNNAMED, tenant: str = UNNAMED) -> Thread:
    """The identity of a namespace: a thread without a name, which no conversation can have."""
    return Thread(thread="", user=user, agent=agent, tenant=tenant)


def namespace_of(thread: Thread) -> Thread:
    """The namespace that a thread belongs to."""
    return thread.model_copy(update={"thread": ""})


_WRITES = count(1)
_DOCUMENTS: WeakKeyDictionary[ArtifactStore, int] = WeakKeyDictionary()


def documents_written(store: ArtifactStore) -> None:
    """Note that documents were written to ``store``: whoever recalls from it looks again."""
    with suppress(TypeError):  # a store that cannot be looked up is asked at each turn
        _DOCUMENTS[store] = next(_WRITES)


def documents_mark(store: ArtifactStore) -> int | None:
    """A number that changes when this process writes documents; None where that does not tell all."""
    try:
        return None if store.shared else _DOCUMENTS.get(store, 0)
    except TypeError:
        return None


@lru_cache(maxsize=1024)
def document_spaces(thread: Thread) -> tuple[Thread, ...]:
    """The namespaces whose documents a thread, or a namespace, may see; its own first.

    A document that was taken in without a user is for every user of the tenant, one without an
    agent for every agent.
    """
    users = dict.fromkeys((thread.user, UNNAMED))
    agents = dict.fromkeys((thread.agent, UNNAMED))
    return tuple(namespace(u, a, thread.tenant) for u in users for a in agents)


class Shelf:
    """One shelf, kept in step with the store. Not for several threads of execution at once.

    Args:
        store: Where the records are.
        space: The namespace; see `namespace`.
        name: Which shelf.
    """

    def __init__(self, store: ArtifactStore, space: Thread, name: ShelfName) -> None:
        self.store = store
        self.space = space
        self.name = name
        self._key = space.key
        self._records: list[Artifact] = []
        self._first = self._seen = 1

    def refresh(self) -> None:
        """Read what was added since the last look, by this object or another."""
        batch = _FIRST_READ
        while True:
            first = self._first + len(self._records)
            ids = [self.id_of(seq) for seq in range(first, first + batch)]
            found = self.store.get(self.space.tenant, [*self._signposts(), *ids])
            if found and _says_where(found[0]):
                self._first, self._records = int(found[0].text), []
                continue
            self._records.extend(found)
            if len(found) < batch:
                break
            batch = min(batch * 2, _LARGEST_READ)

    def reread(self, ids: Sequence[str]) -> None:
        """Read these records anew: they were replaced."""
        for record in self.store.get(self.space.tenant, ids):
            if 0 <= record.seq - self._first < len(self._records):
                self._records[record.seq - self._first] = record

    def records(self) -> list[Artifact]:
        """All that stands on the shelf now, tombstones left out."""
        self.refresh()
        return [a for a in self._records if a.kind != "tombstone"]

    def news(self) -> list[Artifact]:
        """What came to stand on the shelf since this was last asked, tombstones left out."""
        self.refresh()
        seen, self._seen = self._seen, self.end
        return [a for a in self._records[max(0, seen - self._first) :] if a.kind != "tombstone"]

    def append(self, artifacts: Sequence[Artifact]) -> list[Artifact]:
        """Put ``artifacts`` at the end, in order; as they stand there.

        Several may append at the same time: each finds places of its own.

        Raises:
            ConflictError: Others took every place that was tried.
            StoreError: They cannot be written.
        """
        for _ in range(_ATTEMPTS):
            self.refresh()
            placed = self.append_next(artifacts)
            if placed is not None:
                return placed
        raise ConflictError(
            "other processes write to this shelf all the time",
            where=f"{self.name} of user {self.space.user!r}",
            hint="repeat it when they are done",
        )

    def append_next(self, artifacts: Sequence[Artifact]) -> list[Artifact] | None:
        """Put ``artifacts`` right behind what this process knows of; None where others were first.

        Raises:
            StoreError: They cannot be written.
        """
        placed = self._placed(artifacts)
        try:
            self.store.add(self.space.tenant, placed)
        finally:  # of a failed write a part may stand
            if self.name == "documents":
                documents_written(self.store)
        if placed and not self._is_mine(placed):
            return None
        self._records.extend(placed)
        return placed

    def next_seq(self) -> int:
        """The place that the next record takes, as far as this process knows."""
        self.refresh()
        return self.end

    @property
    def end(self) -> int:
        """The place behind the last record that was read."""
        return self._first + len(self._records)

    @property
    def first(self) -> int:
        """The place at which the shelf begins, as far as this process knows."""
        return self._first

    def id_of(self, seq: int) -> str:
        """The id of a place."""
        return artifact_id(self._key, self.name, seq)

    def moved_id(self, first: int) -> str:
        """The id of the record that says where a shelf that began at ``first`` begins now."""
        return artifact_id(self._key, f"{self.name}.{BASE}", first)

    def _placed(self, artifacts: Iterable[Artifact]) -> list[Artifact]:
        mine = {"thread": self._key, "branch": self.name}
        return [
            artifact.model_copy(update={**mine, "seq": seq, "id": self.id_of(seq)})
            for seq, artifact in enumerate(artifacts, self._first + len(self._records))
        ]

    def _is_mine(self, placed: Sequence[Artifact]) -> bool:
        """Whether all places are mine. Of a batch that lost one, what it did place is buried."""
        ids = [a.id for a in placed]
        found = self.store.get(self.space.tenant, [*self._signposts(), *ids])
        stored = {a.id: a for a in found}
        mine = [a for a in placed if stored.get(a.id) == a]
        start = int(found[0].text) if found and _says_where(found[0]) else self._first
        if start <= placed[0].seq:
            is_lost = len(mine) < len(placed)
        elif len(mine) == len(placed):
            # Compacted meanwhile. What was told goes with the compaction after that one: where
            # there is one, this came after it, and nobody reads it.
            is_lost = bool(self.store.get(self.space.tenant, [self.moved_id(start)]))
        else:
            is_lost = not stored.keys().isdisjoint(ids)  # else it was read, and is gone since
        if is_lost:
            self._bury(mine)
        return not is_lost

    def _signposts(self) -> list[str]:
        return [self.moved_id(self._first)] if self.name == "usage" else []

    def _bury(self, placed: Sequence[Artifact]) -> None:

        if placed:
            graves = [buried(artifact, "overtaken", artifact.at) for artifact in placed]
            managed(self.store).replace(self.space.tenant, graves)


def _says_where(record: Artifact) -> bool:
    return record.kind == "usage" and record.name == BASE
