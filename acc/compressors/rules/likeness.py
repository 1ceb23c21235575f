"""How alike two texts are where they share no word: "bounce the box" and "restart the server".

Each content word of the one is compared with the word of the other that is most like it, by the
vectors of their pieces (`acc.compressors.rules.pieces`); what is hardly alike counts nothing.

    like(a, b) = mean over words u of a of max(0, max over words v of b of cos(u, v) - LEAST) / (1 - LEAST)
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acc.compressors.rules.convolution import Convolution
from acc.compressors.rules.lifting import GENERIC
from acc.compressors.rules.linear import words_of
from acc.wording import stems

LEAST = 0.3
"""A cosine up to which two words have nothing in common."""

Rows = NDArray[np.float32]


class Likeness(NamedTuple):
    """How alike two texts are, 0 to 1.

    Attributes:
        one: The mean over the words of the first, each beside the likeliest of the other.
        other: The same the other way round.
        best: The likeliest pair of words.
    """

    one: float
    other: float
    best: float


NOTHING = Likeness(0.0, 0.0, 0.0)


def likeness(one: str, other: str) -> Likeness:
    """How alike the content words of two texts are."""
    own, rest = word_vectors(one), word_vectors(other)
    if not len(own) or not len(rest):
        return NOTHING
    pairs = np.clip((own @ rest.T - LEAST) / (1 - LEAST), 0, 1)
    best = pairs.max(axis=1)
    return Likeness(float(best.mean()), float(pairs.max(axis=0).mean()), float(best.max()))


@lru_cache(maxsize=256)
def word_vectors(text: str) -> Rows:
    """A vector of length 1 for each content word of ``text``: the mean of its pieces'."""
    pieces = Convolution.read().pieces
    words = (w for w in words_of(text) if w.isalpha() and stems(w) - GENERIC)
    read = [pieces.of(word) for word in dict.fromkeys(words)]
    if not read:
        return np.zeros((0, pieces.vectors.shape[1]), np.float32)
    means = np.array([pieces.vectors[at].mean(axis=0) for at in read], np.float32)
    rows: Rows = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-6)
    return rows
