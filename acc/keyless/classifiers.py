"""Linear classifiers and boosted decision trees on numpy alone.

The trees evaluate all rows at once:

    p(row) = 1 / (1 + exp(-(bias + sum over trees of the value of the leaf that row reaches)))

(Friedman, "Greedy function approximation: a gradient boosting machine", 2001.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from threading import RLock
from typing import Any, NamedTuple, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

_ALONE = RLock()
"""The setting is global to the process. Overlapping threads could restore each other's value."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit the linear algebra of this process to one thread within the block.

    Only one caller at a time is inside.
    """
    with _ALONE, _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)*|\d[\d.,:/]*\d|[^\s_]")


class Linear(NamedTuple):
    """Weights by feature and class.

    Attributes:
        rows: The row of each feature's key.
        weights: Features by classes.
        scale: The value that a weight of 1 stands for.
    """

    rows: Mapping[int, int]
    weights: NDArray[np.int8]
    scale: float

    @classmethod
    @cache
    def read(cls, name: str) -> Self:
        """Load weights that ship with the package."""
        return cls.load(files("acc.keyless").joinpath(name))

    @classmethod
    def load(cls, path: Traversable) -> Self:
        """Load weights from a file."""
        with path.open("rb") as file:
            stored = np.load(file)
            rows = {int(number): row for row, number in enumerate(stored["keys"])}
            return cls(rows, stored["weights"], float(stored["scale"]))

    def odds(self, features: frozenset[str]) -> list[float]:
        """The probability of each class; they sum to 1."""
        found = [row for row in map(self.rows.get, map(key, features)) if row is not None]
        sums = self.weights[found].sum(axis=0, dtype=np.int64) * self.scale
        return softmax(sums / np.sqrt(max(1, len(found))))


def softmax(scores: NDArray[np.floating[Any]]) -> list[float]:
    """The scores as probabilities, which sum to 1."""
    raised = np.exp(scores - scores.max())
    odds: list[float] = (raised / raised.sum()).tolist()
    return odds


def key(name: str) -> int:
    """The key of a feature's weights."""
    return crc32(name.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=1024)
def words_of(text: str) -> tuple[str, ...]:
    """Lower-case words and marks. All numbers map to one token, all clock times to another."""
    return tuple(
        token if not token[0].isdigit() else "#:#" if ":" in token else "#"
        for token in _TOKEN.findall(text.lower())
    )


@dataclass(frozen=True)
class Trees:
    """Boosted trees, with the nodes of all trees in shared arrays. A leaf points to itself.

    Attributes:
        roots: First node of each tree.
        feature: Column that a node tests.
        threshold: Values up to this one go left.
        left: Node to the left.
        right: Node to the right.
        value: Value of a leaf; 0 for inner nodes.
        depth: Maximum steps from a root to a leaf.
        bias: Initial log-odds.
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
        """Load trees that ship with the package."""
        with files("acc.keyless").joinpath(name).open("rb") as file:
            stored = np.load(file)
            found: dict[str, Any] = {field.name: stored[field.name] for field in fields(cls)}
        return cls(**{**found, "depth": int(found["depth"]), "bias": float(found["bias"])})

    @cached_property
    def _steps(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The column of each node; and for each node its right child, then its left child."""
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
