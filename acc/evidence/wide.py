"""The wider scope of recall: a user's documents and other threads, by the vectors in the store.

A namespace's records are known by computable ids, so their vectors are read by id, once, and
kept as one matrix: a query costs one product, whatever else the store holds. The vectors carry
no inverse document frequency; the query weighs its own buckets by how many of the namespace's
records have them. The best `CANDIDATES` are then ranked exactly, by BM25 over their texts. Where a
dense embedder is given (`acc.evidence.dense`), its own best are candidates too, and all are ranked by
minmax(bm25) + weight * minmax(dense).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acc.branch import OVERTAKEN
from acc.evidence.dense import Dense, DenseRows
from acc.evidence.directory import threads_in
from acc.evidence.exact import WordCounts
from acc.evidence.rows import Rows
from acc.evidence.shelf import Shelf
from acc.evidence.tombstones import managed
from acc.state import ROOT
from acc.store import Artifact, ArtifactStore, Thread, artifact_id
from acc.stores.embedding import embed

if TYPE_CHECKING:
    from acc.evidence.similarity import Vector

CANDIDATES = 48
"""Records that the vectors propose for exact ranking; reading and ranking them is the cost."""

KNOWN = 4_096
"""Records kept in memory at the most."""

_READ = 300
_FIRST_READ = 16
_KINDS = ("observation", "set_aside", "document")


class WideScope:
    """Everything of a namespace but one thread, found by words.

    Args:
        store: One that offers `acc.store.ManagedStore`.
        space: The namespace.
        candidates: How many the vectors propose for exact ranking.
        dense: Ranks beside BM25.
    """

    def __init__(
        self,
        store: ArtifactStore,
        space: Thread,
        candidates: int = CANDIDATES,
        dense: Dense | None = None,
    ) -> None:
        self._store = managed(store)
        self._space = space
        self._candidates = candidates
        self._dense = DenseRows(store, space.tenant, dense) if dense is not None else None
        self._weight = dense.weight if dense is not None else 0.0
        self._threads = Shelf(store, space, "threads")
        self._next: dict[str, int] = {f"{space.key}.documents": 1}
        self._rows = Rows()
        self._known: dict[str, Artifact] = {}
        self._words = WordCounts(KNOWN)
        self._rewrites: int | None = None

    def search(
        self, query: str, most: int, *, without: Thread | None = None
    ) -> list[tuple[Artifact, float]]:
        """The best ``most`` records, each with its score over the best one's; the later first.

        Args:
            query: The words.
            most: Records at the most.
            without: A thread that is not looked at.

        Raises:
            StoreError: The store cannot be read.
        """
        self._refresh()
        asked = self._dense.asked(query) if self._dense is not None else None
        found = self._proposed(query, f"{without.key}." if without is not None else None, asked)
        if not found:
            return []
        scores = self._exact(query, found, asked)
        order = sorted(range(len(found)), key=lambda at: (-scores[at], -at))
        best = scores[order[0]] or 1.0
        return [(found[at], float(scores[at] / best)) for at in order[:most] if scores[at] > 0]

    def _proposed(self, query: str, without: str | None, asked: Vector | None) -> list[Artifact]:
        keep = None if without is None else lambda name: not name.startswith(without)
        ids = self._by_words(query, keep)
        if self._dense is not None and asked is not None:
            ids = list(dict.fromkeys([*ids, *self._dense.best(asked, self._candidates, keep)]))
        found = self._texts(ids)
        fit = [a for a in found if a.kind in _KINDS and a.reason not in OVERTAKEN]
        return sorted(fit, key=lambda a: (a.at, a.id))

    def _by_words(self, query: str, keep: Callable[[str], bool] | None) -> list[str]:
        vector = np.frombuffer(embed(query), np.float32)
        matrix = self._rows.matrix
        if not len(matrix) or vector[0] < 0:
            return []
        having = self._having
        asked = vector * np.log1p((len(matrix) - having + 0.5) / (having + 0.5))
        ids = self._rows.best(asked.astype(np.float32), self._candidates, _product, keep)
        return [name for name, score in ids if score > 0]

    def _texts(self, ids: Sequence[str]) -> list[Artifact]:
        """The records, those read lately from memory where nobody else may have replaced them."""
        if not self._remembers():
            return self._store.get(self._space.tenant, ids)
        missing = [id_ for id_ in ids if id_ not in self._known]
        if len(self._known) + len(missing) > KNOWN:
            self._known, missing = {}, list(ids)
        self._known |= {a.id: a for a in self._store.get(self._space.tenant, missing)}
        return [self._known[id_] for id_ in ids if id_ in self._known]

    def _remembers(self) -> bool:
        """Whether records may be kept in memory; what is there is dropped where some were replaced."""
        rewrites = None if self._store.shared else getattr(self._store, "rewrites", None)
        if rewrites != self._rewrites:
            self._known, self._words, self._rewrites = {}, WordCounts(KNOWN), rewrites
        return rewrites is not None

    def _exact(
        self, query: str, found: Sequence[Artifact], asked: Vector | None
    ) -> NDArray[np.float64]:
        lexical = self._words.bm25(query, found)
        if self._dense is None or asked is None:
            return lexical
        dense = self._dense.scores(asked, [a.id for a in found])
        return _minmax(lexical) + self._weight * _minmax(dense)

    def _refresh(self) -> None:
        """Read the vectors of what was added since the last look: one probe for all, as a rule.

        Where nobody else writes, and nothing was written, not even that.
        """
        revision = None if self._store.shared else getattr(self._store, "revision", None)
        if revision is not None and revision == self._seen:
            return
        self._seen = revision
        door = self._threads.id_of(self._threads.end)
        probes = {_id(log, seq): log for log, seq in self._next.items()}
        ids = [door, *probes]
        grown = [
            artifact.id
            for start in range(0, len(ids), _READ)
            for artifact in self._store.get(self._space.tenant, ids[start : start + _READ])
        ]
        if door in grown:
            grown.remove(door)
            probes |= self._entered()
            grown += [id_ for id_ in probes if id_ not in ids]
        for id_ in grown:
            self._read(probes[id_])
        if grown:
            self._having = np.count_nonzero(self._rows.matrix > 0, axis=0)

    def _entered(self) -> dict[str, str]:
        """Probes of the threads that were entered into the directory since the last look."""
        logs = (f"{thread.key}.{ROOT}" for thread in threads_in(self._threads.records()))
        new = [log for log in logs if log not in self._next]
        self._next |= dict.fromkeys(new, 1)
        return {_id(log, 1): log for log in new}

    def _read(self, log: str) -> None:
        batch = _FIRST_READ
        while True:
            first = self._next[log]
            ids = [_id(log, seq) for seq in range(first, first + batch)]
            remembers = self._remembers()
            found = self._store.get(self._space.tenant, ids)
            vectors = self._store.vectors(self._space.tenant, [a.id for a in found])
            if remembers and len(self._known) + len(found) <= KNOWN:
                self._known |= {a.id: a for a in found}
            if self._dense is not None:
                self._dense.see(a for a in found if a.kind in _KINDS)
            for artifact in found:
                lost = artifact.id not in vectors
                raw = embed(artifact.text).tobytes() if lost else vectors[artifact.id]
                self._rows.add(artifact.id, np.frombuffer(raw, np.float32))
            self._next[log] = first + len(found)
            if len(found) < batch:
                return
            batch = min(2 * batch, _READ)

    _seen: int | None = None
    _having: NDArray[np.int64] = np.zeros(1, np.int64)


def _product(vector: NDArray[np.float32], rows: NDArray[np.float32]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = rows @ vector
    return found


def _id(log: str, seq: int) -> str:
    key, _, branch = log.partition(".")
    return artifact_id(key, branch, seq)


def _minmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = float(scores.min()), float(scores.max())
    if high > low:
        return (scores - low) / (high - low)
    return np.full_like(scores, float(high > 0))  # one alone, or all alike: as good as the best


def scopes(most: int = 32) -> Callable[[WideScope], WideScope]:
    """Keeps the most recently used scopes; given one, returns the one it knows by that name."""
    known: OrderedDict[tuple[int, str], WideScope] = OrderedDict()

    def kept(scope: WideScope) -> WideScope:
        name = (id(scope._store), scope._space.key)
        known[name] = found = known.pop(name, scope)
        while len(known) > most:
            known.popitem(last=False)
        return found

    return kept


def each_ref(found: Sequence[tuple[Artifact, float]], space: Thread) -> Iterator[Artifact]:
    """The artifacts under refs that are theirs alone: another thread's have its key before them."""
    for artifact, _ in found:
        own = artifact.thread == space.key
        ref = artifact.ref if own else f"{artifact.thread[:8]}/{artifact.ref}"
        yield artifact.model_copy(update={"ref": ref, "turn": 0})
