"""Boosted decision trees, evaluated: all trees and all rows at once, in numpy alone.

    p(row) = 1 / (1 + exp(-(bias + sum over trees of the value of the leaf that row reaches)))

(Friedman, "Greedy function approximation: a gradient boosting machine", 2001.)
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Trees:
    """Nodes of all trees in one row of arrays; a leaf leads to itself.

    Attributes:
        roots: Node at which each tree begins.
        feature: Column that a node looks at.
        threshold: At most this goes left.
        left: Node to the left.
        right: Node to the right.
        value: What a leaf adds; 0 for inner nodes.
        depth: Steps from a root to its furthest leaf.
        bias: Log-odds to begin with.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int16]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float32]
    depth: int
    bias: float

    @classmethod
    @cache
    def read(cls, name: str) -> Self:
        """Trees as the package holds them."""
        with files("acc.compressors.rules").joinpath(name).open("rb") as file:
            stored = np.load(file)
            found: dict[str, Any] = {field.name: stored[field.name] for field in fields(cls)}
        return cls(**{**found, "depth": int(found["depth"]), "bias": float(found["bias"])})

    @cached_property
    def _steps(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Column of each node; and for each the node to its right, then the one to its left."""
        ways = np.column_stack([self.right, self.left]).astype(np.intp).ravel()
        return self.feature.astype(np.intp), ways

    def odds(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each row."""
        count, width = rows.shape
        flat, first = rows.astype(np.float32).ravel(), width * np.arange(count)[:, None]
        feature, ways = self._steps
        at = np.broadcast_to(self.roots, (count, len(self.roots)))
        for _ in range(self.depth):
            goes_left = flat.take(first + feature.take(at)) <= self.threshold.take(at)
            at = ways.take(2 * at + goes_left)
        return np.asarray(
            1 / (1 + np.exp(-(self.bias + self.value.take(at).sum(axis=1, dtype=np.float64))))
        )
