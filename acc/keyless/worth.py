"""The later value of a sentence, 0 to 1: a linear classifier over its words and values.

The training sentences come from conversations of many trades, each with a label that says whether
somebody needs it thirty turns later: ``python benchmarks/keyless/train_worth.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from acc.keyless.entities import named_in
from acc.keyless.sentences import plain
from acc.keyless.values import values_in
from acc.keyless.weights import Linear, words_of
from acc.text.wording import marks

WEIGHTS = "worth.npz"

GRADES = (0.0, 0.4, 1.0)
"""The value of a sentence with no, some, and much later use."""


@lru_cache(maxsize=1024)
def worth_of(words: str) -> float:
    """The value of a sentence or a fact."""
    odds = Linear.read(WEIGHTS).odds(features(words))
    return sum(grade * p for grade, p in zip(GRADES, odds, strict=True))


def features(words: str) -> frozenset[str]:
    """Names of the classifier's features."""
    tokens = words_of(plain(words))
    framed = ["^", *tokens, "$"]
    return frozenset({"", *tokens, *map(" ".join, pairwise(framed)), *_content(words)})


def _content(words: str) -> Iterator[str]:
    kinds = {value.kind for value in values_in(words)}
    named = {name.type for name in named_in(f"so {words}")}
    yield from (f"value {kind}" for kind in kinds)
    yield from (f"named {kind}" for kind in named)
    yield f"values {min(3, len(kinds))}"
    yield f"names {min(3, len(named))}"
    yield f"marks {min(4, len(marks(words)))}"
    yield f"length {min(8, len(words) // 25)}"
    yield f"asks {words.rstrip().endswith('?')}"
