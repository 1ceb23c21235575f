"""Exact ranking of a few records by BM25, whose words are counted once and not at each query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from acc.ranking import Weights, rarity, saturation
from acc.store import Artifact
from acc.terms import terms


class WordCounts:
    """How often each word stands in records that were ranked lately.

    Args:
        most: Records that are remembered at the most.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._of: dict[str, tuple[str, Counter[str], int]] = {}

    def bm25(self, query: str, artifacts: Sequence[Artifact]) -> NDArray[np.float64]:
        """The scores that `acc.ranking.LexicalIndex.bm25` gives to these records alone."""
        if len(self._of) + len(artifacts) > self._most:
            self._of = {}
        counted = [self._counted(artifact) for artifact in artifacts]
        weights, count = Weights(), len(counted)
        lengths = np.array([length for _, length in counted], np.float64)
        scale = saturation(weights, lengths, float(lengths.sum()))
        scores = np.zeros(count)
        for term in dict.fromkeys(terms(query)):
            tf = np.array([words.get(term, 0) for words, _ in counted], np.float64)
            if df := int(np.count_nonzero(tf)):
                scores += tf / (scale + tf) * rarity(weights, count, df)
        return scores

    def _counted(self, artifact: Artifact) -> tuple[Counter[str], int]:
        known = self._of.get(artifact.id)
        if known is None or known[0] != artifact.text:  # a tombstone may have taken its place
            words = Counter(terms(artifact.text))
            known = self._of[artifact.id] = (artifact.text, words, words.total())
        return known[1], known[2]
