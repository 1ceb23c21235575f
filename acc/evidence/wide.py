"""The wider scope of recall: a user's documents and other threads, by the vectors in the store.

A namespace's records are known by computable ids, so their vectors are read by id, once, and
kept as one matrix: a query costs one product, whatever else the store holds. The vectors carry
no inverse document frequency; the query weighs its own buckets by how many of the namespace's
records have them. The best `CANDIDATES` are then ranked exactly, by BM25 over their texts, and by a
dense embedder beside it where one is given: minmax(bm25) + weight * minmax(dense).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acc.branch import OVERTAKEN
from acc.evidence.directory import threads_in
from acc.evidence.rows import Rows
from acc.evidence.shelf import Shelf
from acc.evidence.tombstones import managed
from acc.ranking import LexicalIndex
from acc.state import ROOT
from acc.store import Artifact, ArtifactStore, Thread, artifact_id
from acc.stores.embedding import embed

if TYPE_CHECKING:
    from acc.evidence.similarity import Vector

Embedder = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Texts as dense vectors of one length."""

CANDIDATES = 48
"""Records that the vectors propose for exact ranking; reading and ranking them is the cost."""

KNOWN = 4_096
"""Records kept in memory at the most."""

_READ = 300
_FIRST_READ = 16
_KINDS = ("observation", "set_aside", "document")


@dataclass(frozen=True)
class Dense:
    """A dense embedder, and how much it counts beside BM25.

    Attributes:
        embedder: Embeds texts.
        weight: alpha of the weighted score; 0.5 to 1 measured best.
        most: Vectors kept, so that a text is embedded once.
    """

    embedder: Embedder
    weight: float = 0.7
    most: int = 20_000
    _known: OrderedDict[str, Vector] = field(default_factory=OrderedDict, compare=False)

    def scores(self, query: str, artifacts: Sequence[Artifact]) -> NDArray[np.float64]:
        """The cosine of each artifact's text with ``query``."""
        missing = [a for a in artifacts if a.id not in self._known]
        fresh = self.embedder([query, *(a.text for a in missing)])
        asked = _unit(fresh[0])
        for artifact, vector in zip(missing, fresh[1:], strict=True):
            self._known[artifact.id] = _unit(vector)
        found = [float(self._known[a.id] @ asked) for a in artifacts]
        while len(self._known) > self.most:
            self._known.popitem(last=False)
        return np.array(found)


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
        self._dense = dense
        self._threads = Shelf(store, space, "threads")
        self._next: dict[str, int] = {f"{space.key}.documents": 1}
        self._rows = Rows()
        self._known: dict[str, Artifact] = {}
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
        found = self._proposed(query, f"{without.key}." if without is not None else None)
        if not found:
            return []
        scores = self._exact(query, found)
        order = sorted(range(len(found)), key=lambda at: (-scores[at], -at))
        best = scores[order[0]]
        return [(found[at], float(scores[at] / best)) for at in order[:most] if scores[at] > 0]

    def _proposed(self, query: str, without: str | None) -> list[Artifact]:
        vector = np.frombuffer(embed(query), np.float32)
        matrix = self._rows.matrix
        if not len(matrix) or vector[0] < 0:
            return []
        having = self._having
        asked = vector * np.log1p((len(matrix) - having + 0.5) / (having + 0.5))
        ids = self._rows.best(
            asked.astype(np.float32), self._candidates, _product,
            keep=None if without is None else lambda name: not name.startswith(without),
        )  # fmt: skip
        found = self._texts([name for name, score in ids if score > 0])
        fit = [a for a in found if a.kind in _KINDS and a.reason not in OVERTAKEN]
        return sorted(fit, key=lambda a: (a.at, a.id))

    def _texts(self, ids: Sequence[str]) -> list[Artifact]:
        """The records, those read lately from memory where nobody else may have replaced them."""
        rewrites = None if self._store.shared else getattr(self._store, "rewrites", None)
        if rewrites is None:
            return self._store.get(self._space.tenant, ids)
        if rewrites != self._rewrites:
            self._known, self._rewrites = {}, rewrites
        missing = [id_ for id_ in ids if id_ not in self._known]
        if len(self._known) + len(missing) > KNOWN:
            self._known, missing = {}, list(ids)
        self._known |= {a.id: a for a in self._store.get(self._space.tenant, missing)}
        return [self._known[id_] for id_ in ids if id_ in self._known]

    def _exact(self, query: str, found: Sequence[Artifact]) -> NDArray[np.float64]:
        index = LexicalIndex()
        for artifact in found:
            index.add(artifact.text)
        lexical = index.bm25(query)
        if self._dense is None:
            return lexical
        dense = _minmax(self._dense.scores(query, found))
        return _minmax(lexical) + self._dense.weight * dense

    def _refresh(self) -> None:
        """Read the vectors of what was added since the last look: one probe for all, as a rule.

        Where nobody else writes, and nothing was written, not even that.
        """
        revision = None if self._store.shared else getattr(self._store, "revision", None)
        if revision is not None and revision == self._seen:
            return
        self._seen = revision
        for thread in threads_in(self._threads.records()):
            self._next.setdefault(f"{thread.key}.{ROOT}", 1)
        probes = {_id(log, seq): log for log, seq in self._next.items()}
        ids = list(probes)
        grown = [
            probes[artifact.id]
            for start in range(0, len(ids), _READ)
            for artifact in self._store.get(self._space.tenant, ids[start : start + _READ])
        ]
        for log in grown:
            self._read(log)
        if grown:
            self._having = np.count_nonzero(self._rows.matrix > 0, axis=0)

    def _read(self, log: str) -> None:
        batch = _FIRST_READ
        while True:
            first = self._next[log]
            ids = [_id(log, seq) for seq in range(first, first + batch)]
            found = self._store.get(self._space.tenant, ids)
            vectors = self._store.vectors(self._space.tenant, [a.id for a in found])
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


def _unit(vector: Sequence[float]) -> Vector:
    row = np.asarray(vector, np.float32)
    length = float(np.linalg.norm(row))
    unit: Vector = row / length if length else row
    return unit


def _minmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = float(scores.min()), float(scores.max())
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


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
