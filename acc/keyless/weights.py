"""The classifiers on numpy alone: linear ones, boosted trees, and where their weights are.

All weights stand in one file, ``weights.npz``. `benchmarks/keyless_next.py --pack` writes it from trained ones: the
rarer features of the acts are left out and vectors are stored in four bits, which costs 0.002 of the accuracy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from threading import RLock
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

_ALONE = RLock()
"""The setting is global to the process. Overlapping threads could restore each other's value."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit the linear algebra of this process to one thread within the block: the matrices are small."""
    with _ALONE, _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def stored(name: str) -> Mapping[str, NDArray[Any]]:
    """Return the arrays whose names begin with ``name`` and a point, without that beginning."""
    with (
        files("acc.keyless").joinpath("weights.npz").open("rb") as file,
        np.load(file) as found,
    ):
        names = [each for each in found.files if each.startswith(f"{name}.")]
        return {each.removeprefix(f"{name}."): found[each] for each in names}


def nibbles(packed: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the two numbers from -8 to 7 of each byte, side by side."""
    both = np.stack([packed >> 4, packed & 15], axis=-1).astype(np.float32) - 8
    return both.reshape(len(packed), -1)


_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)*|\d[\d.,:/]*\d|[^\s_]")


@lru_cache(maxsize=1024)
def words_of(text: str) -> tuple[str, ...]:
    """Return lower-case words and marks. All numbers are one token, all clock times another."""
    return tuple(
        token if not token[0].isdigit() else "#:#" if ":" in token else "#"
        for token in _TOKEN.findall(text.lower())
    )


class Linear(NamedTuple):
    """Weights by feature and class."""

    rows: Mapping[int, int]
    weights: NDArray[np.int8]
    scale: float

    @classmethod
    @cache
    def read(cls, name: str) -> Linear:
        """Load the weights called ``name``."""
        found = stored(name)
        rows = {int(number): row for row, number in enumerate(found["keys"])}
        return cls(rows, found["weights"], float(found["scale"]))

    def odds(self, features: frozenset[str]) -> list[float]:
        """Return the probability of each class."""
        keys = (crc32(name.encode("utf-8", "surrogatepass")) for name in features)
        found = [row for row in map(self.rows.get, keys) if row is not None]
        sums = self.weights[found].sum(axis=0, dtype=np.int64) * self.scale
        return softmax(sums / np.sqrt(max(1, len(found))))


def softmax(scores: NDArray[np.floating[Any]]) -> list[float]:
    """Return the scores as probabilities."""
    raised = np.exp(scores - scores.max())
    odds: list[float] = (raised / raised.sum()).tolist()
    return odds


@dataclass(frozen=True)
class Trees:
    """Boosted trees, the nodes of all trees in shared arrays. A leaf points to itself.

    p(row) = 1 / (1 + exp(-(bias + sum over trees of the value of the leaf that the row reaches)))
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int16]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float32]
    depth: NDArray[np.int64]
    bias: NDArray[np.float64]

    @classmethod
    @cache
    def read(cls, name: str) -> Trees:
        """Load the trees called ``name``."""
        return cls(**stored(name))

    @cached_property
    def _ways(self) -> NDArray[np.intp]:
        return np.column_stack([self.right, self.left]).astype(np.intp).ravel()

    def odds(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each row."""
        count, width = rows.shape
        flat, first = rows.astype(np.float32).ravel(), width * np.arange(count)[:, None]
        at = np.broadcast_to(self.roots, (count, len(self.roots)))
        for _ in range(int(self.depth)):
            goes_left = flat.take(first + self.feature.take(at)) <= self.threshold.take(at)
            at = self._ways.take(2 * at + goes_left)
        total = float(self.bias) + self.value.take(at).sum(axis=1, dtype=np.float64)
        return np.asarray(1 / (1 + np.exp(-total)))
