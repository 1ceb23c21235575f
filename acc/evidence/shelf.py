"""Shelves: the records of a namespace that belong to no one thread.

A namespace is a tenant's user and agent. Its shelves (documents, experiences, what was
refused, the list of its threads, how evidence fared) are logs of their own, under ids that can
be computed as a thread's can: ``<namespace key>.<shelf>:<seq>``, from 1 without a gap. What is
deleted from one leaves a tombstone in its place. A shelf that was compacted begins later: its first
place says where (`acc.evidence.compaction`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from acc.errors import ConflictError
from acc.store import Artifact, ArtifactStore, Thread, artifact_id

ShelfName = Literal["documents", "experiences", "quarantine", "threads", "usage"]

_FIRST_READ = 16
_LARGEST_READ = 1024
_ATTEMPTS = 50

BASE = "base"
"""Name of the record in the first place of a compacted shelf; its text is the place to read from."""


def namespace(user: str = "default", agent: str = "default", tenant: str = "default") -> Thread:
    """The identity of a namespace: a thread without a name, which no conversation can have."""
    return Thread(thread="", user=user, agent=agent, tenant=tenant)


def namespace_of(thread: Thread) -> Thread:
    """The namespace that a thread belongs to."""
    return thread.model_copy(update={"thread": ""})


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
        self._first = 1

    def refresh(self) -> None:
        """Read what was added since the last look, by this object or another."""
        batch = _FIRST_READ
        while True:
            first = self._first + len(self._records)
            ids = [self.id_of(seq) for seq in range(first, first + batch)]
            found = self.store.get(self.space.tenant, ids)
            if first == 1 and found and found[0].name == BASE:
                self._first = int(found[0].text)
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

    def append(self, artifacts: Sequence[Artifact]) -> list[Artifact]:
        """Put ``artifacts`` at the end, in order; as they stand there.

        Several may append at the same time: each finds places of its own.

        Raises:
            ConflictError: Others took every place that was tried.
            StoreError: They cannot be written.
        """
        for _ in range(_ATTEMPTS):
            self.refresh()
            placed = self._placed(artifacts)
            self.store.add(self.space.tenant, placed)
            if self._is_mine(placed):
                self._records.extend(placed)
                return placed
        raise ConflictError(
            "other processes write to this shelf all the time",
            where=f"{self.name} of user {self.space.user!r}",
            mend="repeat it when they are done",
        )

    def next_seq(self) -> int:
        """The place that the next record takes, as far as this process knows."""
        self.refresh()
        return self._first + len(self._records)

    def id_of(self, seq: int) -> str:
        """The id of a place."""
        return artifact_id(self._key, self.name, seq)

    def _placed(self, artifacts: Iterable[Artifact]) -> list[Artifact]:
        mine = {"thread": self._key, "branch": self.name}
        return [
            artifact.model_copy(update={**mine, "seq": seq, "id": self.id_of(seq)})
            for seq, artifact in enumerate(artifacts, self._first + len(self._records))
        ]

    def _is_mine(self, placed: Sequence[Artifact]) -> bool:
        """Whether all places are mine. Of a batch that lost one, what it did place is buried."""
        stored = self.store.get(self.space.tenant, [a.id for a in placed])
        lost = [a for a, b in zip(placed, stored, strict=True) if a != b]
        if lost:
            self._bury([a for a in placed if a not in lost])
        return not lost

    def _bury(self, placed: Sequence[Artifact]) -> None:
        from acc.evidence.tombstones import buried, managed

        if placed:
            graves = [buried(artifact, "overtaken", artifact.at) for artifact in placed]
            managed(self.store).replace(self.space.tenant, graves)
