"""Vector indexes: the records of a namespace as rows of vectors, synchronized with the store.

The wider scope of recall searches them. A namespace's records have computable ids, so their texts are read
by id, once, and their vectors are computed and kept without the zeros. A query costs one
sparse matrix product, whatever else the store holds. The vectors contain no inverse document frequency
(IDF): a query weighs its own buckets by their rarity among the records.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from acc.recall.dense import Dense, DenseRows, best_of
from acc.state.model import ROOT
from acc.stores.directory import threads_in
from acc.stores.embedding import DIMENSION, embed
from acc.stores.protocol import Artifact, ArtifactStore, Thread, artifact_id
from acc.stores.shelf import Shelf, documents_revision
from acc.thread.branch import OVERTAKEN

if TYPE_CHECKING:
    from acc.recall.dense import Vector

What = Literal["documents", "threads"]
Keep = Callable[[str], bool]

KNOWN = 4_096
"""Maximum number of records whose text one index caches. All vectors stay in memory."""

READ = 300
"""Records requested in one call of the store."""

_FIRST_READ = 16
KINDS = ("observation", "set_aside", "document")
"""Kinds of the records that hold evidence; the others belong to ACC's own bookkeeping."""


class SparseRows:
    """Named vectors with few values each, in insertion order: 6 bytes a value."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.frequency: NDArray[np.int64] = np.zeros(DIMENSION, np.int64)
        """Number of vectors with a positive value, by dimension."""
        self._starts = array("q")
        self._dimensions = array("H")
        self._values = array("f")

    def __len__(self) -> int:
        return len(self.names)

    def add(self, name: str, vector: array[float]) -> None:
        """Append a vector of `DIMENSION` values, of which at least one is not 0."""
        row = np.frombuffer(vector, np.float32)
        there = np.flatnonzero(row)
        self.frequency[row > 0] += 1
        self.names.append(name)
        self._starts.append(len(self._values))
        self._dimensions.frombytes(there.astype(np.uint16).tobytes())
        self._values.frombytes(row[there].tobytes())

    def products(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the dot product of ``vector`` with each row."""
        each = vector[np.frombuffer(self._dimensions, np.uint16)]
        each *= np.frombuffer(self._values, np.float32)
        found: NDArray[np.float32] = np.add.reduceat(each, np.frombuffer(self._starts, np.int64))
        return found


class VectorIndex:
    """The documents of a namespace, or the records of its threads (their main branches)."""

    def __init__(
        self, store: ArtifactStore, space: Thread, what: What, dense: Dense | None = None
    ) -> None:
        self.store = store
        self.space = space
        self.what = what
        self._dense = dense
        self._rewrites: int | None = None
        self._begin()

    def _begin(self) -> None:
        """Reset to an empty index."""
        space, dense = self.space, self._dense
        self._threads = Shelf(self.store, space, "threads") if self.what == "threads" else None
        self._next = {} if self._threads is not None else {f"{space.key}.documents": 1}
        self._rows = SparseRows()
        self._known: dict[str, Artifact] = {}
        self._dense_rows = DenseRows(self.store, space.tenant, dense) if dense is not None else None
        self._seen: int | None = None
        self._now: int | None = None

    def probes(self) -> list[str]:
        """Return the ids to look up: one of them exists if records were added since the last look.

        Returns no ids if this process is the only writer and has written no such record since.
        """
        rewrites = self._counted("rewrites")
        if rewrites != self._rewrites:  # records were replaced or deleted, so their vectors changed
            self._begin()
            self._rewrites = rewrites
        is_threads = self._threads is not None
        self._now = self._counted("revision") if is_threads else documents_revision(self.store)
        if self._now is not None and self._now == self._seen:
            return []
        next_entry = [self._threads.id_of(self._threads.end)] if self._threads is not None else []
        return [*next_entry, *(_id(log, seq) for log, seq in self._next.items())]

    def take(self, existing: Collection[str]) -> None:
        """Read the added records; ``existing`` are the ids of `probes` that exist in the store."""
        grown = [log for log, seq in self._next.items() if _id(log, seq) in existing]
        if self._threads is not None and self._threads.id_of(self._threads.end) in existing:
            grown += self._entered()
        for log in grown:
            self._read(log)
        self._seen = self._now

    def proposed(
        self, query: str, asked: Vector | None, most: int, keep: Keep | None
    ) -> list[Artifact]:
        """Return the ``most`` nearest records by words and the ``most`` nearest by meaning, unordered."""
        if not len(self._rows):
            return []
        ids = self._by_words(query, most, keep)
        if self._dense_rows is not None and asked is not None and self._dense_rows.read(asked):
            ids = list(dict.fromkeys([*ids, *self._dense_rows.best(asked, most, keep)]))
        found = self._texts(ids)
        return [a for a in found if a.kind in KINDS and a.reason not in OVERTAKEN]

    def dense_scores(self, asked: Vector, ids: Sequence[str]) -> NDArray[np.float64]:
        """Return the cosine of each record with the query; 0 for a record without a vector in this index."""
        if self._dense_rows is None:
            return np.zeros(len(ids))
        return self._dense_rows.scores(asked, ids)

    def _by_words(self, query: str, most: int, keep: Keep | None) -> list[str]:
        vector = np.frombuffer(embed(query), np.float32)
        if vector[0] < 0:  # `embed` sets -1 for a text without terms
            return []
        df = self._rows.frequency
        asked = vector * np.log1p((len(self._rows) - df + 0.5) / (df + 0.5))
        scores = self._rows.products(asked.astype(np.float32))
        ids = best_of(self._rows.names, scores, most, keep)
        return [name for name, score in ids if score > 0]

    def _texts(self, ids: Sequence[str]) -> list[Artifact]:
        """Read the records; use the cache only if no other process may have replaced them."""
        if self._rewrites is None:
            return self.store.get(self.space.tenant, ids)
        missing = [id_ for id_ in ids if id_ not in self._known]
        if len(self._known) + len(missing) > KNOWN:
            self._known, missing = {}, list(ids)
        self._known |= {a.id: a for a in self.store.get(self.space.tenant, missing)}
        return [self._known[id_] for id_ in ids if id_ in self._known]

    def _counted(self, name: str) -> int | None:
        """A counter of the store's own writes; None if the store has none or other processes write too."""
        return None if self.store.shared else getattr(self.store, name, None)

    def _entered(self) -> list[str]:
        """Logs of the threads that were added to the directory since the last look."""
        records = self._threads.records() if self._threads is not None else ()
        logs = (f"{thread.key}.{ROOT}" for thread in threads_in(records))
        new = [log for log in logs if log not in self._next]
        self._next |= dict.fromkeys(new, 1)
        return new

    def _read(self, log: str) -> None:
        batch = _FIRST_READ
        while True:
            first = self._next[log]
            ids = [_id(log, seq) for seq in range(first, first + batch)]
            found = self.store.get(self.space.tenant, ids)
            self._note(found)
            self._next[log] = first + len(found)
            if len(found) < batch:
                return
            batch = min(2 * batch, READ)

    def _note(self, found: Sequence[Artifact]) -> None:
        if self._rewrites is not None and len(self._known) + len(found) <= KNOWN:
            self._known |= {a.id: a for a in found}
        if self._dense_rows is not None:
            self._dense_rows.see(a for a in found if a.kind in KINDS)
        for artifact in found:
            self._rows.add(artifact.id, embed(artifact.text))


class VectorIndexes:
    """Cache of the ``most`` recently used indexes, shared by all threads that may see them."""

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._of: OrderedDict[tuple[int, str, What, int], VectorIndex] = OrderedDict()

    def of(
        self, store: ArtifactStore, space: Thread, what: What, dense: Dense | None
    ) -> VectorIndex:
        """Return the index of a namespace; create it if needed."""
        name = (id(store), space.key, what, id(dense))
        found = self._of.pop(name, None) or VectorIndex(store, space, what, dense)
        self._of[name] = found
        while len(self._of) > self._most:
            self._of.popitem(last=False)
        return found


def refresh(indexes: Iterable[VectorIndex]) -> None:
    """Read the records added to any of the indexes since the last look, usually with one store call."""
    behind = [(index, ids) for index in indexes if (ids := index.probes())]
    asked = [id_ for _, ids in behind for id_ in ids]
    existing = {
        artifact.id
        for start in range(0, len(asked), READ)
        for artifact in behind[0][0].store.get(
            behind[0][0].space.tenant, asked[start : start + READ]
        )
    }
    for index, _ in behind:
        index.take(existing)


def _id(log: str, seq: int) -> str:
    key, _, branch = log.partition(".")
    return artifact_id(key, branch, seq)
