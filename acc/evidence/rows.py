"""Vectors by name, as rows of one matrix that grows and shrinks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from acc.evidence.similarity import Likeness


class Rows:
    """Named vectors of one length, in the order in which they were added."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._matrix: NDArray[np.float32] = np.empty((0, 0), np.float32)

    def __len__(self) -> int:
        return len(self._names)

    def add(self, name: str, vector: Sequence[float] | NDArray[np.float32]) -> None:
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
        """Take these out."""
        kept = [at for at, name in enumerate(self._names) if name not in names]
        self._matrix = self._matrix[kept]
        self._names = [self._names[at] for at in kept]

    @property
    def matrix(self) -> NDArray[np.float32]:
        """A row for each vector."""
        return self._matrix[: len(self._names)]

    def best(
        self,
        vector: Sequence[float] | NDArray[np.float32],
        k: int,
        likeness: Likeness,
        keep: Callable[[str], bool] | None = None,
    ) -> list[tuple[str, float]]:
        """The ``k`` most alike, best first; of equals the later first. ``keep`` passes names."""
        if not self._names or k < 1:
            return []
        scores = likeness(np.asarray(vector, np.float32), self.matrix)
        if keep is not None:
            kept = np.fromiter(map(keep, self._names), np.bool_, len(self._names))
            scores = np.where(kept, scores, np.float32(-np.inf))
        most = min(k, len(scores))
        least = np.partition(scores, -most)[-most]
        found = np.flatnonzero(scores >= least)
        ranked = sorted((int(at) for at in found), key=lambda at: (-scores[at], -at))[:most]
        return [(self._names[at], float(scores[at])) for at in ranked if scores[at] > -np.inf]
