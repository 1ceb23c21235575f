"""The act of a clause, by a small convolutional network over the vectors of its pieces.

The network handles words that no training sentence has through similar words, which word n-grams cannot. A large
encoder taught it.

    x_i = vector of piece i + vector of its segment (the clause, the text before, the text after)
    a = relu(conv3(x));  b = a + relu(conv3(a));  c = b + relu(conv3 of every other place of b)
    p = softmax(W2 relu(W1 [max of c, mean of c over the clause; max of c around it; c_0]))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acc.keyless.weights import nibbles, softmax, stored, words_of
from acc.keyless.words import Clause, content_word

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
    words = (w for w in words_of(text) if w.isalpha() and content_word(w))
    read = [pieces(word, network.places) for word in dict.fromkeys(words)]
    if not read:
        return np.zeros((0, network.vectors.shape[1]), np.float32)
    means = np.array([network.vectors[at].mean(axis=0) for at in read], np.float32)
    lengths = np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-6)
    unit: Floats = (means / lengths).astype(np.float32)
    return unit
