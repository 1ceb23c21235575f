"""The act of a sentence, by a small convolutional network over the vectors of its pieces.

The network handles words that no training sentence has through similar words, which n-grams cannot.
A large encoder taught it (``benchmarks/keyless/train_convolution.py``). It runs on numpy alone.

    x_i = vector of piece i + vector of its segment (the clause, the text before, the text after)
    a = relu(conv3(x));  b = a + relu(conv3(a));  c = b + relu(conv3 of every other place of b)
    p = softmax(W2 relu(W1 [max of c, mean of c over the clause; max of c around it; c_0]))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from acc.keyless.classifiers import softmax, words_of
from acc.keyless.reading import Spoken

OPENS, ENDS, NUMBER, UNKNOWN = "[CLS]", "[SEP]", "#", "[UNK]"

LONGEST_WORD = 40
"""Maximum letters of a word that are read."""


class Pieces(NamedTuple):
    """The vocabulary of pieces.

    Attributes:
        places: Index of each piece.
        vectors: Pieces by dimensions.
        scale: The value that a 1 in ``vectors`` stands for.
    """

    places: Mapping[str, int]
    vectors: NDArray[np.int8]
    scale: float

    def of(self, text: str) -> list[int]:
        """The indexes of the pieces of ``text``, in order."""
        return [self.places[piece] for piece in pieces_of(text, self.places)]


def pieces_of(text: str, known: Mapping[str, int]) -> Iterator[str]:
    """The pieces of ``text`` that are in ``known``. All numbers map to one piece."""
    for token in words_of(text):
        if token[0] == NUMBER:
            yield NUMBER
        else:
            for word in token.replace("'", " ' ").split():
                yield from _cut(word, known)


def _cut(word: str, known: Mapping[str, int]) -> Iterator[str]:
    word = word[:LONGEST_WORD]
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


WEIGHTS = "convolution.npz"

LONGEST, BEFORE, AFTER = 60, 16, 12
"""Maximum pieces read of the clause, of the text before it, and of the text after it."""

Floats = NDArray[np.float32]


class Layer(NamedTuple):
    """A linear layer ``x @ weights + bias`` with ReLU."""

    weights: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        """The outputs, with negative values set to 0."""
        outputs: Floats = x @ self.weights
        outputs += self.bias
        return np.maximum(outputs, 0, out=outputs)


class Convolution(NamedTuple):
    """The network.

    Attributes:
        pieces: The vocabulary and its vectors.
        segments: A vector per segment.
        convolutions: Three layers, each over three adjacent positions.
        hidden: The layer over the pooled values.
        last: The layer of the acts.
    """

    pieces: Pieces
    segments: Floats
    convolutions: tuple[Layer, Layer, Layer]
    hidden: Layer
    last: Layer

    @classmethod
    @cache
    def read(cls) -> Self:
        """Load the network that ships with the package."""
        return cls.load(files("acc.keyless").joinpath(WEIGHTS))

    @classmethod
    def load(cls, path: Traversable) -> Self:
        """Load the network from a file."""
        with path.open("rb") as file:
            stored = np.load(file)
            names = str(stored["pieces"]).split("\n")
            places = {name: place for place, name in enumerate(names)}
            pieces = Pieces(places, stored["vectors"], float(stored["scale"]))
            one, two, three, hidden, last = (
                Layer(
                    *(stored[f"{name}_{part}"].astype(np.float32) for part in ("weights", "bias"))
                )
                for name in ("conv1", "conv2", "conv3", "hidden", "last")
            )
            segments = stored["segments"].astype(np.float32)
        return cls(pieces, segments, (one, two, three), hidden, last)

    def odds(self, spoken: Spoken) -> list[float]:
        """The probability of each act; they sum to 1."""
        read, clause = framed(self.pieces, spoken)
        x = self.pieces.vectors[read] * np.float32(self.pieces.scale)
        x = x + self.segments[segments_of(read, clause, self.pieces)]
        one, two, three = self.convolutions
        a = one(_beside(x, 1))
        b = a + two(_beside(a, 1))
        c = b + three(_beside(b, 2))
        own, around = c[:clause], c[clause:]
        pooled = np.concatenate([own.max(axis=0), own.mean(axis=0), around.max(axis=0), c[0]])
        return softmax(self.hidden(pooled) @ self.last.weights + self.last.bias)


def framed(pieces: Pieces, spoken: Spoken) -> tuple[list[int], int]:
    """The indexes of all pieces read, and the number of pieces in the clause."""
    opens, ends = pieces.places[OPENS], pieces.places[ENDS]
    clause = [opens, *pieces.of(spoken.words)[:LONGEST], ends]
    before, after = pieces.of(spoken.before)[-BEFORE:], pieces.of(spoken.after)[:AFTER]
    return [*clause, *before, ends, *after, ends], len(clause)


def segments_of(read: list[int], clause: int, pieces: Pieces) -> list[int]:
    """The segment of each piece read: 0 in the clause, 1 before it, 2 after it."""
    ends = pieces.places[ENDS]
    after = read.index(ends, clause) + 1
    return [0] * clause + [1] * (after - clause) + [2] * (len(read) - after)


def _beside(x: Floats, apart: int) -> Floats:
    """Each position concatenated with those ``apart`` before and after it."""
    edge = np.zeros((apart, x.shape[1]), np.float32)
    wide = np.concatenate([edge, x, edge])
    return np.concatenate([wide[: len(x)], x, wide[2 * apart :]], axis=1)
