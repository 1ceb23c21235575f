"""The probability that a fact is needed later: a linear classifier over its structure.

The features are the fact's status, the number of sources, the kinds and lengths of its values, and
the value of its words (`acc.keyless.worth`). The training data are facts of labelled conversations:
``python benchmarks/keyless/train_needed.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from acc.keyless.entities import named_in
from acc.keyless.values import values_in
from acc.keyless.weights import Linear
from acc.keyless.worth import worth_of
from acc.text.wording import marks

WEIGHTS = "needed.npz"

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
    return Linear.read(WEIGHTS).odds(features(told))[1]


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
