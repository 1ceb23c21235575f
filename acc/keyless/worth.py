"""What is worth keeping: the later value of a sentence, and whether a fact will be needed.

Both are linear classifiers: of a sentence over its words and values, of a fact over its structure and the
value of its words. The training data are labelled conversations of many trades
(``benchmarks/keyless/train_worth.py`` and ``train_needed.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from acc.keyless.classifiers import Linear, words_of
from acc.keyless.entities import named_in
from acc.keyless.sentences import plain
from acc.keyless.values import values_in
from acc.text.wording import marks

WORTH = "worth.npz"

GRADES = (0.0, 0.4, 1.0)
"""The value of a sentence with no, some, and much later use."""


@lru_cache(maxsize=1024)
def worth_of(words: str) -> float:
    """The value of a sentence or a fact."""
    odds = Linear.read(WORTH).odds(worth_features(words))
    return sum(grade * p for grade, p in zip(GRADES, odds, strict=True))


def worth_features(words: str) -> frozenset[str]:
    """Names of the classifier's features."""
    tokens = words_of(plain(words))
    framed = ["^", *tokens, "$"]
    return frozenset({"", *tokens, *map(" ".join, pairwise(framed)), *_content_of(words)})


def _content_of(words: str) -> Iterator[str]:
    kinds = {value.kind for value in values_in(words)}
    named = {name.type for name in named_in(f"so {words}")}
    yield from (f"value {kind}" for kind in kinds)
    yield from (f"named {kind}" for kind in named)
    yield f"values {min(3, len(kinds))}"
    yield f"names {min(3, len(named))}"
    yield f"marks {min(4, len(marks(words)))}"
    yield f"length {min(8, len(words) // 25)}"
    yield f"asks {words.rstrip().endswith('?')}"


NEEDED = "needed.npz"

STEPS = 12
"""Number of levels of worth in the features."""


class Told(NamedTuple):
    """A fact, and the number of its sources."""

    subject: str
    predicate: str
    object: str
    status: str
    sources: int


@lru_cache(maxsize=1024)
def needed(told: Told) -> float:
    """The probability that the fact will be needed."""
    return Linear.read(NEEDED).odds(features(told))[1]


def features(told: Told) -> frozenset[str]:
    """Names of the classifier's features."""
    words = f"{told.subject} {told.predicate} {told.object}"
    said = {
        "", f"status {told.status}", f"sources {min(3, told.sources)}",
        f"predicate {told.predicate.lower()}", f"worth {int(STEPS * worth_of(words))}",
    }  # fmt: skip
    said.update(f"subject {kind}" for kind in _build(told.subject))
    said.update(f"object {kind}" for kind in _build(told.object))
    return frozenset(said)


def _build(text: str) -> Iterator[str]:
    yield from {f"value {value.kind}" for value in values_in(text)}
    yield from {f"named {name.type}" for name in named_in(f"so {text}")}
    yield f"marks {min(4, len(marks(text)))}"
    yield f"length {min(10, len(text) // 8)}"
    yield f"words {min(8, len(text.split()))}"
    yield f"capital {text[:1].isupper()}"
