"""Which sentences lay down a rule or set a goal, and which say that a goal is reached or given up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from acc.compress.keyless.acts import acts
from acc.compress.keyless.reading import HeardClauses, SaidSentence
from acc.compress.keyless.words import Clause, is_negative, one_of, stems
from acc.state.items import Goal
from acc.state.proposal import ProposedDone

SURE = 0.7
"""Minimum probability for a clause to make a rule."""

PLAINLY = 0.3
"""The same for a clause that opens like a rule."""

CERTAIN = 0.8
"""The same for a part of a clause, whose reasons and asides are about facts."""

MOVING, CHANGES = 0.65, 0.35
"""Minimum probability of a rule or a change, and of a change alone, for a clause that changes an unclear rule."""

ASKED = 0.3
"""Probability of a goal or an order from which the parts of a clause are not examined."""

_PLAIN = re.compile(
    r"^\W*(?:(?:and|also|but|please|so|then)\W+)*(?:" + one_of(
        r"""don't,do not,dont,never,always,keep,leave,stay,only,answer,from now on,whenever,under no circumstances,
        no(?!\x2c),could you always,can you always,let's (?:not|keep|leave|stay|hold|only|never|always),
        (?:[\w-]{1,20} ){0\x2c2}(?:freeze|embargo|moratorium|blackout|curfew|lockdown) (?:until|till|from|on|for)"""
    ).replace(r"\x2c", ",") + ")",
    re.I,
)  # fmt: skip
_PART = re.compile(r"(?:,|\s[-–—])\s+(?:so |and |but |then )?|;\s+|:\s+")
_BARE = stems("never ever always only just nope nothing none yes sure exactly please")
"""Words that alone make no rule: "No, never!"."""


def is_rule(said: SaidSentence) -> bool:
    """Return whether a clause of the sentence, or the sentence under its list's heading, makes a rule."""
    headed = said.heading and said.whole._replace(words=f"{said.heading} {said.words}")
    return any(map(makes_rule, said.clauses)) or (bool(headed) and makes_rule(headed))


@lru_cache(maxsize=1024)
def makes_rule(clause: Clause) -> bool:
    """Return whether a clause makes a rule."""
    odds, words = acts(clause), clause.words
    if not stems(words) - _BARE or (
        words.rstrip().endswith("?") and odds["question"] > odds["rule"]
    ):
        return False
    sure, least = odds["rule"], SURE
    if _PLAIN.match(words):
        # The words after a comma may state a fact. The order before it counts nevertheless.
        sure, least = max(sure, acts(clause._replace(words=words.split(",")[0]))["rule"]), PLAINLY
    elif PLAINLY <= sure < SURE and odds["goal"] + odds["ask"] < ASKED:
        sure = max(sure, _in_a_part(words))
    changes = odds["change"] >= CHANGES and odds["rule"] + odds["change"] >= MOVING
    return sure >= least or changes


def _in_a_part(words: str) -> float:
    """Return the probability of the most certain restricting part; 0 if it is not `CERTAIN`."""
    parts = [part for part in _PART.split(words) if len(part.split()) >= 3 and is_negative(part)]
    sure = max((acts(Clause(part))["rule"] for part in parts if part != words), default=0.0)
    return sure if sure >= CERTAIN else 0.0


GOAL = 0.15
"""Minimum probability for a sentence to set a goal."""

QUESTION = 0.5
"""Probability of a question from which a sentence sets no goal."""

FIRST = 0.04
"""The same if there is no goal yet: the first request is usually the purpose of the conversation."""


def is_goal(said: SaidSentence, *, is_first: bool) -> bool:
    """Return whether a sentence asks for something beyond this turn."""
    odds = acts(said.whole)
    if odds["question"] >= QUESTION:
        return False
    if is_first and odds["ask"] + odds["goal"] >= 0.5:
        return odds["goal"] >= FIRST
    return odds["goal"] >= GOAL


ACHIEVED = 0.5
"""Minimum probability for a sentence to say that something was achieved."""

SHORT = 6
"""Words of a sentence of the user's up to which it may close the goal that the agent spoke of before."""


def done_in(heard: HeardClauses, goals: Sequence[Goal]) -> list[ProposedDone]:
    """Return the open goals that the messages call reached or given up, each with the message."""
    found: dict[str, ProposedDone] = {}
    fresh = [said for said in heard.others if said.is_new]
    for said in sorted((*heard.user, *fresh), key=lambda s: s.place):
        left = [goal for goal in goals if goal.done is None and goal.id not in found]
        if said.asks or not left or acts(said.whole)["done"] < ACHIEVED:
            continue
        # An agent must name the goal; a user's "that is done" may be about what the agent said before.
        is_user = said in heard.user
        goal = _clearest(said.words, left, 1 if is_user else 2)
        if goal is None and is_user and len(said.words.split()) <= SHORT:
            goal = _clearest(f"{said.words} {heard.reply_before(said)}", left, 2)
        if goal is not None:
            found[goal.id] = ProposedDone(goal.id, said.ref)
    return list(found.values())


def _clearest(words: str, goals: Sequence[Goal], least: int) -> Goal | None:
    """Return the goal that shares most words with ``words``; None if there is no single best one."""
    said = stems(words)
    ranked = sorted(
        ((len(said & stems(goal.words.text)), n) for n, goal in enumerate(goals)), reverse=True
    )
    best, place = ranked[0]
    is_tied = len(ranked) > 1 and ranked[1][0] == best
    return goals[place] if best >= least and not is_tied else None
