"""BM25 in context over the part of a thread that was read, whichever part that is.

The score is that of `acc.text.ranking`, whose documents come in the order of the thread. Here they come in any order:
the newest ones are read at the first question, older ones when a store proposes them. Contexts are found by the
numbers of the rows, so that what lies between two of them and was not read counts as distance.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from acc.text.ranking import LexicalIndex, Weights, rarity, terms

Numbers = NDArray[np.float64]
NEAR = 2
"""Difference of the numbers of texts that follow each other: between them, the call of a tool is left out."""

_REACH = 48  # 0.8 to this power is 0.00002


class Rarities(dict[str, float]):
    """The weight of each term: the logarithm of how few of the texts have it. It is found when it is asked for.

    Args:
        holders: The numbers of the texts that have a term, in order.
        count: How many texts count; later ones do not.
    """

    def __init__(self, holders: Mapping[str, Sequence[int]], count: int) -> None:
        super().__init__()
        self._holders, self._count = holders, count

    def __missing__(self, term: str) -> float:
        df = bisect_left(self._holders.get(term, ()), self._count)
        self[term] = found = rarity(self._count, df)
        return found


class PartialIndex:
    """Texts with the numbers of their rows, added in any order; those of one row in theirs. Not thread-safe."""

    def __init__(self) -> None:
        self._weights = Weights()
        self._texts = LexicalIndex(self._weights)
        self._holders: dict[str, array[int]] = {}
        self._rows = array("q")

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: int, text: str, before: str = "") -> None:
        """Add a text of a row, with the text before it in the thread."""
        self._texts.add(text, before)
        for term in frozenset(terms(text)):
            self._holders.setdefault(term, array("i")).append(len(self._rows))
        self._rows.append(row)

    def rarities(self) -> Rarities:
        """Return the weights of terms in the texts that are there now."""
        return Rarities(self._holders, len(self))

    def worths(self, weights: Mapping[str, float]) -> Numbers:
        """Return for each text, in the order of adding, the weights together of those terms that it has."""
        found = np.zeros(len(self))
        for term, weight in weights.items():
            found[np.array(self._holders.get(term, ()), int)] += weight
        return found

    def own_scores(self, question: str) -> Numbers:
        """Return the BM25 score of each text, in the order of adding."""
        return self._texts.bm25(question)

    def in_context(self, own: Numbers) -> Numbers:
        """Return the scores with their share of those around them, in the thread's order."""
        rows = np.array(self._rows)
        order = np.argsort(rows, kind="stable")
        scores, rows, spread = own[order], rows[order], np.zeros(len(own))
        for step in range(1, min(_REACH, len(own))):
            is_near = rows[step:] - rows[:-step] <= NEAR * step
            faded = self._weights.decay**step * is_near
            spread[step:] += faded * scores[:-step]
            spread[:-step] += faded * scores[step:]
        found = np.zeros(len(own))
        found[order] = np.where(scores > 0, scores + self._weights.share * spread, 0)
        return found

    def best(self, scores: Numbers, limit: int) -> list[int]:
        """Return the numbers of the highest scores above 0, the best first; the later row wins ties."""
        order = np.lexsort((-np.arange(len(self)), -np.array(self._rows), -scores))[:limit].tolist()
        return [number for number in order if scores[number] > 0]
