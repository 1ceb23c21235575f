"""The act of a clause: it states a rule, lifts one, asks, reports, jokes.

The geometric mean of two classifiers: a linear one over word n-grams, and a convolutional network
(`acc.keyless.network`). The training sentences come from many trades and carry labels written for this purpose
(``benchmarks/keyless/train_acts.py``, ``train_convolution.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Literal, get_args

from acc.keyless.network import Network
from acc.keyless.weights import Linear, words_of
from acc.keyless.words import Clause

Act = Literal[
    "rule", "lift", "change", "goal", "done", "ask", "fact", "guess", "question", "reported",
    "hypothetical", "past", "joke", "assent", "other",
]  # fmt: skip
"""The acts: the labels of the training sentences."""

ACTS: tuple[Act, ...] = get_args(Act)

LEAST = 1e-6
"""Lower bound of a probability. Neither classifier can rule an act out."""

_LONG_WORD, _WORD_HEAD, _WORD_END = 5, 5, 3


@lru_cache(maxsize=1024)
def acts(clause: Clause) -> Mapping[Act, float]:
    """Return the probability of each act; they sum to 1."""
    odds = mixed(Linear.read("acts").odds(features(clause)), Network.read().odds(clause))
    return MappingProxyType(dict(zip(ACTS, odds, strict=True)))


def mixed(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """Return the geometric mean of two classifiers' probabilities; they sum to 1."""
    raised = [math.sqrt(max(a, LEAST) * max(b, LEAST)) for a, b in zip(one, other, strict=True)]
    total = sum(raised)
    return [value / total for value in raised]


def features(clause: Clause) -> frozenset[str]:
    """Return the features of the linear classifier: n-grams, heads and ends of words, and what stands around."""
    tokens = words_of(clause.words)
    framed = ["^", *tokens, "$"]
    found = {"", *tokens}
    found.update(map(" ".join, pairwise(framed)))
    found.update(map(" ".join, zip(framed, framed[1:], framed[2:], strict=False)))
    found.update(f"{a} _ {b}" for a, b in zip(framed, framed[2:], strict=False))
    found.update(f"head {t[:_WORD_HEAD]}" for t in tokens if len(t) > _LONG_WORD)
    found.update(f"end {t[-_WORD_END:]}" for t in tokens if len(t) >= _LONG_WORD)
    return frozenset(found.union(_place(clause)))


def _place(clause: Clause) -> Iterator[str]:
    before, after = words_of(clause.before), words_of(clause.after)
    yield f"place {bool(before)} {bool(after)}"
    yield f"before {before[-1] if before and before[-1] in '?!' else bool(before)}"
    yield f"after {' '.join(after[:2])}"
    for token in before[:2]:
        yield f"before {token}"
