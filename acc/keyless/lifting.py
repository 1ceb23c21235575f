"""Finds the standing rules that a message lifts or changes.

For each pair of a clause and a rule, boosted trees compute the odds from features of the pair: the acts
of the clause, the words that both share, similar words, and figures that could replace each other. The
training script is ``benchmarks/keyless/train_lifting.py``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from math import fsum
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acc.commit.about import GENERIC
from acc.keyless.acts import ACTS, Act, acts
from acc.keyless.classifiers import Trees, words_of
from acc.keyless.convolution import Convolution
from acc.keyless.lookalikes import DISCLAIMER
from acc.keyless.reading import Spoken, text_of
from acc.state.items import Item
from acc.text.clauses import sentences
from acc.text.figures import figures, sets_another
from acc.text.one_case import is_one_case
from acc.text.patterns import cue
from acc.text.wording import is_negative, marks, stems

WEIGHTS = "lifting.npz"

LEAST = 0.55
"""Minimum odds for a clause to lift or change a rule."""

MOVES, MOVED = 0.7, 0.42
"""Probability of a lifting or a change that lowers the minimum odds of a rule, and that minimum."""

SHORT, TIED, FIGURE = 6, 0.28, 0.2
"""Maximum words of a clause that is about nothing else than the event a rule is tied to ("while the audit
runs") or the only near figure ("make that 300"); and the minimum odds for such a clause to end the rule.
"""

UNLIKELY = 0.2
"""Probability of a lifting or a change below which no rule is searched."""

LIFTS = 2.0
"""Minimum ratio of the probability of a lifting to that of a change. A rule with new limits still
binds.
"""

Op = Literal["lift", "change"]


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


class Effect(NamedTuple):
    """The effect of a clause on a standing rule, with its odds, 0 to 1."""

    item: Item
    op: Op
    odds: float


def effects(message: Sequence[Heard], rules: Sequence[Item]) -> list[tuple[Effect, ...]]:
    """For each clause of a message, the rules that it lifts or changes, most probable first.

    Of the clauses, only the one that most probably refers to a rule can end it.
    """
    found: list[list[Effect]] = [[] for _ in message]
    clauses = list(enumerate(message)) if rules else []
    moving = [(at, heard) for at, heard in clauses if _moving(heard) >= UNLIKELY]
    able = [at for at, heard in moving if not _is_taken_back(heard)]
    if able:
        features = [list(features_of(message[at], rules)) for at in able]
        odds = pair_odds(Trees.read(WEIGHTS), features)
        for place, rule in enumerate(rules):
            best = int(odds[:, place].argmax())
            heard, sure = message[able[best]], float(odds[best, place])
            pair = features[best][place]
            if _is_one_case(heard, rule) or _names_another(heard, rule, pair):
                continue
            if sure >= _least(heard, pair):
                found[able[best]].append(Effect(rule, _op(heard), sure))
    return [tuple(sorted(each, key=lambda effect: -effect.odds)) for each in found]


def pair_odds(
    trees: Trees, features: Sequence[Sequence[Mapping[str, float]]]
) -> NDArray[np.float64]:
    """The odds of every pair, clauses by rules."""
    rows = np.array([list(row.values()) for of_clause in features for row in of_clause])
    return trees.odds(rows).reshape(len(features), -1)


def _moving(heard: Heard) -> float:
    """The probability that a clause lifts or changes anything."""
    odds = acts(heard.spoken)
    return odds["lift"] + odds["change"]


def _op(heard: Heard) -> Op:
    odds = acts(heard.spoken)
    return "lift" if odds["lift"] > LIFTS * odds["change"] else "change"


def _least(heard: Heard, pair: Mapping[str, float]) -> float:
    """The minimum odds for a clause to end a rule; at most `LEAST`."""
    if len(heard.spoken.words.split()) <= SHORT:
        if pair["tie shared"]:
            return TIED
        if pair["only near figure"] and pair["act change"] >= MOVES:
            return FIGURE
    return MOVED if _moving(heard) >= MOVES else LEAST


def _names_another(heard: Heard, rule: Item, pair: Mapping[str, float]) -> bool:
    """Whether a clause names "server 4" where the rule names "server 3"."""
    numbers = dict(_NUMBERED.findall(text_of(rule)))
    others = dict(_NUMBERED.findall(heard.spoken.words))
    return not pair["near figure"] and any(others.get(n, no) != no for n, no in numbers.items())


_NUMBERED = re.compile(
    r"\b(?!(?:until|till|most|least|than|under|over|about|from|after|before|with|only)\b)([a-z]{3,}) (\d{1,4})\b"
)
"""A thing with a number: "server 3"."""


def _is_one_case(heard: Heard, rule: Item) -> bool:
    """Whether the sentence of a clause concerns one case under ``rule``."""
    words = heard.spoken.words
    whole = next((s for s in sentences(heard.message) if words in s), words)
    return is_one_case(whole, text_of(rule))


def _is_taken_back(heard: Heard) -> bool:
    """Whether a clause takes itself back."""
    taken = _TAKEN_BACK.search(heard.spoken.words) or DISCLAIMER.search(heard.spoken.after)
    return taken is not None


_TAKEN_BACK = re.compile(r"\b(?:scratch that|no,? wait|wait,? no)\W*$", re.I)
"""Takes back the clause that it ends. At the beginning it may name its object: "Scratch that rule".
"""


_NAME = re.compile(r"(?<=\s)[A-Z][\w-]{2,}|\b[A-Za-z]\w*\d[\w.-]*")
_BACKWARD = re.compile(
    r"\b(?:its?|them|they|th[ai]t|this|those|these|him|his|her|he|she|one|there|so)\b", re.I
)
_TIE = cue(
    """until, till, while, as long as, for now, for the moment, during, since, because, unless,
    that's, is in"""
)
"""Cues of the condition that a rule is tied to."""

_UNTIL = re.compile(r"\b(?:until|till|unless|before|while|as long as|during|for now)\b(.*)", re.I)


def features_of(
    heard: Heard, rules: Sequence[Item], does: Callable[[Spoken], Mapping[Act, float]] = acts
) -> Iterator[dict[str, float]]:
    """The features of the clause with each rule, by name. ``does`` computes the acts of a clause."""
    words = heard.spoken.words
    general = _of_clause(heard.spoken, does(heard.spoken))
    moves, change = general["act lift"] + general["act change"], general["act change"]
    shared = list(_shared(heard, rules))
    like = list(_alike(words, rules))
    near = [sets_another(figures(words), text_of(rule), times=10) for rule in rules]
    for rule, own, alike, is_close in zip(rules, shared, like, near, strict=True):
        text = text_of(rule)
        pair = {
            **own,
            **alike,
            "near figure": is_close,
            "only near figure": is_close and sum(near) == 1,
            "names its figure": bool(marks(words) & marks(text)),
            "tied": bool(_TIE.search(text)),
            "tie shared": min(2, _tied(heard, text)) / 2,
            "rule forbids": is_negative(text),
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
    return {
        **{f"act {act}": odds[act] for act in ACTS},
        "backward": bool(_BACKWARD.search(words)),
        "short": len(words.split()) <= 4,
        "forbids": is_negative(words),
    }


ALIKE = 0.3
"""Cosine up to which two words count as unrelated."""


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
    pairs = np.clip((own @ rest.T - ALIKE) / (1 - ALIKE), 0, 1)
    best = pairs.max(axis=1)
    return Likeness(float(best.mean()), float(pairs.max(axis=0).mean()), float(best.max()))


@lru_cache(maxsize=256)
def word_vectors(text: str) -> NDArray[np.float32]:
    """A unit vector for each content word of ``text``: the normalized mean of its pieces' vectors."""
    pieces = Convolution.read().pieces
    words = (w for w in words_of(text) if w.isalpha() and stems(w) - GENERIC)
    read = [pieces.of(word) for word in dict.fromkeys(words)]
    if not read:
        return np.zeros((0, pieces.vectors.shape[1]), np.float32)
    means = np.array([pieces.vectors[at].mean(axis=0) for at in read], np.float32)
    rows: NDArray[np.float32] = means / np.maximum(
        np.linalg.norm(means, axis=1, keepdims=True), 1e-6
    )
    return rows


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
        return cls(each, *_two_best(each))


def _two_best(values: Iterable[float]) -> tuple[float, float]:
    """The two highest values; 0 for one that is missing."""
    best, second, *_ = (*sorted(values, reverse=True), 0.0, 0.0)
    return best, second


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
    first, second = _two_best(alike.one for alike in found)
    for alike in found:
        best = alike.one == first
        yield {
            "like": alike.one,
            "like of what is said": alike.other,
            "like best word": alike.best,
            "like margin": alike.one - (second if best else first),
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


@lru_cache(maxsize=512)
def name_stems(text: str) -> frozenset[str]:
    """The stems of names and identifiers in ``text``."""
    return stems(" ".join(_NAME.findall(text)))
