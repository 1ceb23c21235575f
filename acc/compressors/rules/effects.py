"""Which standing rules a user's message lifts or changes: every clause is weighed against every rule.

How sure that is, boosted trees say (`acc.compressors.rules.gathering`) over a few dozen figures for the
pair: what the clause does (`acc.compressors.rules.acts`), what it shares with the rule and with the
other rules, which figure could stand for which. What the tables of `lifting.py` are sure of counts at
once, and those of `bars.py` keep out what only sounds like it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from acc.compressors.rules.acts import acts
from acc.compressors.rules.bars import MOVING, is_ended, is_only_told, is_taken_back
from acc.compressors.rules.bearing import BACKWARD, Heard
from acc.compressors.rules.contrary import is_barred, is_of_others
from acc.compressors.rules.gathering import Bearing, bearings
from acc.compressors.rules.lifting import changed_by, lifted_by
from acc.items import Item

Op = Literal["lift", "change"]


class Effect(NamedTuple):
    """What a clause does to a standing rule, and how sure that is, 0 to 1."""

    item: Item
    op: Op
    odds: float


def effects(
    message: Sequence[Heard], rules: Sequence[Item], least: float
) -> list[tuple[Effect, ...]]:
    """For each clause of a message the rules that it lifts or changes, the surest first.

    Rule: what the tables are sure of counts at once; of the rest, the clause that speaks of a rule
    most surely ends it where the whole message does with odds of at least ``least``.
    """
    if not rules:
        return [()] * len(message)
    meant = [at for at, heard in enumerate(message) if not is_taken_back(heard)]
    cued = {at: effect for at in meant if (effect := _cued(message[at], rules)) is not None}
    able = [at for at in meant if at not in cued and _is_able(message[at])]
    weighed = bearings(message, rules, able) if able else []
    return [
        (cued[at],) if at in cued else _ended(heard, [b for b in weighed if b.clause == at], least)
        for at, heard in enumerate(message)
    ]


def _is_able(heard: Heard) -> bool:
    """Whether a clause may lift or change something at all."""
    return _moving(heard) >= UNLIKELY and not is_only_told(heard.spoken.words)


def _moving(heard: Heard) -> float:
    odds = acts(heard.spoken)
    return odds["lift"] + odds["change"]


def _ended(heard: Heard, found: Sequence[Bearing], least: float) -> tuple[Effect, ...]:
    """Those of the rules that a clause speaks of which it ends."""
    odds = acts(heard.spoken)
    op: Op = "lift" if odds["lift"] > LIFTS * odds["change"] else "change"
    ended = [
        Effect(bearing.rule, op, bearing.odds)
        for bearing in found
        if bearing.odds >= _bar(heard, bearing, least) and is_ended(heard, bearing)
    ]
    return tuple(sorted(ended, key=lambda effect: -effect.odds))


def _bar(heard: Heard, bearing: Bearing, least: float) -> float:
    """The odds from which a clause ends a rule, where ``least`` is what they have to be as a rule."""
    if bearing.figures["tie shared"] and len(heard.spoken.words.split()) <= EVENT:
        return min(least, TIED)
    return min(least, MOVED) if _moving(heard) >= MOVES else least


def _cued(heard: Heard, rules: Sequence[Item]) -> Effect | None:
    """What the tables are sure of; a pronoun stands for what the message names."""
    words = heard.spoken.words
    if is_of_others(words):
        return None
    points_back = _moving(heard) >= MOVING and BACKWARD.search(words) and not is_barred(words)
    for around in (words, heard.message) if points_back else (words,):
        if (changed := changed_by(words, around, rules)) is not None:
            return Effect(changed, "change", 1.0)
        if (lifted := lifted_by(words, around, rules)) is not None:
            return Effect(lifted, "lift", 1.0)
    return None


UNLIKELY = 0.2
"""Probability of a lifting or a change under which no rule is looked for."""

MOVES, MOVED = 0.7, 0.42
"""Probability of a lifting or a change from which the odds of a rule need only be these."""

EVENT, TIED = 6, 0.28
"""A clause of so few words that tells of what a rule is tied to ("while the audit runs") ends it from
these odds: it is about nothing else."""

LIFTS = 2.0
"""How much likelier a lifting has to be than a change: a rule in new bounds still binds."""
