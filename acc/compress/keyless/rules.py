"""Rules and goals: which sentences lay them down, which say that a goal is reached or given up, and which end a rule.

`judge` is the second reading without a model. It is careful: what is reported, asked, imagined, past, an exception or
for a time ends nothing, and what it cannot tell is ``unclear``. In both cases the words stay beside the rule, where the
agent reads them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from acc.compress.keyless.acts import acts, one_thread
from acc.compress.keyless.hearing import HeardClauses, SaidSentence, is_english
from acc.compress.keyless.words import (
    Clause,
    clauses,
    content,
    figures,
    is_negative,
    one_of,
    plain,
    sets_another,
    stems,
)
from acc.state.items import Goal, Pinned, Verdict
from acc.state.proposal import ProposedDone
from acc.state.reading import Claim, Judgement, claim_digest

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


# --- the second reading: do the later words end the rule? ---

LIFTED = 0.9
"""Probability of a lifting from which a clause counts as one without a lifting word."""

LIKELY = 0.2
"""The same for a clause with one."""

_LIFTING = re.compile(
    r"\b(?:" + one_of(
        """no longer,not any ?more,n't any ?more,lift(?:ed|ing)?,is over,are over,is off,are off,is gone,are gone,
        is dead,has ended,is ended,ends (?:now|today|here),at an end,is history,drop(?:ped)?,scrap(?:ped)?,
        forget,cancel(?:l?ed)?,withdrawn?,repeal(?:ed)?,revoked?,rescind(?:ed)?,void,obsolete,superseded,ignore,
        disregard,free to,go ahead,needn't,need not,don't need,don't have to,can (?:now|again)?,
        may (?:now|again)?,could (?:now|again),is fine,are fine,is allowed,are allowed,is permitted,as usual,
        as normal,back to normal,as you (?:like|please|see fit),whenever,any ?time,at any (?:time|hour),
        not needed,unnecessary,can go,can rest,welcome to,open again,fair game,at will,freely,from now on,
        instead"""
    ) + ")",
    re.I,
)  # fmt: skip
_NOT_OURS = re.compile(
    r"\b" + one_of(
        """says?,(?<!I )said,saying,think,thinks,thought,claims?,claimed,wrote,writes,written,tells?,told,telling,
        asked,asks,asking,wants? to,wanted,suggests?,suggested,insists?,apparently,allegedly,supposedly,
        reportedly,rumou?rs?,heard,according to,whoever,anyone who,anybody who,everyone who,somebody,someone,
        imagine,suppose,if,wish,hypothetically,maybe,perhaps,might,would be,what if,unless,lie,lies,lying,lied,
        nonsense,joke,joking,kidding,scandal,by mistake,wrongly,phishing,attacker,fake,unlike,over my dead body,
        put it back,is back,back in force,still,last (?:year|month|week|time),yesterday,used to,back then,ago,
        once upon,got fired,was wrong"""
    ),
    re.I,
)  # fmt: skip
_PARTLY = re.compile(
    r"\b" + one_of(
        """except,exception,apart from,only,just (?:this|for|the|today|tonight|once),this once,for once,one time,
        this (?:time|week|weekend|month|evening|afternoon),tonight,(?<!from )(?<!as of )today,tomorrow,for now,
        for the moment,for the time being,meanwhile,in the meantime,temporarily,until,till,unless,but not,while,
        during the,not (?:yet|quite|lifted|over|off|allowed|fine|gone),almost,nearly,soon,never,don't,do not,
        must not,mustn't,isn't,aren't,cannot,can't,may not"""
    ),
    re.I,
)  # fmt: skip


_NO_LONGER = re.compile(
    r"\b(?:no longer|don't|not) (?:have to|need to|must)\b.*|\bnever mind\b", re.I
)
"""What somebody need not do any more is no exception, whatever it says of a time."""


_FOR_A_TIME = re.compile(
    r"\b" + one_of(
        """tonight,(?<!from )(?<!as of )today,tomorrow,just once,this (?:time|week|month),for now,until,till,except,
        only for"""
    ),
    re.I,
)  # fmt: skip


def judge(claims: Sequence[Claim]) -> Sequence[Judgement]:
    """Return a judgement for each claim: ``ends``, ``stays``, or ``unclear`` where the words do not tell."""
    with one_thread():
        return [
            Judgement(digest=claim_digest(claim.item), verdict=_verdict(claim.item))
            for claim in claims
        ]


def _verdict(item: Pinned) -> Verdict:
    ending = item.ending
    if ending is None or ending.words is None or ending.kind != "lifted":
        return "unclear"
    rule = plain(item.text_of)
    said = plain(ending.asked.text if ending.asked else ending.words.text)
    if not is_english(said) or not is_english(rule):
        return "unclear"
    if ending.asked is None and said.rstrip("\"') ").endswith("?"):
        return "stays"
    rest = _NO_LONGER.sub(" ", said)
    if _NOT_OURS.search(rest):
        return "stays"
    if not content(said) & content(rule):
        return "unclear"
    if _new_figure(said, rule):
        return "ends"
    if _PARTLY.search(rest):
        return "stays"
    is_lifted = bool(_LIFTING.search(said)) if ending.asked else _lifts(said)
    return "ends" if is_lifted else "unclear"


def _new_figure(said: str, rule: str) -> bool:
    """Return whether the sentence sets a figure in the place of the rule's, for good."""
    new = [figure for figure in figures(said) if figure.measures]
    return len(new) == 1 and sets_another(new, rule) and not _FOR_A_TIME.search(said)


def _lifts(said: str) -> bool:
    parts = [Clause(part) for part in clauses(said)]
    sure = max(acts(part)["lift"] for part in parts)
    return sure >= LIFTED or (sure >= LIKELY and bool(_LIFTING.search(said)))
