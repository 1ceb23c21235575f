"""Values in a sentence, and the phrase that a value is the value of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from acc.compressors.words import NUMBER_WORD

_MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_UNITS = r"(?:ms|s|sec|seconds?|min|minutes?|h|hours?|days?|weeks?|months?|years?|kb|mb|gb|tb|kg|g|mg|ml|l|km|m|rpm|qps|rps)\b"

VALUES: tuple[tuple[str, str], ...] = (
    ("dates", rf"{_DAY}(?: ?{_MONTH})?(?: ?[-–] ?| to | until ){_DAY}(?: of)? {_MONTH}(?:,? \d{{4}})?|{_MONTH} {_DAY} ?(?:-|–|to) ?{_DAY}(?:,? \d{{4}})?"),
    ("date", rf"\b{_DAY}(?: of)? {_MONTH}(?: \d{{4}})?|\b{_MONTH} {_DAY}(?!\d)(?:,? \d{{4}})?|\b\d{{4}}-\d\d-\d\d\b"),
    ("amount", r"[£€$]\s?\d[\d,]*(?:\.\d+)?(?:\s?(?:k|m|bn|million)\b)?|\b\d[\d,]*(?:\.\d+)?\s?k?\s?(?:euros?|pounds?|dollars?|EUR|GBP|USD|CHF)\b"),
    ("time", r"\b\d{1,2}:\d\d(?:\s?[ap]m\b)?(?:\s(?:UTC|CET|CEST|GMT)\b)?|\b\d{1,2}\s?[ap]m\b"),
    ("share", r"\b\d+(?:\.\d+)?\s?(?:%|percent\b)"),
    ("version", r"\bv?\d{1,4}\.\d{1,4}\.\d{1,4}[\w.+-]{0,20}|\bv\d{1,3}(?:\.\d{1,3})?\b"),
    ("id", r"\b(?=[A-Z0-9_-]{0,40}\d)(?=[A-Z0-9_-]{0,40}[A-Z])[A-Z0-9]{1,20}(?:[-_][A-Z0-9]{1,20}){0,5}\b"),
    ("duration", rf"\b\d+(?:\.\d+)?\s?{_UNITS}"),
    ("number", rf"\b\d[\d,]*(?:\.\d+)?\b|\b{NUMBER_WORD}\b"),
)  # fmt: skip
"""Kinds of value; the first that matches at a place counts. A kind is a predicate, if nothing better is said."""

_VALUE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in VALUES), re.I)
_LINK = re.compile(
    r"(?:^|\s)(?P<link>is|are|was|were|'s|'re|of|at|stands?|comes?|came|drops?|dropped|rises?|"
    r"rose|goes|falls?|fell|grew|grows|"
    r"moves?|moved|changes?|changed|remains?|becomes?|shows?|holds|has|have|reads?|equals?|"
    r"totals?|costs?|needs?|takes?|"
    r"leaves?|starts?|ends?|runs?|[:=])"
    r"(?:\s(?:now|only|about|around|roughly|still|already|just|currently|again|up|down|out|at|to|"
    r"by|on|for|from|due|set|"
    r"under|an?|the|total|is|of|over|almost|nearly|exactly|and|held)){0,4}\s*(?:[(\"'“]\s?)?$",
    re.I,
)
_BREAK = frozenset(
    """
    a an the this that these those my your our his her its their i we you he she they it me us him them who which what
    is are was were be been being am do does did has have had will would shall should can could may might must
    and or but so because if when while as than then now still also just only not no yes again already
    without into onto through during before after until till since about out up down whatever
    leaving giving making bringing puts put brings leaves gives makes start starts stands stand comes
    there here some any each every all both one ok okay right done good great sure sorry so
    """.split()
)
_OWNERS = frozenset("for in on at from by to with over under above below between against".split())
_DULL = frozenset("new current latest updated revised old final same total overall actual only whole entire".split())
_WORD = re.compile(r"[^\s,;:()\"“”!?]+")
_NAMED = re.compile(r"[A-ZÀ-Þ][\w'-]+(?: (?:do|da|de|del|di|la|le|of|van|von|der) [A-ZÀ-Þ][\w'-]+)+$")
_EDGE = re.compile(r"[,;:(!?–—]\s|\.\s")


class Value(NamedTuple):
    """A value in a sentence.

    Attributes:
        kind: One of the names in `VALUES`.
        text: As it stands there.
        start: Where.
        end: Up to where.
    """

    kind: str
    text: str
    start: int
    end: int


@lru_cache(maxsize=256)
def values_in(words: str) -> tuple[Value, ...]:
    """The values in a sentence, in order."""
    return tuple(_values(words))


def _values(words: str) -> Iterator[Value]:
    for match in _VALUE.finditer(words):
        kind = match.lastgroup or "number"
        if kind == "id" and re.fullmatch(r"(?:Q|H)\d|[A-Z]\d?|\d+[A-Z]?", match.group()):
            continue
        if kind == "id" and not match.group().isupper():
            continue
        if match.group().lower() in ("one", "half", "a dozen"):
            continue
        yield Value(kind, match.group().strip(), match.start(), match.end())


def subject_of(words: str, value: Value) -> tuple[str, str] | None:
    """The phrase that a value is linked to ("the close pack is due on ..."), and the link; or None."""
    before = words[: value.start]
    link = _LINK.search(before[-90:])
    if link is None:
        return None
    phrase = phrase_before(before[: len(before) - len(before[-90:]) + link.start("link")])
    return (phrase, before[-90:][link.start("link") :].strip().lower()) if phrase else None


def phrase_before(words: str) -> str:
    """The noun phrase at the end of ``words``, without article and dull adjectives; or empty.

    "so the close pack for Stuart (CFO)" gives "close pack": what it is for does not name it.
    """
    tail = re.sub(r"\([^)]{0,40}\)\s*$", "", words[-120:])
    edge = 0
    for edge_match in _EDGE.finditer(tail):
        edge = edge_match.end()
    named = _NAMED.search(tail, edge)
    if named:
        return named.group()
    found: list[str] = []
    owned: list[str] = []
    for match in reversed(list(_WORD.finditer(tail, edge))):
        word = match.group().strip("'’.-")
        if not word or word[0] in "£€$" or word.lower().split("'")[0] in _BREAK:
            break
        if word.lower() in _OWNERS:
            if not (found or owned):
                break  # "the limit I work with is": a clause, no phrase
            owned, found = found or owned, []
            continue
        found.insert(0, word)
    kept = found or owned
    while kept and kept[0].lower() in {*_DULL, "of"}:
        kept = kept[1:]
    phrase = " ".join(kept[-5:]).removesuffix("'s").removesuffix("’s")
    participle = len(kept) == 1 and phrase.endswith(("ed", "ing"))
    return phrase if sum(c.isalpha() for c in phrase) >= 2 and not participle else ""
