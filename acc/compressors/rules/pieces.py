"""Words cut into pieces, each of which has a vector: a word that no training sentence has is near others.

A word that is no piece itself is cut greedily, the longest piece first; what goes on within a
word is written "##ing". The vectors come from the
pieces of the sentence encoder all-MiniLM-L6-v2 (Apache 2.0): turned, cut to few dimensions, trained
on, and stored as bytes (``benchmarks/keyless/train_convolution.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acc.compressors.rules.linear import words_of

OPENS, ENDS, NUMBER, UNKNOWN = "[CLS]", "[SEP]", "#", "[UNK]"

LONGEST_WORD = 40
"""Letters of a word that are looked at."""


class Pieces(NamedTuple):
    """The pieces, and where each stands.

    Attributes:
        places: Place of each piece.
        vectors: Pieces by dimensions.
        scale: What a 1 in ``vectors`` stands for.
    """

    places: Mapping[str, int]
    vectors: NDArray[np.int8]
    scale: float

    def of(self, text: str) -> list[int]:
        """The places of the pieces of ``text``, in order."""
        return [self.places[piece] for piece in pieces_of(text, self.places)]


def pieces_of(text: str, known: Mapping[str, int]) -> Iterator[str]:
    """The pieces of ``text`` that are ``known``; numbers all look alike."""
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
