"""How likely a fact is needed later on: a linear classifier over how it is built, not over its words.

Who told it, what kind of value it gives, of what kind of thing, how long it is, and what the
words are worth (`acc.keyless.worth`). Trained on the facts of labelled conversations:
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
"""Steps of worth that are told apart."""


class Told(NamedTuple):
    """A fact, and how many texts it rests on."""

    subject: str
    predicate: str
    object: str
    status: str
    sources: int


@lru_cache(maxsize=1024)
def needed(told: Told) -> float:
    """The probability that somebody will need it."""
    return Linear.read(WEIGHTS).odds(features(told))[1]


def features(told: Told) -> frozenset[str]:
    """Names of what the classifier looks at."""
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
