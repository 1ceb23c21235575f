"""The act of a clause: it states a rule, lifts one, asks, reports, jokes; and the classifiers, on numpy alone.

The geometric mean of two classifiers tells the act: a linear one over word n-grams, and a small convolutional network
over the vectors of word pieces, which knows words that no training sentence has by similar ones:

    x_i = vector of piece i + vector of its segment (the clause, the text before, the text after)
    a = relu(conv3(x));  b = a + relu(conv3(a));  c = b + relu(conv3 of every other place of b)
    p = softmax(W2 relu(W1 [max of c, mean of c over the clause; max of c around it; c_0]))

The training sentences come from many trades and carry labels written for this purpose (``benchmarks/keyless``). All
weights stand in ``weights.npz``, which `benchmarks/keyless/pack.py` writes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise
from threading import RLock
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from acc.compress.keyless.words import Clause, content, words_of

_ALONE = RLock()
"""The setting is global to the process. Overlapping threads could restore each other's value."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit the linear algebra of this process to one thread within the block: the matrices are small."""
    with _ALONE, _libraries().limit(limits=1, user_api="blas"):
        yield


_libraries = cache(ThreadpoolController)


@cache
def stored(name: str) -> Mapping[str, NDArray[Any]]:
    """Return the arrays whose names begin with ``name`` and a point, without that beginning."""
    path = files("acc.compress.keyless").joinpath("weights.npz")
    with path.open("rb") as file, np.load(file) as found:
        names = [each for each in found.files if each.startswith(f"{name}.")]
        return {each.removeprefix(f"{name}."): found[each] for each in names}


def nibbles(packed: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the two numbers from -8 to 7 of each byte, side by side."""
    both = np.stack([packed >> 4, packed & 15], axis=-1).astype(np.float32) - 8
    return both.reshape(len(packed), -1)


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


OPENS, ENDS, NUMBER, UNKNOWN = "[CLS]", "[SEP]", "#", "[UNK]"
LONGEST_WORD = 40
LONGEST, BEFORE, AFTER = 60, 16, 12
"""Maximum pieces read of the clause, of the text before it, and of the text after it."""

Floats = NDArray[np.float32]


class Layer(NamedTuple):
    """A linear layer with ReLU."""

    weights: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        """Return the outputs, negative values set to 0."""
        outputs: Floats = x @ self.weights + self.bias
        return np.maximum(outputs, 0, out=outputs)


class Network(NamedTuple):
    """The network: the vocabulary of pieces with a vector each, and the layers."""

    places: Mapping[str, int]
    vectors: Floats
    segments: Floats
    convolutions: tuple[Layer, Layer, Layer]
    hidden: Layer
    last: Layer

    @classmethod
    @cache
    def read(cls) -> Network:
        """Load the network that ships with the package."""
        found = stored("network")
        names = found["pieces"].tobytes().decode().split("\n")
        one, two, three, hidden, last = (
            Layer(
                found[f"{name}_weights"].astype(np.float32)
                * found[f"{name}_scale"].astype(np.float32),
                found[f"{name}_bias"].astype(np.float32),
            )
            for name in ("conv1", "conv2", "conv3", "hidden", "last")
        )
        vectors = nibbles(found["vectors"]) * found["vectors_scale"].astype(np.float32)[:, None]
        places = {name: place for place, name in enumerate(names)}
        segments = found["segments"].astype(np.float32)
        return cls(places, vectors, segments, (one, two, three), hidden, last)

    def odds(self, clause: Clause) -> list[float]:
        """Return the probability of each act."""
        read, segments = framed(clause, self.places)
        length = segments.count(0)
        one, two, three = self.convolutions
        a = one(_beside(self.vectors[read] + self.segments[segments], 1))
        b = a + two(_beside(a, 1))
        c = b + three(_beside(b, 2))
        mine, around = c[:length], c[length:]
        pooled = np.concatenate([mine.max(axis=0), mine.mean(axis=0), around.max(axis=0), c[0]])
        return softmax(self.hidden(pooled) @ self.last.weights + self.last.bias)


def framed(clause: Clause, places: Mapping[str, int]) -> tuple[list[int], list[int]]:
    """Return the pieces that the network reads of a clause, with the segment of each: 0 for the clause itself."""
    edge = places[ENDS]
    own = [places[OPENS], *pieces(clause.words, places)[:LONGEST], edge]
    before, after = pieces(clause.before, places)[-BEFORE:], pieces(clause.after, places)[:AFTER]
    segments = [0] * len(own) + [1] * (len(before) + 1) + [2] * (len(after) + 1)
    return [*own, *before, edge, *after, edge], segments


def pieces(text: str, places: Mapping[str, int]) -> list[int]:
    """Return the indexes of the pieces of ``text``, in order."""
    return [places[piece] for piece in _pieces_of(text, places)]


def _pieces_of(text: str, known: Mapping[str, int]) -> Iterator[str]:
    for token in words_of(text):
        if token[0] == NUMBER:
            yield NUMBER
        else:
            for word in token.replace("'", " ' ").split():
                yield from _cut(word[:LONGEST_WORD], known)


def _cut(word: str, known: Mapping[str, int]) -> Iterator[str]:
    start = 0
    while start < len(word):
        opening = "##" if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if opening + word[start:end] in known), None)
        if end is None:
            yield UNKNOWN
            return
        yield opening + word[start:end]
        start = end


def _beside(x: Floats, apart: int) -> Floats:
    """Return each position joined with those ``apart`` before and after it."""
    edge = np.zeros((apart, x.shape[1]), np.float32)
    wide = np.concatenate([edge, x, edge])
    return np.concatenate([wide[: len(x)], x, wide[2 * apart :]], axis=1)


@lru_cache(maxsize=256)
def word_vectors(text: str) -> Floats:
    """Return a unit vector for each content word of ``text``: the normalised mean of its pieces' vectors."""
    network = Network.read()
    words = (w for w in words_of(text) if w.isalpha() and content(w))
    read = [pieces(word, network.places) for word in dict.fromkeys(words)]
    if not read:
        return np.zeros((0, network.vectors.shape[1]), np.float32)
    means = np.array([network.vectors[at].mean(axis=0) for at in read], np.float32)
    lengths = np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-6)
    unit: Floats = (means / lengths).astype(np.float32)
    return unit


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
