"""Values and names in a sentence, and how much the sentence will be worth later."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from acc.keyless.weights import Linear, words_of
from acc.keyless.words import marks, one_of, plain

_MONTH = one_of(
    """jan(?:uary)?,feb(?:ruary)?,mar(?:ch)?,apr(?:il)?,may,june?,july?,aug(?:ust)?,sept?(?:ember)?,oct(?:ober)?,
    nov(?:ember)?,dec(?:ember)?"""
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_UNIT = one_of(
    """ms,s,sec,seconds?,min,minutes?,h,hours?,days?,weeks?,months?,years?,kb,mb,gb,tb,kg,g,mg,ml,l,km,m,rpm,qps,rps"""
)
_NUMBER_WORD = one_of(
    """two,three,four,five,six,seven,eight,nine,ten,eleven,twelve,fifteen,twenty,thirty,forty,fifty,sixty,seventy,
    eighty,ninety,hundred,thousand"""
)
_VALUE = re.compile(
    rf"(?P<dates>{_DAY}(?: ?{_MONTH})?(?: ?[-–] ?| to | until ){_DAY}(?: of)? {_MONTH}"
    rf"|{_MONTH} {_DAY} ?(?:-|–|to) ?{_DAY})"
    rf"|(?P<date>\b{_DAY}(?: of)? {_MONTH}(?: \d{{4}})?|\b{_MONTH} {_DAY}(?!\d)(?:,? \d{{4}})?|\b\d{{4}}-\d\d-\d\d\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b)"
    r"|(?P<amount>[£€$]\s?\d[\d,]{0,15}(?:\.\d+)?(?:\s?(?:k|m|bn|million)\b)?|\b\d[\d,]{0,15}(?:\.\d+)?\s?k?\s?"
    + one_of("euros?,pounds?,dollars?,eur,gbp,usd,chf")
    + r")|(?P<time>\b\d{1,2}:\d\d(?:\s?[ap]m\b)?|\b\d{1,2}\s?[ap]m\b)"
    r"|(?P<share>\b\d+(?:\.\d+)?\s?(?:%|percent\b))"
    r"|(?P<version>\bv?\d{1,4}\.\d{1,4}\.\d{1,4}[\w+-]{0,20}|\bv\d{1,3}(?:\.\d{1,3})?\b)"
    r"|(?P<id>\b(?-i:(?=[A-Z0-9_-]{0,40}\d)(?=[A-Z0-9_-]{0,40}[A-Z])[A-Z0-9]{2,20}(?:[-_][A-Z0-9]{1,20}){0,5})\b)"
    r"|(?P<host>\b(?-i:[a-z][a-z0-9]{0,20}(?:-[a-z0-9]{1,20}){0,4}-\d{1,4})\b)"
    rf"|(?P<duration>\b\d+(?:\.\d+)?\s?{_UNIT})"
    rf"|(?P<number>\b\d+(?:,\d+)*(?:\.\d+)?\b|\b{_NUMBER_WORD})",
    re.I,
)
_NAME = re.compile(
    r"(?<=[\w,;:)] )[A-ZÀ-Þ][\w'-]{1,30}(?: (?:(?:do|da|de|del|di|la|le|of|van|von|der) )?[A-ZÀ-Þ][\w'-]{1,30}){0,3}"
)
_NO_NAME = frozenset(("I", "I'm", "I'll", "I'd", "I've", "OK"))


class Value(NamedTuple):
    """A value: its kind and its text, case-folded."""

    kind: str
    text: str


@lru_cache(maxsize=2048)
def values_in(words: str) -> tuple[Value, ...]:
    """Return the values in a sentence, in order."""
    found = _VALUE.finditer(words[:1_000])
    return tuple(Value(m.lastgroup or "number", m.group().strip().casefold()) for m in found)


@lru_cache(maxsize=2048)
def names_in(words: str) -> frozenset[str]:
    """Return what has a capital within a sentence."""
    found = (m.group().removesuffix("'s") for m in _NAME.finditer(words[:1_000]))
    return frozenset(name for name in found if name not in _NO_NAME)


GRADES = (0.0, 0.4, 1.0)
"""The worth of a sentence with no, some, and much later use."""


@lru_cache(maxsize=2048)
def worth_of(words: str) -> float:
    """Return how much a sentence will be needed later, 0 to 1."""
    odds = Linear.read("worth").odds(worth_features(words))
    return sum(grade * p for grade, p in zip(GRADES, odds, strict=True))


def worth_features(words: str) -> frozenset[str]:
    """Return the names of the classifier's features."""
    tokens = words_of(plain(words))
    framed = ["^", *tokens, "$"]
    return frozenset({"", *tokens, *map(" ".join, pairwise(framed)), *_content_of(words)})


def _content_of(words: str) -> Iterator[str]:
    kinds = {value.kind for value in values_in(words)}
    yield from (f"value {kind}" for kind in kinds)
    yield f"values {min(3, len(kinds))}"
    yield f"names {min(3, len(names_in(words)))}"
    yield f"marks {min(4, len(marks(words)))}"
    yield f"length {min(8, len(words) // 25)}"
    yield f"asks {words.rstrip().endswith('?')}"
