"""How alike two texts are: of tasks, to find demonstrations; of executions, to see them followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from acc.stores.embedding import DIMENSION, embed

Vector = NDArray[np.float32]
Vectoriser = Callable[[str], Sequence[float]]
"""A text as numbers; all of one length."""


class Likeness(Protocol):
    """The likeness of a vector to each row of a matrix, 1 for the same."""

    def __call__(self, vector: Vector, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """One number a row."""
        ...


def cosine(vector: Vector, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosine; 0 where either has no length."""
    lengths = np.linalg.norm(rows, axis=1) * float(np.linalg.norm(vector))
    products: NDArray[np.float32] = rows @ vector
    found: NDArray[np.float32] = np.zeros_like(products)
    np.divide(products, lengths, out=found, where=lengths > 0)
    return found


def lexical(text: str) -> Sequence[float]:
    """The keyless vector of a text (`acc.stores.embedding`); a text without terms is all zeros."""
    vector = embed(text)
    return vector if vector[0] >= 0 else [0.0] * DIMENSION


def texts_alike(one: str, other: str) -> float:
    """The cosine of two texts' keyless vectors, 1 for equal texts."""
    if one == other:
        return 1.0
    pair = [np.asarray(lexical(text), np.float32) for text in (one, other)]
    return float(cosine(pair[0], pair[1][None, :])[0])
