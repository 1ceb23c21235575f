"""BM25 in context over the part of a thread that was read, whichever part that is.

The score is that of `acc.text.ranking`: BM25 of a message with the words of the one before it, and a share of the
scores around it. There, documents come in the order of the thread. Here they come in any order: the newest ones are
read at the first question, older ones when a store proposes them. Contexts are found by the numbers of the rows;
what follows a gap begins a new one.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict

import numpy as np
from numpy.typing import NDArray

from acc.text.ranking import HEAD, Weights, rarity, saturation, terms

Numbers = NDArray[np.float64]
NEAR = 2
"""Difference of the numbers of texts that follow each other: between them, the call of a tool is left out."""

_REACH = 48  # 0.8 to this power is 0.00002


class PartialIndex:
    """Texts with the numbers of their rows, added in any order; those of one row in theirs. Not thread-safe."""

    def __init__(self, weights: Weights | None = None) -> None:
        self._weights = weights or Weights()
        self._postings: defaultdict[str, tuple[array[int], array[float]]] = defaultdict(
            lambda: (array("i"), array("f"))
        )
        self._frequency: Counter[str] = Counter()
        self._lengths, self._rows = array("d"), array("q")

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: int, text: str, before: str = "") -> None:
        """Add a text of a row, with the text before it in the thread."""
        counts: dict[str, float] = dict(Counter(terms(text)))
        self._frequency.update(counts.keys())
        for term in terms(before)[:HEAD]:
            counts[term] = counts.get(term, 0.0) + self._weights.predecessor
        number = len(self)
        for term, count in counts.items():
            numbers, frequencies = self._postings[term]
            numbers.append(number)
            frequencies.append(count)
        self._lengths.append(sum(counts.values()))
        self._rows.append(row)

    def rarity(self, term: str) -> float:
        """Return the weight of a term: the logarithm of how few of the texts have it."""
        df = self._frequency.get(term, 0)
        return math.log1p((len(self) - df + 0.5) / (df + 0.5))

    def own_scores(self, question: str) -> Numbers:
        """Return the BM25 score of each text, in the order of adding."""
        scores = np.zeros(len(self))
        lengths = np.array(self._lengths)
        scale = saturation(self._weights, lengths, float(lengths.sum()))
        for term in dict.fromkeys(terms(question)):
            if term not in self._postings:
                continue
            numbers, frequencies = self._postings[term]
            at, tf = np.array(numbers), np.array(frequencies, np.float64)
            scores[at] += rarity(self._weights, len(self), len(at)) * tf / (tf + scale[at])
        return scores

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
