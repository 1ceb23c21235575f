"""Values in a sentence: `values_in` finds dates, amounts, times, identifiers and numbers, `phrase_before` what they
belong to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from acc.text.patterns import NUMBER_WORD, one_of, whole

_MONTH = one_of(
    """jan(?:uary)?, feb(?:ruary)?, mar(?:ch)?, apr(?:il)?, may, june?, july?, aug(?:ust)?,
    sept?(?:ember)?, oct(?:ober)?, nov(?:ember)?, dec(?:ember)?"""
)

_DAY = r"\d{1,2}(?:st|nd|rd|th)?"

_UNIT = one_of(
    """ms, s, sec, seconds?, min, minutes?, h, hours?, days?, weeks?, months?, years?, kb, mb, gb,
    tb, kg, g, mg, ml, l, km, m, rpm, qps, rps"""
)

_CURRENCY = one_of("euros?, pounds?, dollars?, eur, gbp, usd, chf")

ID = (
    r"\b(?=[A-Z0-9_-]{0,40}\d)(?=[A-Z0-9_-]{0,40}[A-Z])"
    r"[A-Z0-9]{1,20}(?:[-_][A-Z0-9]{1,20}){0,5}\b"
)
"""An identifier of capitals and digits: "CHG-4412"."""

VALUES: tuple[tuple[str, str], ...] = (
    (
        "dates",
        rf"{_DAY}(?: ?{_MONTH})?(?: ?[-–] ?| to | until ){_DAY}(?: of)? {_MONTH}(?:,? \d{{4}})?|"
        rf"{_MONTH} {_DAY} ?(?:-|–|to) ?{_DAY}(?:,? \d{{4}})?",
    ),
    (
        "date",
        rf"\b{_DAY}(?: of)? {_MONTH}(?: \d{{4}})?|\b{_MONTH} {_DAY}(?!\d)(?:,? \d{{4}})?|"
        r"\b\d{4}-\d\d-\d\d\b",
    ),
    (
        "amount",
        r"[£€$]\s?\d+(?:,\d+)*(?:\.\d+)?(?:\s?(?:k|m|bn|million)\b)?|"
        rf"\b\d+(?:,\d+)*(?:\.\d+)?\s?k?\s?{_CURRENCY}",
    ),
    ("time", r"\b\d{1,2}:\d\d(?:\s?[ap]m\b)?(?:\s(?:UTC|CET|CEST|GMT)\b)?|\b\d{1,2}\s?[ap]m\b"),
    ("share", r"\b\d+(?:\.\d+)?\s?(?:%|percent\b)"),
    ("version", r"\bv?\d{1,4}\.\d{1,4}\.\d{1,4}[\w+-]{0,20}|\bv\d{1,3}(?:\.\d{1,3})?\b"),
    ("id", ID),
    ("duration", rf"\b\d+(?:\.\d+)?\s?{_UNIT}"),
    ("number", rf"\b\d+(?:,\d+)*(?:\.\d+)?\b|\b{NUMBER_WORD}"),
)
"""Kinds of value; the first match counts. The kind is the default predicate."""

_VALUE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in VALUES), re.I)

_NO_ID = re.compile(r"(?:(?:Q|H)\d|[A-Z]\d?|\d+[A-Z]?)\Z|.*[a-z]", re.S)

_VAGUE = frozenset(("one", "half", "a dozen"))

_LINK = re.compile(
    r"(?:^|\s)(?P<link>" + one_of(
        """is, are, was, were, of, at, stands?, comes?, came, drops?, dropped, rises?, rose, goes,
        falls?, fell, grew, grows, moves?, moved, changes?, changed, remains?, becomes?, shows?,
        holds, has, have, reads?, equals?, totals?, costs?, needs?, takes?, leaves?, starts?, ends?,
        runs?"""
    ) + r"|[:=])(?:\s" + one_of(
        """now, only, about, around, roughly, still, already, just, currently, again, up, down, out,
        at, to, by, on, for, from, due, set, under, an?, the, total, is, of, over, almost, nearly,
        exactly, and, held, \\w+day"""
    ) + r"){0,4}\s*(?:[(\"'“]\s?)?$",
    re.I,
)  # fmt: skip
"""Words that link a value to the phrase before it."""

_BREAK = re.compile(
    one_of(
        """a, an, the, this, that, these, those, my, your, our, his, her, its, their, i, we, you,
        he, she, they, it, me, us, him, them, who, which, what, is, are, was, were, be, been, being,
        am, do, does, did, has, have, had, will, would, shall, should, can, could, may, might, must,
        and, or, but, so, because, if, when, while, as, than, then, now, still, also, just, only,
        not, no, yes, yet, again, already, without, into, onto, through, during, before, after, until,
        till, since, about, out, up, down, whatever, leaving, giving, making, bringing, puts?,
        someone, somebody, anyone, anybody, everyone, everybody, nobody, runs, ran, stayed, stays,
        says, said, holds, failed, brings?, leaves?, gives?, makes?, starts?, stands?, comes?,
        there, here, some, any, each, every, all, both, one, ok, okay, right, done, good, great, sure, sorry"""
    )
    + r"(?:'|\Z)",
    re.I,
)
"""The start of a noun phrase, found by reading backwards."""

_PREPOSITION = whole(
    "for, in, on, at, from, by, to, with, over, under, above, below, between, against"
)

_DULL = whole(
    "new, current, latest, updated, revised, old, final, same, total, overall, actual, of"
)

_WORD = re.compile(r"[^\s,;:()\"“”!?]+")

_EDGE = re.compile(r"[,;:(!?–—]\s|\.\s")

_FULL_NAME = re.compile(
    r"[A-ZÀ-Þ][\w'-]{0,40}(?: (?:do|da|de|del|di|la|le|of|van|von|der) [A-ZÀ-Þ][\w'-]{0,40}){1,3}$"
)


class Value(NamedTuple):
    """A value in a sentence.

    Attributes:
        kind: One of the names in `VALUES`.
        text: The original text.
        start: Index of its first character.
        end: Index after its last character.
    """

    kind: str
    text: str
    start: int
    end: int


@lru_cache(maxsize=1024)
def values_in(words: str) -> tuple[Value, ...]:
    """The values in a sentence, in order."""
    return tuple(_values(words))


def _values(words: str) -> Iterator[Value]:
    for match in _VALUE.finditer(words):
        kind, text = match.lastgroup or "number", match.group()
        if text.lower() in _VAGUE or (kind == "id" and _NO_ID.match(text)):
            continue
        yield Value(kind, text.strip(), match.start(), match.end())


def subject_of(words: str, value: Value) -> tuple[str, str] | None:
    """The phrase that a value is linked to, and the link; None if there is none.

    "The close pack is due on 8 October" gives "close pack" and "is due on".
    """
    before = words[max(0, value.start - 90) : value.start]
    link = _LINK.search(before)
    if link is None:
        return None
    place = value.start - len(before) + link.start("link")
    phrase = phrase_before(words[:place])
    return (phrase, words[place : value.start].strip().lower()) if phrase else None


def phrase_before(words: str) -> str:
    """The noun phrase at the end of ``words``, without article and empty adjectives; may be empty.

    "so the close pack for Stuart (CFO)" gives "close pack": a recipient is no part of the name.
    """
    tail = re.sub(r"\([^)]{0,40}\)\s*$", "", words[-120:]).rstrip()
    edge = max((match.end() for match in _EDGE.finditer(tail)), default=0)
    named = _FULL_NAME.search(tail, edge)
    if named:
        return named.group()
    kept = _noun_phrase([match.group() for match in _WORD.finditer(tail, edge)])
    while kept and (_DULL.match(kept[0]) or not any(c.isalpha() for c in kept[0])):
        kept = kept[1:]
    phrase = " ".join(kept[-5:]).removesuffix("'s")
    participle = len(kept) == 1 and phrase.endswith(("ed", "ing"))
    return phrase if sum(c.isalpha() for c in phrase) >= 2 and not participle else ""


def _noun_phrase(words: list[str]) -> list[str]:
    """The phrase at the end of ``words``. After a preposition, the phrase before it counts."""
    found: list[str] = []
    behind: list[str] = []
    for raw in reversed(words):
        word = raw.strip("'.-")
        if not word or word[0] in "£€$" or _BREAK.match(word):
            break
        if not _PREPOSITION.match(word):
            found.insert(0, word)
        elif found or behind:
            behind, found = found or behind, []
        else:
            break  # "the limit I work with is": a clause, no phrase
    return found or behind
