"""Words of a sentence: its clauses, content words, marks, figures, and what it forbids."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from acc.text.ranking import terms

_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)*|\d[\d.,:/]*\d|[^\s_]")


@lru_cache(maxsize=1024)
def words_of(text: str) -> tuple[str, ...]:
    """Return lower-case words and marks. All numbers are one token, all clock times another."""
    return tuple(
        token if not token[0].isdigit() else "#:#" if ":" in token else "#"
        for token in _TOKEN.findall(text.lower())
    )


class Clause(NamedTuple):
    """A clause with its neighbours in the same message, all with straight apostrophes."""

    words: str
    before: str = ""
    after: str = ""


_MENTION = re.compile(
    r"<at(?:\s[^<>]{0,200})?>(?P<at>[^<>]{0,100})</at>|<[@#!][!&]?(?:[^<>|]{0,100}+\|)?@?(?P<name>[^<>|]{1,100})>",
    re.I,
)
"""A mention in Teams, Slack or Discord."""

_ADDRESSED = re.compile(r"\A\s*(?:@[\w.-]{1,64}[\s,:]\s*)+")


def plain(text: str) -> str:
    """Return ``text`` as classifiers know it: straight apostrophes, names for mentions, no address in front."""
    text = text.replace("’", "'").replace("‘", "'")
    if "<" in text:
        text = _MENTION.sub(
            lambda found: f"@{(found['at'] or found['name']).replace(' ', '')} ", text
        )
    return _ADDRESSED.sub("", text)


def one_of(phrases: str) -> str:
    """Return a pattern for any of the phrases, separated by commas, up to the end of a word."""
    return r"(?:" + "|".join(" ".join(each.split()) for each in phrases.split(",")) + r")\b"


@lru_cache(maxsize=4096)
def stems(text: str) -> frozenset[str]:
    """Return the content words of ``text``, stemmed."""
    return frozenset(terms(text))


GENERIC = stems(
    """fine okay ok allowed need lifted cancelled over forget rule instead today again longer said say get go make use
    tell please thing want also here let idea may one"""
)
"""Stems that do not identify a rule."""


@lru_cache(maxsize=1024)
def content(words: str) -> frozenset[str]:
    """Return the stems that identify a rule."""
    return stems(words) - GENERIC


_JOINTS = re.compile(r"(?:,\s++(?:and|but|also|plus)|(?<!\s)\s++and also)\s++", re.I)
_BACKWARD = re.compile(
    r"\b" + one_of("it,its,them,they,their,that,those,this,these,him,his,her,one,ones,else"), re.I
)


def clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence that can stand alone, in order.

    It is split at ", and" and the like, unless it opens with a topic ("Mails: short, and no jokes") or the clause
    refers back ("..., and never move it").
    """
    if ":" in sentence[:60]:
        return [sentence]
    found: list[str] = []
    start = 0
    joints = list(_JOINTS.finditer(sentence))
    ends = [*(joint.start() for joint in joints[1:]), len(sentence)]
    for joint, end in zip(joints, ends[: len(joints)], strict=True):
        ahead = sentence[joint.end() : end]
        if len(ahead.split()) >= 3 and not _BACKWARD.search(ahead.split(",")[0]):
            found.append(sentence[start : joint.start()].strip())
            start = joint.end()
    return [*found, sentence[start:].strip()]


_DELIMITERS = re.compile(r"[\s()\[\]{}<>\"'“”‘’«»,;|]+")
_SEPARATOR = re.compile(r"(?<=\d)[ ,.'’_](?=\d{3}\b)")


@lru_cache(maxsize=4096)
def marks(text: str) -> frozenset[str]:
    """Return the identifiers, addresses and numbers of ``text``, case-folded."""
    tokens = _DELIMITERS.split(_SEPARATOR.sub("", text))
    found = (t for t in tokens if any(map(str.isdigit, t)) or "@" in t or "://" in t)
    folded = (mark.strip(".,:!?*_-–—…%€$£+=/&").casefold() for mark in found)
    return frozenset(mark for mark in folded if mark)


_NEGATIVE = re.compile(
    r"\b(?:(?:not|no|nothing|never) (?:\w+ )?(?:above|over|more than|beyond|higher than|below|under|less than)|"
    r"max(?:imum)?|min(?:imum)?|at (?:the )?(?:most|least)|up to|under|below|cap(?:ped)?|limit(?:ed)?|tops|"
    r"no|not|never|none|nobody|nothing|nowhere|neither|nor|cannot|\w{1,20}n't|forbid\w*|forbade|prohibit\w*|ban(?:ned|s)?|"
    r"refuse\w*|stop|without|avoid\w*|exclud\w*|omit\w*|refrain\w*|off|out of|alone|only|just|solely|exclusively|"
    r"unless|except\w*|until|till|before)\b",
    re.I,
)


@lru_cache(maxsize=1024)
def is_negative(text: str) -> bool:
    """Return whether ``text`` forbids, excludes, restricts or bounds something."""
    return _NEGATIVE.search(text) is not None


NUMBER_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100, "thousand": 1000, "dozen": 12,
}  # fmt: skip

_FIGURE = re.compile(
    r"(?<![:\w])(?P<money>[£€$]\s?)?(?:(?P<digits>\d[\d,]{0,14}(?:\.\d{1,6})?)(?P<k>\s?k\b)?(?!\d|:\d)|\b(?P<word>"
    + "|".join(NUMBER_WORDS)
    + r")\b)(?:\W{0,2}(?:(?:a |per |an )?(?P<unit>%|percent|euros?|pounds?|dollars?|eur|gbp|usd|chf|quid|bucks|[ap]m"
    r"|[kgt]b|kg|ms|[ck]?m|mm|ml|mg|bar|kwh?|(?!(?:is|was|has|goes|needs|gets|as|this|plus|its)\b)[a-z]{2,}s\b)))?",
    re.I,
)
_COMPARED = re.compile(
    r"\b" + one_of(
        """at most,at the most,at least,at the least,under,over,up to,above,below,beyond,within,max,maximum,min,minimum,
        more than,less than,fewer than,later than,longer than,make that,make it,not,to,about,around,limit,limit is,
        limit of,        budget,budget is,budget of,cap,cap is,is,exceed"""
    ) + r"\W*(?:an? |of |only |now )?\Z",
    re.I,
)  # fmt: skip
_MONEY = frozenset(("euro", "pound", "dollar", "eur", "gbp", "usd", "chf", "quid", "buck"))


class Figure(NamedTuple):
    """A number in a text: its value, its unit (``money`` for any currency), and whether it measures something."""

    value: float
    unit: str
    measures: bool


@lru_cache(maxsize=1024)
def figures(words: str) -> tuple[Figure, ...]:
    """Return the numbers in ``words``, as digits or words, without clock times."""
    return tuple(_figure(words, match) for match in _FIGURE.finditer(words))


def _figure(words: str, match: re.Match[str]) -> Figure:
    digits = (match["digits"] or "").replace(",", "")
    value = float(digits or NUMBER_WORDS[match["word"].lower()]) * (1000 if match["k"] else 1)
    unit = (match["unit"] or "").lower().removesuffix("s")
    unit = "money" if match["money"] or unit in _MONEY else unit
    compared = _COMPARED.search(words[max(0, match.start() - 40) : match.start()])
    return Figure(value, unit, bool(unit or match["k"] or compared))


def sets_another(new: Sequence[Figure], text: str, times: float = 10) -> bool:
    """Return whether one of the ``new`` figures could replace a quantity in ``text``: near, and of no other unit."""
    old = [figure for figure in figures(text) if figure.measures]
    return any(
        a.value != b.value
        and a.unit in ("", b.unit)
        and min(a.value, b.value) > 0
        and 1 / times <= a.value / b.value <= times
        for a in new
        for b in old
    )
