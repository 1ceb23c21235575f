"""The act of a sentence: it states a rule, lifts one, asks, reports, jokes.

The geometric mean of two classifiers: a linear one over word n-grams, and a convolutional network
(`acc.keyless.convolution`). The training sentences come from many trades and carry labels written for this
purpose: ``python benchmarks/keyless/train_acts.py``.

A sentence with features F is a rule, for example, with

    p(rule) = exp(z_rule) / sum over acts a of exp(z_a),   z_a = sum of w_a(f) for f in F / sqrt |F|
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Literal, get_args

from acc.keyless.classifiers import Linear, words_of
from acc.keyless.convolution import Convolution
from acc.keyless.reading import Spoken

Act = Literal[
    "rule", "lift", "change", "goal", "done", "ask", "fact", "guess", "question", "reported",
    "hypothetical", "past", "joke", "assent", "other",
]  # fmt: skip
"""The acts: the labels of the training sentences."""

ACTS: tuple[Act, ...] = get_args(Act)

WEIGHTS = "acts.npz"

LEAST = 1e-6
"""Lower bound of a probability. Neither classifier can rule an act out."""

_LONG_WORD, _WORD_HEAD, _WORD_END = 5, 5, 3


@lru_cache(maxsize=512)
def acts(spoken: Spoken) -> Mapping[Act, float]:
    """The probability of each act; they sum to 1."""
    ngrams = Linear.read(WEIGHTS).odds(features(spoken))
    odds = mixed(ngrams, Convolution.read().odds(spoken))
    return MappingProxyType(dict(zip(ACTS, odds, strict=True)))


def mixed(one: Sequence[float], other: Sequence[float]) -> list[float]:
    """The normalized geometric mean of two probability vectors."""
    raised = [math.sqrt(max(a, LEAST) * max(b, LEAST)) for a, b in zip(one, other, strict=True)]
    total = sum(raised)
    return [value / total for value in raised]


def features(spoken: Spoken) -> frozenset[str]:
    """Names of the classifier's features in a clause."""
    tokens = words_of(spoken.words)
    framed = ["^", *tokens, "$"]
    found = {"", *tokens}
    found.update(map(" ".join, pairwise(framed)))
    found.update(map(" ".join, zip(framed, framed[1:], framed[2:], strict=False)))
    found.update(f"{a} _ {b}" for a, b in zip(framed, framed[2:], strict=False))
    found.update(f"head {t[:_WORD_HEAD]}" for t in tokens if len(t) > _LONG_WORD)
    found.update(f"end {t[-_WORD_END:]}" for t in tokens if len(t) >= _LONG_WORD)
    return frozenset(found.union(_place(spoken)))


def _place(spoken: Spoken) -> Iterator[str]:
    before, after = words_of(spoken.before), words_of(spoken.after)
    yield f"place {bool(before)} {bool(after)}"
    yield f"before {before[-1] if before and before[-1] in '?!' else bool(before)}"
    yield f"after {' '.join(after[:2])}"
    for token in before[:2]:
        yield f"before {token}"
