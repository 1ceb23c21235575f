"""The wider scope of recall: documents, and the user's other threads.

The vectors in the store propose candidates (`acc.evidence.holding`); the best `CANDIDATES` are then ranked
exactly, by BM25 over their texts. Where a dense embedder is given (`acc.evidence.dense`), its own best are
candidates too, and all are ranked by minmax(bm25) + weight * minmax(dense).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acc.asking import only_repeats
from acc.evidence.dense import Dense
from acc.evidence.exact import WordCounts
from acc.evidence.holding import KNOWN, Holding, Holdings, refresh
from acc.evidence.shelf import document_spaces, namespace_of
from acc.store import Artifact, ArtifactStore, Thread
from acc.terms import terms

if TYPE_CHECKING:
    from acc.evidence.similarity import Vector

CANDIDATES = 48
"""Records that the vectors propose for exact ranking; reading and ranking them is the cost."""

Found = list[tuple[Artifact, float]]
"""Records with their scores over the best one's, best first; of equals the later first."""


class WideScope:
    """The documents that a namespace may see, and what was said in its threads, found by words.

    It looks at all threads of the namespace. Whoever recalls for a conversation asks
    `Thread.has_user` first: where no user is known, other threads are other people's.

    Args:
        store: Any store.
        space: The namespace.
        candidates: How many the vectors propose for exact ranking.
        dense: Ranks beside BM25.
        kept: Where the vectors that were read stay.
        words: Words of records that were ranked before.
    """

    def __init__(
        self,
        store: ArtifactStore,
        space: Thread,
        candidates: int = CANDIDATES,
        dense: Dense | None = None,
        *,
        kept: Holdings | None = None,
        words: WordCounts | None = None,
    ) -> None:
        self._candidates = candidates
        self._dense = dense
        self._words = words or WordCounts(KNOWN)
        holdings = kept or Holdings()
        self._documents = [
            holdings.of(store, seen, "documents", dense) for seen in document_spaces(space)
        ]
        self._threads = holdings.of(store, namespace_of(space), "threads", dense)

    def search(self, query: str, most: int) -> Found:
        """The best ``most`` of all records, ranked together.

        Raises:
            StoreError: The store cannot be read.
        """
        holdings = [*self._documents, self._threads]
        return self._ranked(query, holdings, self._asked(query, holdings), None)[:most]

    def recalled(
        self, query: str, documents: int, threads: int, without: Thread
    ) -> tuple[Found, Found]:
        """The best passages of documents, and the best that other threads say.

        No two are in the same words, and none only repeats the query.

        Args:
            query: The words.
            documents: Passages at the most; 0 looks at none.
            threads: Records of other threads at the most; 0 looks at none.
            without: The thread that is not looked at.

        Raises:
            StoreError: The store cannot be read.
        """
        near = self._documents if documents else []
        far = [self._threads] if threads else []
        if not query.strip():
            return [], []
        asked = self._asked(query, [*near, *far])
        found = self._ranked(query, near, asked, None)
        said = self._ranked(query, far, asked, f"{without.key}.")
        return _telling(query, found)[:documents], _telling(query, said)[:threads]

    def _asked(self, query: str, holdings: Sequence[Holding]) -> Vector | None:
        """The query's dense vector, if there is one; the holdings are in step afterwards."""
        refresh(holdings)
        return self._dense.asked(query) if self._dense is not None else None

    def _ranked(
        self, query: str, holdings: Sequence[Holding], asked: Vector | None, without: str | None
    ) -> Found:
        keep = None if without is None else lambda name: not name.startswith(without)
        found = [a for h in holdings for a in h.proposed(query, asked, self._candidates, keep)]
        if not found:
            return []
        found.sort(key=lambda a: (a.at, a.id))
        scores = self._scores(query, found, holdings, asked)
        order = sorted(range(len(found)), key=lambda at: (-scores[at], -at))
        best = scores[order[0]] or 1.0
        return [(found[at], float(scores[at] / best)) for at in order if scores[at] > 0]

    def _scores(
        self,
        query: str,
        found: Sequence[Artifact],
        holdings: Sequence[Holding],
        asked: Vector | None,
    ) -> NDArray[np.float64]:
        lexical = self._words.bm25(query, found)
        if self._dense is None or asked is None:
            return lexical
        ids = [a.id for a in found]
        dense = sum((h.dense_scores(asked, ids) for h in holdings), np.zeros(len(ids)))
        return _minmax(lexical) + self._dense.weight * _minmax(dense)


def _minmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = float(scores.min()), float(scores.max())
    if high > low:
        return (scores - low) / (high - low)
    return np.full_like(scores, float(high > 0))  # one alone, or all alike: as good as the best


def _telling(query: str, found: Found) -> Found:
    """``found`` without what only repeats the query, and of records in the same words the best."""
    first: dict[tuple[str, ...], tuple[Artifact, float]] = {}
    for artifact, score in found:
        if not only_repeats(artifact.text, query):
            first.setdefault(terms(artifact.text), (artifact, score))
    best = max((score for _, score in first.values()), default=1.0)
    return [(artifact, score / best) for artifact, score in first.values()]


def each_ref(found: Found, space: Thread) -> Iterator[Artifact]:
    """The artifacts under refs that are theirs alone: another thread's have its key before them.

    A document's ref comes from its hash, and is the same for whoever may see it.
    """
    for artifact, _ in found:
        own = artifact.kind == "document" or artifact.thread == space.key
        ref = artifact.ref if own else f"{artifact.thread[:8]}/{artifact.ref}"
        yield artifact.model_copy(update={"ref": ref, "turn": 0})
