"""Which facts of the state a new one takes the place of, when they are not keyed alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acc.compressors.rules.entities import PROPER, named_in
from acc.compressors.rules.reading import Reading
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

SHARED = 0.5
"""Share of a held fact's words that what speaks of the same thing repeats."""

_SLOT_WORDS = stems(" ".join(kind for kind, _ in VALUES) + " value count time notes is has due id")
"""Stems of predicates that only name a kind of value."""


def revised(reading: Reading, held: Sequence[Relation]) -> Iterator[Relation]:
    """The relations for whose value, or whose person, this turn gives another.

    Rule: a sentence says that something changed; with the user's message it repeats half of the
    words by which the fact is known, at least one of them itself; and it has a value of the
    fact's kind and unit, or a person, but not the fact's own.
    """
    asked = stems(" ".join(said.words for said in reading.user))
    keyed = [(relation, _own(relation)) for relation in held]
    for said in (*reading.user, *reading.agent):
        if not said.asks and REVISED.search(said.words):
            itself = stems(said.words)
            heads = {stem[:HEAD] for stem in itself if len(stem) >= HEAD}
            for relation, own in keyed:
                # By its head "weigh" is the same word as "weight".
                alike = {s for s in own if s in itself or (len(s) >= HEAD and s[:HEAD] in heads)}
                known = len(alike | (own & asked)) >= SHARED * len(own)
                if alike and known and _differs(relation, said.words):
                    yield relation


HEAD = 5
"""Letters in which two words have to agree to be the same."""


def _own(relation: Relation) -> frozenset[str]:
    """The words by which a fact is known."""
    known = stems(f"{relation.subject} {relation.predicate}") - _SLOT_WORDS
    return known or stems(relation.subject)


def _differs(relation: Relation, words: str) -> bool:
    old = list(values_in(relation.object)) or list(values_in(relation.subject))
    if old:
        new = list(values_in(words))
        kept = any(value.text in words for value in old)
        return not kept and any(_may_replace(n, o) for n in new for o in old[:1])
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
