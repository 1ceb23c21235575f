"""Compares a sentence with a held fact: may it give another value of the same thing?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from acc.keyless.entities import PROPER, named_in
from acc.keyless.reading import Said
from acc.keyless.values import VALUES, Value, values_in
from acc.keyless.words import one_of
from acc.state.items import Relation
from acc.text.wording import stems
from acc.turn.observations import Trust

REVISED = re.compile(
    r"\b" + one_of(
        """now, new, no longer, instead, corrected, correction, revised, updated, changed, moved,
        moves, rescheduled, pushed, brought forward, postponed, late, early, up to, down to, after
        all, from here, as of, from today, takes over, took over, replaces, replaced, swapped,
        switched, not, isn't, becomes, became, went, rose, fell, dropped, drops, grew, latest,
        actually, recount, recounted, recalculated, final, finally, turned out"""
    ),
    re.I,
)  # fmt: skip
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
    telling: Telling,
    held: Sequence[tuple[Relation, Held]],
    turn: int,
    known: Mapping[str, int],
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
