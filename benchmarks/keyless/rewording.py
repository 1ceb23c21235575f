"""Other wordings of labelled sentences, for the teacher to label: they carry what it knows further.

Words give way to like ones, words are left out, halves of sentences change partners, neighbours
change. Most are no good English; what counts is that teacher and pupil are asked about the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from acc.compress.keyless.words import Clause

_WORD = re.compile(r"[A-Za-z]{2,}")
_JOINT = re.compile(r"[,;:–—]\s|\s(?=(?:and|but|because|until|unless|if|so|when|before|after)\s)")


class LikeWords:
    """For a word, those whose vectors are nearest."""

    def __init__(
        self, names: Sequence[str], vectors: NDArray[np.float32], most: int = 8, least: float = 0.45
    ) -> None:
        words = [at for at, name in enumerate(names) if re.fullmatch("[a-z]{2,}", name)]
        rows = vectors[words]
        self._rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self._names = [names[at] for at in words]
        self._places: Mapping[str, int] = {name: at for at, name in enumerate(self._names)}
        self._most, self._least = most, least
        self._found: dict[str, list[str]] = {}

    def of(self, word: str) -> list[str]:
        """The words that are like ``word``, the nearest first; none if it is not known."""
        if word not in self._found:
            at = self._places.get(word)
            self._found[word] = [] if at is None else self._nearest(at)
        return self._found[word]

    def _nearest(self, at: int) -> list[str]:
        likeness = self._rows @ self._rows[at]
        best = np.argsort(-likeness)[1 : self._most + 1]
        return [self._names[i] for i in best if likeness[i] > self._least]


def reworded(
    found: Sequence[Clause], times: int, like: LikeWords, rng: np.random.Generator
) -> list[Clause]:
    """Each sentence ``times`` times in other words; sorted, without repeats."""
    halves = [cut for spoken in found if (cut := _halves(spoken.words))]
    made = {
        _moved(_reworded(spoken, halves, like, rng), found, rng)
        for spoken in found
        for _ in range(times)
    }
    return sorted(made)


def _reworded(
    spoken: Clause,
    halves: Sequence[tuple[str, str]],
    like: LikeWords,
    rng: np.random.Generator,
) -> Clause:
    lot, words = rng.random(), spoken.words
    if lot < 0.55:
        return spoken._replace(words=_swapped(words, rng.choice([0.15, 0.3, 0.5]), like, rng))
    if lot < 0.7:
        kept = " ".join(word for word in words.split() if rng.random() > 0.15)
        return spoken._replace(words=kept or words)
    if lot < 0.9:
        first, second = _halves(words) or (words.rstrip(".!? ") + ",", words)
        other = halves[int(rng.integers(len(halves)))]
        pair = (first, other[1]) if rng.random() < 0.5 else (other[0], second)
        return spoken._replace(words=" ".join(half.strip() for half in pair))
    return spoken


def _moved(spoken: Clause, found: Sequence[Clause], rng: np.random.Generator) -> Clause:
    """The sentence beside other neighbours, at times without any."""
    if rng.random() < 0.4:
        spoken = spoken._replace(before=found[int(rng.integers(len(found)))].before)
    if rng.random() < 0.4:
        spoken = spoken._replace(after=found[int(rng.integers(len(found)))].after)
    return spoken._replace(before="", after="") if rng.random() < 0.1 else spoken


def _swapped(words: str, share: float, like: LikeWords, rng: np.random.Generator) -> str:
    def other(found: re.Match[str]) -> str:
        near = like.of(found.group().lower()) if rng.random() < share else []
        return near[rng.integers(len(near))] if near else found.group()

    return _WORD.sub(other, words)


def _halves(words: str) -> tuple[str, str] | None:
    joints = [joint.start() for joint in _JOINT.finditer(words)]
    middle = joints[len(joints) // 2] + 1 if joints else 0
    return (words[:middle], words[middle:]) if middle else None
