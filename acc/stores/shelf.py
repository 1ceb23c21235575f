"""Shelves: records of a namespace that belong to no single thread.

Each shelf (documents, experiences, quarantine, threads, usage) is a log with computable ids:
``<namespace key>.<shelf>:<seq>``, from 1 without a gap. A deleted record leaves a tombstone.

Only the usage shelf can be compacted (`acc.evidence.usage.compact`); it then begins later. The record
at its first place names a later start. A start that was itself replaced has a record that names the
next one. To find the current start, follow these records until one is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import count, takewhile
from typing import Literal
from weakref import WeakKeyDictionary

from acc.errors import ConflictError
from acc.stores.protocol import Artifact, ArtifactStore, Thread, artifact_id, managed
from acc.stores.tombstones import tombstone_of

ShelfName = Literal["documents", "experiences", "quarantine", "threads", "usage"]

_FIRST_READ = 16
_LARGEST_READ = 1024
_ATTEMPTS = 50
_PROBES = 16
"""Places that one call looks at while it finds the end."""

START = "base"
"""Name of a record that says where a compacted shelf begins; its text is that place."""

_WRITES = count(1)
_DOCUMENTS: WeakKeyDictionary[ArtifactStore, int] = WeakKeyDictionary()


def documents_written(store: ArtifactStore) -> None:
    """Note that documents were written to ``store``, to refresh the readers' view of them."""
    with suppress(TypeError):  # such a store is read again at each turn
        _DOCUMENTS[store] = next(_WRITES)


def documents_revision(store: ArtifactStore) -> int | None:
    """Return a number that changes when this process writes documents; None if it is not known."""
    try:
        return None if store.shared else _DOCUMENTS.get(store, 0)
    except TypeError:
        return None


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
            found = self.store.get(self.space.tenant, [*self._new_start_ids(), *ids])
            if found and _names_start(found[0]):
                self.first, self._records = int(found[0].text), []
                continue
            there = {artifact.id: artifact for artifact in found}
            # An undone import may leave a gap. What is behind it is read once the gap is filled.
            self._records.extend(there[id_] for id_ in takewhile(there.__contains__, ids))
            if self.id_of(self.end - 1) != ids[-1]:
                break
            batch = min(batch * 2, _LARGEST_READ)

    def skip_to_end(self) -> None:
        """Find the end without reading all records: the number of calls is logarithmic."""
        last, step = self.end - 1, 1
        while step:
            ids = [self.id_of(last + step * number) for number in range(1, _PROBES + 1)]
            there = {artifact.id for artifact in self.store.get(self.space.tenant, ids)}
            full = len(list(takewhile(there.__contains__, ids)))
            last += step * full
            step = step * _PROBES if full == _PROBES else step // _PROBES
        self.first, self._records = last + 1, []

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

    def new_start_id(self, first: int) -> str:
        """Return the id of the record that names the new start of a shelf that began at ``first``."""
        return artifact_id(self._key, f"{self.name}.{START}", first)

    def _placed(self, artifacts: Iterable[Artifact]) -> list[Artifact]:
        mine = {"thread": self._key, "branch": self.name}
        return [
            artifact.model_copy(update={**mine, "seq": seq, "id": self.id_of(seq)})
            for seq, artifact in enumerate(artifacts, self.end)
        ]

    def _is_mine(self, placed: Sequence[Artifact]) -> bool:
        """Return whether this writer has all places; if not, bury the records that it did place."""
        ids = [a.id for a in placed]
        found = self.store.get(self.space.tenant, [*self._new_start_ids(), *ids])
        stored = {a.id: a for a in found}
        mine = [a for a in placed if stored.get(a.id) == a]
        start = int(found[0].text) if found and _names_start(found[0]) else self.first
        if start <= placed[0].seq:
            # Case 1: no compaction has moved the start past these places. Another writer may have some.
            is_lost = len(mine) < len(placed)
        elif len(mine) == len(placed):
            # Case 2: a compaction moved the start past these records, after it had read them. But if a
            # second compaction emptied these places before this write, no reader sees the records.
            is_lost = bool(self.store.get(self.space.tenant, [self.new_start_id(start)]))
        else:
            # Case 3: a compaction moved the start. If all places are empty, it had read the records and
            # deleted them. Otherwise another writer has some.
            is_lost = not stored.keys().isdisjoint(ids)
        if is_lost:
            self._bury(mine)
        return not is_lost

    def _new_start_ids(self) -> list[str]:
        return [self.new_start_id(self.first)] if self.name == "usage" else []

    def _bury(self, placed: Sequence[Artifact]) -> None:
        if placed:
            tombstones = [tombstone_of(artifact, "overtaken", artifact.at) for artifact in placed]
            managed(self.store).replace(self.space.tenant, tombstones)


def _names_start(record: Artifact) -> bool:
    return record.kind == "usage" and record.name == START
