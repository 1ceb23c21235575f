"""A second reading without a model: do the later words end the rule?

It is careful: what is reported, asked, imagined, past, an exception or for a time ends nothing, and what it cannot
tell is ``unclear``. In both cases the words stay beside the rule, where the agent reads them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from acc.compress.keyless.acts import acts, one_thread
from acc.compress.keyless.reading import is_english
from acc.compress.keyless.words import (
    Clause,
    clauses,
    content,
    figures,
    one_of,
    plain,
    sets_another,
)
from acc.state.items import Pinned, Verdict
from acc.state.reading import Claim, Judgement, claim_digest

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
    """Return whether a clause says that something ends or is allowed."""
    parts = [Clause(part) for part in clauses(said)]
    sure = max(acts(part)["lift"] for part in parts)
    return sure >= LIFTED or (sure >= LIKELY and bool(_LIFTING.search(said)))
