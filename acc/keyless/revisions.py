"""Which held facts a sentence replaces, because it gives another value of the same thing.

Boosted trees compute the odds from features of the pair: shared words, values of the same kind, and how
the pair ranks among the others of the turn (``benchmarks/keyless/train_revisions.py``).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acc.commit.placing import may_replace
from acc.keyless.classifiers import Trees
from acc.keyless.entities import PROPER, named_in
from acc.keyless.reading import Said, TurnReading
from acc.keyless.values import VALUES, Value, values_in
from acc.state.items import Relation
from acc.text.patterns import cue
from acc.text.wording import stems
from acc.turn.observations import Trust

REVISED = cue(
    """now, new, no longer, instead, corrected, correction, revised, updated, changed, moved,
    moves, rescheduled, pushed, brought forward, postponed, late, early, up to, down to, after
    all, from here, as of, from today, takes over, took over, replaces, replaced, swapped,
    switched, not, isn't, becomes, became, went, rose, fell, dropped, drops, grew, latest,
    actually, recount, recounted, recalculated, final, finally, turned out"""
)
"""Cues that a value differs from an earlier one."""

_SLOT_WORDS = stems(" ".join(kind for kind, _ in VALUES) + " value count time notes is has due id")
"""Stems of predicates that only name a kind of value."""

HEAD = 5
"""Number of first letters that two forms of a word must share, such as "weigh" and "weight"."""


class Telling(NamedTuple):
    """A sentence that may give another value.

    Attributes:
        said: The sentence.
        asked: Stems of the user's message.
        is_user: Whether the user says it.
        revises: Whether the user's message reports a change.
    """

    said: Said
    asked: frozenset[str]
    is_user: bool
    revises: bool

    @property
    def trust(self) -> Trust:
        """The speaker's trust."""
        return Trust.USER if self.is_user else Trust.AGENT


class Held(NamedTuple):
    """The parts of a held fact that are compared with sentences.

    Attributes:
        whole: All its stems.
        own: The stems that identify it.
        values: The values of its object, or of its subject if the object has none.
        people: The people it names.
    """

    whole: frozenset[str]
    own: frozenset[str]
    values: tuple[Value, ...]
    people: frozenset[str]

    @classmethod
    def of(cls, relation: Relation) -> Held:
        """Extract the parts of a relation."""
        return _fact(relation.subject, relation.predicate, relation.object, relation.words)


@lru_cache(maxsize=512)
def _fact(subject: str, predicate: str, what: str, words: str) -> Held:
    whole, named = stems(words), stems(subject)
    own = (stems(f"{subject} {predicate}") - _SLOT_WORDS) or named or whole
    values = values_in(what) or values_in(subject)
    return Held(whole, own, values, _people(f"{subject} {what}"))


class Words(NamedTuple):
    """The parts of a sentence that are compared with facts.

    Attributes:
        itself: Its stems.
        near: Its stems and those of the sentence before.
        around: Those stems and the stems of the user's message.
        values: Its values.
        people: The people it names.
    """

    itself: frozenset[str]
    near: frozenset[str]
    around: frozenset[str]
    values: tuple[Value, ...]
    people: frozenset[str]

    @classmethod
    def of(cls, telling: Telling) -> Words:
        """Extract the parts of a sentence."""
        words, itself = telling.said.words, stems(telling.said.words)
        near = itself | stems(telling.said.before)
        return cls(itself, near, near | telling.asked, values_in(words), _people(words))

    def names_another_than(self, fact: Held) -> bool:
        """Whether both name people but share none."""
        return bool(self.people and fact.people) and not self.people & fact.people


def compared(
    telling: Telling, held: Sequence[tuple[Relation, Held]], turn: int, known: Mapping[str, int]
) -> Iterator[tuple[Relation, tuple[float, ...]]]:
    """The relations that a sentence may give another value for, with the features of each pair."""
    words = Words.of(telling)
    if not words.values and not words.people:
        return
    itself, asked = words.itself, words.itself | telling.asked
    heads = {stem[:HEAD] for stem in itself}
    said = (bool(REVISED.search(telling.said.words)), telling.revises, telling.is_user)
    for relation, fact in held:
        if not _may_overtake(words, fact):
            continue
        whole, own = fact.whole, fact.own
        alike = sum(stem in itself or stem[:HEAD] in heads for stem in own)
        yield relation, (
            len(own & itself) / len(own), len(own & words.near) / len(own),
            len(own & words.around) / len(own), alike / len(own),
            len(whole & itself) / len(whole), len(whole & asked) / len(whole),
            len(whole & itself) / (len(itself) or 1), len(own & itself),
            max((1 / known[stem] for stem in whole & words.around), default=0.0),
            max((1 / known[stem] for stem in whole & itself), default=0.0),
            *said, turn - relation.touched, relation.status == "observed", len(itself), len(whole),
            *_other_value(fact.values, words.values), words.names_another_than(fact),
        )  # fmt: skip


def _may_overtake(words: Words, fact: Held) -> bool:
    """Whether a sentence gives another value of the fact's kind, or another person.

    The sentence must not repeat the fact's value. It must also share a word with the fact, or have
    a figure close to the fact's.
    """
    new, old = words.values, fact.values
    if not (words.names_another_than(fact) or any(n.kind == o.kind for n in new for o in old)):
        return False
    if any(n.text == o.text for n in new for o in old):
        return False
    return not fact.whole.isdisjoint(words.around) or _is_near(old, new)


_KINDS = tuple(kind for kind, _ in VALUES)


def _other_value(old: Sequence[Value], new: Sequence[Value]) -> tuple[float, ...]:
    """Features that compare the sentence's values with the fact's."""
    like = [(n, o) for o in old for n in new if _may_replace(n, o)]
    of_kind = any(n.kind == o.kind for n in new for o in old)
    shapes = any(shape(n.text) == shape(o.text) for n, o in like)
    apart = min((_apart(n.text, o.text) for n, o in like), default=9.0)
    kind = _KINDS.index(old[0].kind) if old else -1.0
    first = bool(old) and any(o == old[0] for _, o in like)
    return bool(like), of_kind, shapes, apart, kind, first, len(old), len(new)


def shape(text: str) -> str:
    return re.sub(r"\d", "9", re.sub(r"[A-Za-z]", "a", text))


def _apart(one: str, other: str) -> float:
    """The distance of two figures: the logarithm of their ratio; 9 if unknown."""
    a, b = _figure(one), _figure(other)
    return min(9.0, abs(math.log(a / b))) if a and b else 9.0


@lru_cache(maxsize=1024)
def _figure(text: str) -> float:
    found = re.search(r"\d+(?:,\d{3})*(?:\.\d+)?", text)
    return float(found.group().replace(",", "")) if found else 0.0


NEAR = 1.1
"""Maximum logarithm of the ratio of two figures of the same thing: a third to three times."""


def _is_near(old: Sequence[Value], new: Sequence[Value]) -> bool:
    """Whether the sentence has a figure of the same kind as the fact's and close to it."""
    return any(_may_replace(n, o) and _apart(n.text, o.text) <= NEAR for o in old[:1] for n in new)


def _may_replace(new: Value, old: Value) -> bool:
    return new.kind == old.kind and _unit(new.text) == _unit(old.text)


@lru_cache(maxsize=1024)
def _people(words: str) -> frozenset[str]:
    named = (n.name for n in named_in(f"so {words}") if n.type in PROPER)
    return frozenset(name for name in named if len(name.split()) > 1)


@lru_cache(maxsize=1024)
def _unit(value: str) -> str:
    return re.sub(r"[\d.,:\s]+", "", value).lower().rstrip("s")


SURE = 0.2
"""Minimum probability for a fact to count as replaced."""

WEIGHTS = "revisions.npz"


class Pair(NamedTuple):
    """A sentence and a fact for which it may give another value.

    Attributes:
        telling: The sentence.
        relation: The fact.
        figures: The features of the pair.
    """

    telling: Telling
    relation: Relation
    figures: tuple[float, ...]


def revised(reading: TurnReading, held: Sequence[Relation]) -> Iterator[Relation]:
    """The relations to which this turn gives another value or another person.

    A sentence qualifies if it shares words with the fact and has another value of its kind, or
    another person. Boosted trees compute the probability from the features of the pair and from its
    rank among the other pairs of the sentence and the turn
    (``python benchmarks/keyless/train_revisions.py``). The agent's words never replace a fact that the user
    stated (law 6). They become a separate fact.
    """
    found = paired(reading, held)
    if not found:
        return
    odds = Trees.read(WEIGHTS).odds(rows_of(found))
    for pair, sure in zip(found, odds, strict=True):
        if sure >= SURE and may_replace(pair.telling.trust, pair.relation.trust):
            yield pair.relation


def paired(reading: TurnReading, held: Sequence[Relation]) -> list[Pair]:
    """Every sentence of a turn paired with every fact that it may replace."""
    if not held:
        return []
    facts, turn = [(relation, Held.of(relation)) for relation in held], reading.state.turn + 1
    known = Counter(chain.from_iterable(fact.whole for _, fact in facts))
    return [
        Pair(telling, relation, figures)
        for telling in tellings(reading)
        for relation, figures in compared(telling, facts, turn, known)
    ]


def rows_of(found: Sequence[Pair], often: bool = False) -> NDArray[np.float64]:
    """The inputs of the trees, one row per pair of one turn.

    Args:
        found: All pairs of the turn.
        often: Whether facts change more often in the conversation than usual. Some training
            conversations set it, which shows the trees more changes without hiding how rare they
            are.
    """
    own = np.array([pair.figures for pair in found], dtype=np.float64)
    sentences: dict[int, list[int]] = {}
    for at, pair in enumerate(found):
        sentences.setdefault(id(pair.telling), []).append(at)
    in_sentence = _standing(own[:, _LIKE], sentences.values())
    in_turn = _standing(own[:, _LIKE[:2]], [list(range(len(found)))])
    return np.hstack([own, in_sentence, in_turn, np.full((len(found), 1), float(often))])


_LIKE = (2, 5, 3)
"""Indexes of the features that measure what a sentence and a fact have in common."""


def _standing(figures: NDArray[np.float64], groups: Iterable[Sequence[int]]) -> NDArray[np.float64]:
    """Rank each feature's value within its group.

    Returns:
        Per feature the lead over the best other value, then per feature the number of other values
        that are at least as great.
    """
    above, reaching = figures.copy(), np.zeros_like(figures)
    for group in groups:
        for column in range(figures.shape[1]) if len(group) > 1 else ():
            own = figures[group, column]
            second, best = np.partition(own, -2)[-2:]
            above[group, column] = own - np.where(own == best, second, best)
            reaching[group, column] = len(own) - np.searchsorted(np.sort(own), own) - 1
    return np.hstack([above, reaching])


def tellings(reading: TurnReading) -> Iterator[Telling]:
    """The statements of user and agent, without questions."""
    message = " ".join(said.words for said in reading.user)
    asked, revises = stems(message), bool(REVISED.search(message))
    for said in (*reading.user, *reading.agent):
        if not said.asks:
            yield Telling(said, asked, said in reading.user, revises)
