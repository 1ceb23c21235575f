"""Vectors of texts, and how alike they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from acc.artifacts.embedding import HASHED_WORDS

Vector = NDArray[np.float32]
Vectoriser = Callable[[str], Sequence[float]]
"""Embeds one text. All vectors have the same length."""


class Likeness(Protocol):
    """Similarity of a vector to each row of a matrix; 1 for equal vectors."""

    def __call__(self, vector: Vector, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return one number per row: shapes (d,) and (n, d) give (n,)."""
        ...


_WORDS = HASHED_WORDS


def lexical(text: str) -> Sequence[float]:
    """Return the keyless vector of a text; all zeros for a text without words."""
    found: list[float] = _WORDS.embed([text])[0].tolist()
    return found if found[0] >= 0 else [0.0] * len(found)


def cosine(vector: Vector, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine with each row; 0 where either vector has length 0."""
    lengths = np.linalg.norm(rows, axis=1) * float(np.linalg.norm(vector))
    products: NDArray[np.float32] = rows @ vector
    found: NDArray[np.float32] = np.zeros_like(products)
    np.divide(products, lengths, out=found, where=lengths > 0)
    return found


def texts_alike(one: str, other: str) -> float:
    """Return the cosine of two texts' keyless vectors; 1 for equal texts."""
    if one == other:
        return 1.0
    pair = [np.asarray(lexical(text), np.float32) for text in (one, other)]
    return float(cosine(pair[0], pair[1][None, :])[0])


class Rows:
    """Named vectors of one length, in insertion order."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._matrix: NDArray[np.float32] = np.empty((0, 0), np.float32)

    def add(self, name: str, vector: Sequence[float]) -> None:
        """Append a vector."""
        row = np.asarray(vector, np.float32)
        count = len(self._names)
        if count == len(self._matrix):
            grown = np.zeros((max(16, 2 * count), len(row)), np.float32)
            grown[:count] = self._matrix[:count] if count else 0
            self._matrix = grown
        self._matrix[count] = row
        self._names.append(name)

    def remove(self, names: Collection[str]) -> None:
        """Remove the vectors with these names."""
        kept = [at for at, name in enumerate(self._names) if name not in names]
        self._matrix = self._matrix[kept]
        self._names = [self._names[at] for at in kept]

    def best(self, vector: Sequence[float], k: int, likeness: Likeness) -> list[tuple[str, float]]:
        """Return the ``k`` most similar names with scores, best first; later vectors win ties."""
        if not self._names or k < 1:
            return []
        scores = likeness(np.asarray(vector, np.float32), self._matrix[: len(self._names)])
        most = min(k, len(scores))
        least = np.partition(scores, -most)[-most]
        found = np.flatnonzero(scores >= least)
        ranked = sorted((int(at) for at in found), key=lambda at: (-scores[at], -at))[:most]
        return [(self._names[at], float(scores[at])) for at in ranked]
