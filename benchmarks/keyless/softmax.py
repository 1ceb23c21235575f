"""A sparse softmax regression in numpy: AdaGrad, averaged over the later passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Names = frozenset[str]


@dataclass(frozen=True)
class Softmax:
    """Weights by feature and class.

    Attributes:
        rows: Row of each feature.
        weights: Features by classes.
    """

    rows: dict[str, int]
    weights: NDArray[np.float64]

    def odds(self, examples: Iterable[Names]) -> NDArray[np.float64]:
        """Probabilities, examples by classes."""
        scores = np.array([self._score(names) for names in examples])
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    def _score(self, names: Names) -> NDArray[np.float64]:
        found = [self.rows[name] for name in names if name in self.rows]
        return np.asarray(self.weights[found].sum(axis=0) / np.sqrt(max(1, len(found))))


def fit(
    examples: Sequence[Names],
    labels: Sequence[int],
    classes: int,
    *,
    least: int = 2,
    passes: int = 14,
    rate: float = 0.25,
    decay: float = 5e-4,
    seed: int = 7,
) -> Softmax:
    """Train on ``examples``; features that fewer than ``least`` of them have are left out."""
    counts = Counter(name for names in examples for name in names)
    rows = {
        name: row for row, name in enumerate(sorted(n for n, c in counts.items() if c >= least))
    }
    places = [
        np.array(sorted(rows[n] for n in names if n in rows), dtype=np.intp) for names in examples
    ]
    weights = np.zeros((len(rows), classes))
    squares = np.full((len(rows), classes), 1e-2)
    total = np.zeros_like(weights)
    rng = np.random.default_rng(seed)
    for done in range(passes):
        for at in rng.permutation(len(places)):
            _step(weights, squares, places[at], labels[at], rate, decay)
        if done >= passes // 2:
            total += weights
    return Softmax(rows, total / (passes - passes // 2))


def _step(
    weights: NDArray[np.float64],
    squares: NDArray[np.float64],
    place: NDArray[np.intp],
    label: int,
    rate: float,
    decay: float,
) -> None:
    scale = 1 / np.sqrt(max(1, len(place)))
    scores = weights[place].sum(axis=0) * scale
    odds = np.exp(scores - scores.max())
    odds /= odds.sum()
    odds[label] -= 1
    slope = odds * scale
    squares[place] += slope * slope
    weights[place] -= rate * (slope / np.sqrt(squares[place]) + decay * weights[place])
