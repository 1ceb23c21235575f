"""A softmax over summed weights of named features, as the package stores it.

    p(class) = exp(z_class) / sum of exp(z),   z = sum of the features' weights / sqrt(their number)

Features are kept by a number of 32 bits, weights as bytes; numpy alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)*|\d[\d.,:/]*\d|[^\s_]")


class Linear(NamedTuple):
    """Weights by feature and class.

    Attributes:
        rows: Row of each feature's number.
        weights: Features by classes.
        scale: What a weight of 1 stands for.
    """

    rows: Mapping[int, int]
    weights: NDArray[np.int8]
    scale: float

    @classmethod
    @cache
    def read(cls, name: str) -> Self:
        """Weights of the package."""
        return cls.load(files("acc.compressors.rules").joinpath(name))

    @classmethod
    def load(cls, path: Traversable) -> Self:
        """The weights stored in a file."""
        with path.open("rb") as file:
            stored = np.load(file)
            rows = {int(number): row for row, number in enumerate(stored["keys"])}
            return cls(rows, stored["weights"], float(stored["scale"]))

    def odds(self, features: frozenset[str]) -> list[float]:
        """The probability of each class; they sum to 1."""
        found = [row for row in map(self.rows.get, map(key, features)) if row is not None]
        sums = self.weights[found].sum(axis=0, dtype=np.int64) * self.scale
        scores = sums / np.sqrt(max(1, len(found)))
        raised = np.exp(scores - scores.max())
        odds: list[float] = (raised / raised.sum()).tolist()
        return odds


def key(name: str) -> int:
    """The number by which the weights of a feature are stored."""
    return crc32(name.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=1024)
def words_of(text: str) -> tuple[str, ...]:
    """Words and marks in small letters; numbers all look alike."""
    return tuple(
        token if not token[0].isdigit() else "#:#" if ":" in token else "#"
        for token in _TOKEN.findall(text.lower())
    )
