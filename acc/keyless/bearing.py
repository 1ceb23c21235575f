"""Features of a pair of a clause and a standing rule, by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from math import fsum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acc.keyless.acts import ACTS, Act, acts
from acc.keyless.contrary import is_denied, is_doubted, is_limited
from acc.keyless.convolution import Convolution
from acc.keyless.figures import figures, sets_another
from acc.keyless.lifting import (
    CHANGED,
    ENDED,
    GENERIC,
    LIFTED,
    TIED,
    changed_by,
    lifted_by,
    name_stems,
)
from acc.keyless.reading import Spoken, text_of
from acc.keyless.weights import words_of
from acc.state.items import Item
from acc.text.wording import is_negative, marks, stems

LEAST = 0.3
"""Cosine up to which two words count as unrelated."""

Rows = NDArray[np.float32]


class Likeness(NamedTuple):
    """The similarity of two texts, 0 to 1.

    Attributes:
        one: Mean over the first text's words of their similarity to the most similar word of the
            other text.
        other: The same mean over the second text's words.
        best: Similarity of the most similar pair of words.
    """

    one: float
    other: float
    best: float


NOTHING = Likeness(0.0, 0.0, 0.0)


def likeness(one: str, other: str) -> Likeness:
    """The similarity of the content words of two texts."""
    own, rest = word_vectors(one), word_vectors(other)
    if not len(own) or not len(rest):
        return NOTHING
    pairs = np.clip((own @ rest.T - LEAST) / (1 - LEAST), 0, 1)
    best = pairs.max(axis=1)
    return Likeness(float(best.mean()), float(pairs.max(axis=0).mean()), float(best.max()))


@lru_cache(maxsize=256)
def word_vectors(text: str) -> Rows:
    """A unit vector for each content word of ``text``: the normalized mean of its pieces' vectors."""
    pieces = Convolution.read().pieces
    words = (w for w in words_of(text) if w.isalpha() and stems(w) - GENERIC)
    read = [pieces.of(word) for word in dict.fromkeys(words)]
    if not read:
        return np.zeros((0, pieces.vectors.shape[1]), np.float32)
    means = np.array([pieces.vectors[at].mean(axis=0) for at in read], np.float32)
    rows: Rows = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-6)
    return rows


BACKWARD = re.compile(
    r"\b(?:its?|them|they|th[ai]t|this|those|these|him|his|her|he|she|one|there|so)\b", re.I
)
_UNTIL = re.compile(r"\b(?:until|till|unless|before|while|as long as|during|for now)\b(.*)", re.I)


class Heard(NamedTuple):
    """A clause of the user's with its context.

    Attributes:
        spoken: The clause and its neighbours.
        message: The whole message.
        reply: The agent's preceding reply.
    """

    spoken: Spoken
    message: str
    reply: str


class Shares(NamedTuple):
    """The share of each rule that a text repeats. Words that occur in few rules have more weight.

    Attributes:
        each: The share of each rule, 0 to 1.
        best: The highest share.
        second: The second highest share.
    """

    each: list[float]
    best: float
    second: float

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, said: frozenset[str], held: tuple[frozenset[str], ...]) -> Shares:
        """The shares of the rules ``held`` that ``said`` repeats."""
        common = _common(held)
        each = [_share(said, own, common) for own in held]
        ranked = sorted(each, reverse=True)
        return cls(each, ranked[0] if ranked else 0.0, ranked[1] if len(ranked) > 1 else 0.0)


def figures_of(
    heard: Heard, rules: Sequence[Item], does: Callable[[Spoken], Mapping[Act, float]] = acts
) -> Iterator[dict[str, float]]:
    """The features of the clause with each rule, by name. ``does`` computes the acts of a clause."""
    words = heard.spoken.words
    general = _of_clause(heard.spoken, does(heard.spoken))
    moves, change = general["act lift"] + general["act change"], general["act change"]
    shared = list(_shared(heard, rules))
    like = list(_alike(words, rules))
    near = [sets_another(figures(words), text_of(rule), times=10) for rule in rules]
    lifted, changed = lifted_by(words, words, rules), changed_by(words, words, rules)
    for rule, own, alike, is_close in zip(rules, shared, like, near, strict=True):
        text = text_of(rule)
        pair = {
            **own,
            **alike,
            "near figure": is_close,
            "only near figure": is_close and sum(near) == 1,
            "names its figure": bool(marks(words) & marks(text)),
            "tied": bool(TIED.search(text)),
            "tie shared": min(2, _tied(heard, text)) / 2,
            "limited": is_limited(words, text),
            "rule forbids": is_negative(text),
            "lifted by": lifted is rule,
            "changed by": changed is rule,
        }
        crossed = {f"moves x {name}": moves * float(value) for name, value in pair.items()}
        changing = {
            f"change x {name}": change * float(pair[name])
            for name in ("near figure", "only near figure", "share", "best")
        }
        row = {**general, **pair, **crossed, **changing}
        yield {name: float(value) for name, value in row.items()}


def _of_clause(spoken: Spoken, odds: Mapping[Act, float]) -> dict[str, float]:
    words = spoken.words
    cue = LIFTED.search(words) or ENDED.search(words) or CHANGED.search(words)
    return {
        **{f"act {act}": odds[act] for act in ACTS},
        "backward": bool(BACKWARD.search(words)),
        "short": len(words.split()) <= 4,
        "lifted cue": bool(LIFTED.search(words)),
        "ended cue": bool(ENDED.search(words)),
        "changed cue": bool(CHANGED.search(words)),
        "denied": is_denied(words),
        "doubted": bool(cue and is_doubted(words, cue)),
        "forbids": is_negative(words),
    }


def _shared(heard: Heard, rules: Sequence[Item]) -> Iterator[dict[str, float]]:
    """For each rule: the share of it that the clause, the message and the reply repeat."""
    held = tuple(content(text_of(rule)) for rule in rules)
    common, said = _common(held), content(heard.spoken.words)
    shares = Shares.of(said, held)
    whole, answered = Shares.of(content(heard.message), held), Shares.of(content(heard.reply), held)
    for at, (rule, own) in enumerate(zip(rules, held, strict=True)):
        best = shares.each[at] == shares.best
        yield {
            "share": shares.each[at],
            "share of message": whole.each[at],
            "share with reply": answered.each[at],
            "of what is said": _share(said & own, said, common) if said else 0.0,
            "shared": min(3, len(said & own)) / 3,
            "all said": bool(said) and said <= own,
            "named": bool(name_stems(text_of(rule)) & said),
            "best": shares.best > 0 and best,
            "best of message": whole.best > 0 and whole.each[at] == whole.best,
            "margin": shares.each[at] - (shares.second if best else shares.best),
        }


def _alike(words: str, rules: Sequence[Item]) -> Iterator[dict[str, float]]:
    """For each rule: its similarity to the clause, even if they share no word."""
    found = [likeness(text_of(rule), words) for rule in rules]
    ranked = sorted((alike.one for alike in found), reverse=True)
    second = ranked[1] if len(ranked) > 1 else 0.0
    for alike in found:
        best = alike.one == ranked[0]
        yield {
            "like": alike.one,
            "like of what is said": alike.other,
            "like best word": alike.best,
            "like margin": alike.one - (second if best else ranked[0]),
        }


def _tied(heard: Heard, text: str) -> int:
    """Number of words that the clause or the reply shares with the condition a rule is tied to."""
    tie = _UNTIL.search(text)
    said = content(heard.spoken.words) | content(heard.reply)
    return len(content(tie[1]) & said) if tie else 0


@lru_cache(maxsize=16)
def _common(held: tuple[frozenset[str], ...]) -> Mapping[str, int]:
    """The number of rules that contain each stem."""
    return Counter(chain.from_iterable(held))


def _share(some: frozenset[str], own: frozenset[str], common: Mapping[str, int]) -> float:
    """The share of ``own`` that is in ``some``. Stems that occur in few rules have more weight."""
    whole = fsum(1 / max(1, common[stem]) for stem in own)  # fsum is exact in any order of a set
    return fsum(1 / max(1, common[stem]) for stem in own & some) / whole if whole else 0.0


@lru_cache(maxsize=512)
def content(words: str) -> frozenset[str]:
    """The stems that identify a rule."""
    return stems(words) - GENERIC
