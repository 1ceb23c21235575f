"""Which facts of the state a new one takes the place of, when they are not keyed alike."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from acc.compressors.rules.entities import PROPER, named_in
from acc.compressors.rules.reading import Reading, Said
from acc.compressors.rules.trees import Trees
from acc.compressors.rules.values import VALUES, Value, values_in
from acc.compressors.rules.words import one_of
from acc.items import Relation
from acc.wording import stems

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
"""Says that a value is another than before."""

SURE = 0.3
"""Probability from which a fact is taken to be overtaken."""

WEIGHTS = "revisions.npz"

_SLOT_WORDS = stems(" ".join(kind for kind, _ in VALUES) + " value count time notes is has due id")
"""Stems of predicates that only name a kind of value."""

HEAD = 5
"""Letters in which two words have to agree to be the same: "weigh" and "weight"."""


class Telling(NamedTuple):
    """A sentence that may give another value.

    Attributes:
        said: The sentence.
        asked: Stems of the user's message.
        is_user: Whether the user says it.
        revises: Whether the user's message says that something changed.
    """

    said: Said
    asked: frozenset[str]
    is_user: bool
    revises: bool


def revised(reading: Reading, held: Sequence[Relation]) -> Iterator[Relation]:
    """The relations for whose value, or whose person, this turn gives another.

    Rule: a sentence speaks of the same, by the words that it shares with the fact, and gives a
    value of its kind, or a person, but not the fact's own; how sure that is, boosted trees say
    over the figures of the pair (``python benchmarks/keyless/train_revisions.py``).
    """
    known = _known(held)
    for telling in tellings(reading) if held else ():
        found = list(pairs(telling, held, reading.state.turn + 1, known))
        if not found:
            continue
        odds = _trees().odds(np.array([figures for _, figures in found]))
        yield from (
            relation for (relation, _), sure in zip(found, odds, strict=True) if sure >= SURE
        )


@cache
def _trees() -> Trees:
    return Trees.read(WEIGHTS)


def tellings(reading: Reading) -> Iterator[Telling]:
    """The sentences of user and agent that tell something."""
    message = " ".join(said.words for said in reading.user)
    asked, revises = stems(message), bool(REVISED.search(message))
    for said in (*reading.user, *reading.agent):
        if not said.asks:
            yield Telling(said, asked, said in reading.user, revises)


def _known(held: Sequence[Relation]) -> Counter[str]:
    """How many of the facts have each stem."""
    return Counter(stem for relation in held for stem in stems(relation.words))


def pairs(
    telling: Telling, held: Sequence[Relation], turn: int, known: Counter[str] | None = None
) -> Iterator[tuple[Relation, tuple[float, ...]]]:
    """The relations that a sentence may give another value for, each with the figures of the pair."""
    words = telling.said.words
    itself = stems(words)
    near = itself | stems(telling.said.before)
    known = _known(held) if known is None else known
    for relation in held:
        whole = stems(relation.words)
        shared = whole & (near | telling.asked)
        if not shared or not _differs(relation, words):
            continue
        own = _own(relation)
        heads = {stem[:HEAD] for stem in itself}
        alike = sum(stem in itself or stem[:HEAD] in heads for stem in own)
        yield relation, (
            len(own & itself) / len(own), len(own & near) / len(own),
            len(own & (near | telling.asked)) / len(own), alike / len(own),
            len(whole & itself) / len(whole), len(whole & (itself | telling.asked)) / len(whole),
            len(whole & itself) / (len(itself) or 1), len(own & itself),
            max(1 / known[stem] for stem in shared),
            max((1 / known[stem] for stem in whole & itself), default=0.0),
            bool(REVISED.search(words)), telling.revises, telling.is_user,
            turn - relation.touched, relation.status == "observed", len(itself), len(whole),
            *_other_value(relation, words),
        )  # fmt: skip


def _own(relation: Relation) -> frozenset[str]:
    """The words by which a fact is known."""
    known = stems(f"{relation.subject} {relation.predicate}") - _SLOT_WORDS
    return known or stems(relation.subject) or stems(relation.words)


_KINDS = tuple(kind for kind, _ in VALUES)


def _other_value(relation: Relation, words: str) -> tuple[float, ...]:
    """How the values of a sentence compare with the fact's own."""
    old, new = _values_of(relation), values_in(words)
    like = [(n, o) for o in old for n in new if _may_replace(n, o)]
    of_kind = any(n.kind == o.kind for n in new for o in old)
    shapes = any(_shape(n.text) == _shape(o.text) for n, o in like)
    apart = min((_apart(n.text, o.text) for n, o in like), default=9.0)
    kind = _KINDS.index(old[0].kind) if old else -1.0
    first = bool(old) and any(o == old[0] for _, o in like)
    return (
        bool(like), of_kind, shapes, apart, kind, first, len(old), len(new),
        _other_person(f"{relation.subject} {relation.object}", words),
    )  # fmt: skip


def _values_of(relation: Relation) -> list[Value]:
    return list(values_in(relation.object)) or list(values_in(relation.subject))


def _shape(text: str) -> str:
    return re.sub(r"\d", "9", re.sub(r"[A-Za-z]", "a", text))


def _apart(one: str, other: str) -> float:
    """How far two figures are apart, as the logarithm of their ratio; 9 where that is not known."""
    a, b = (float(d.replace(",", "")) if (d := _figure(text)) else 0.0 for text in (one, other))
    return min(9.0, abs(math.log(a / b))) if a and b else 9.0


def _figure(text: str) -> str:
    found = re.search(r"\d+(?:,\d{3})*(?:\.\d+)?", text)
    return found.group() if found else ""


def _differs(relation: Relation, words: str) -> bool:
    """Whether the sentence gives a value of the fact's kind, or a person, and not the fact's own."""
    old = _values_of(relation)
    if any(value.text in words for value in old):
        return False
    if any(n.kind == o.kind for n in values_in(words) for o in old):
        return True
    return _other_person(f"{relation.subject} {relation.object}", words)


def _may_replace(new: Value, old: Value) -> bool:
    return new.kind == old.kind and _unit(new) == _unit(old)


def _other_person(fact: str, words: str) -> bool:
    before, now = _people(fact), _people(words)
    return bool(before) and bool(now) and not before & now


def _people(words: str) -> frozenset[str]:
    named = (n.name for n in named_in(f"so {words}") if n.type in PROPER)
    return frozenset(name for name in named if len(name.split()) > 1)


def _unit(value: Value) -> str:
    return re.sub(r"[\d.,:\s]+", "", value.text).lower().rstrip("s")
