"""The shapes of values: identifiers, dates, amounts, names, phrases.

A field has the shapes of its values in the examples.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from acc.keyless.entities import ENDINGS
from acc.keyless.words import Word, word_set, words_in
from acc.text.patterns import one_of

Shape = Literal[
    "address", "e-mail", "ip", "hash", "path", "domain", "code", "number", "when", "amount",
    "count", "name", "phrase", "clause",
]  # fmt: skip

_QUANTITY = re.compile(r"[£€$]?\d[\d.,:]*(?:[-–]\d[\d.,:]*)?(?:[a-z%]{0,3}|[KMB])")
_SINGLE: dict[Shape, re.Pattern[str]] = {
    "address": re.compile(r"(?:https?|hxxps?)://\S+"),
    "e-mail": re.compile(r"[\w.+-]+(?:@|\[@\]|\[at\])[\w-]+(?:\[?\.\]?[\w-]+)+"),
    "ip": re.compile(r"(?:\d{1,3}\[?\.\]?){3}\d{1,3}(?:[:/]\d{1,5})?|(?:[0-9a-f]{1,4}:){3,7}:?[0-9a-f]{1,4}"),
    "hash": re.compile(r"(?:md5:|sha\d{1,3}:)?[0-9a-fA-F]{32,128}"),
    "path": re.compile(rf"(?:[\w.@-]*/)+[\w.@-]*\w|[\w.-]+\.{ENDINGS}"),
    "domain": re.compile(r"(?:[a-z0-9-]+(?:\.|\[\.\]))+[a-z]{2,}"),
    "code": re.compile(r"#\d+|(?=\S*[A-Za-z_])(?=\S*[\d_])\w[\w./+-]*\w"),
    "number": re.compile(r"\d{2,}"),
}  # fmt: skip
SINGLE = frozenset(_SINGLE)
"""Shapes of one word."""

_DAY = one_of(
    """mon(?:day)?, tue(?:sday)?s?, wed(?:nesday)?, thu(?:rsday)?s?, fri(?:day)?, sat(?:urday)?,
    sun(?:day)?, weekdays?, weekends?, today, tonight, tomorrow, noon, midnight, eod, eob, morning,
    afternoon, evening, january, february, april, june, july, august, september, october, november,
    december, jan, feb, mar, apr, jun, jul, aug, sept?, oct, nov, dec, weeks?, months?, quarter,
    days?, hours?, minutes?, mins?"""
)
_WHEN = re.compile(
    rf"(?:{_DAY})|\d{{1,2}}:\d\d(?:[-–]\d{{1,2}}:\d\d)?|\d{{1,2}}(?:[-–]\d{{1,2}})?(?:am|pm)|"
    r"\d{4}-\d\d-\d\d|\d{1,2}/\d{1,2}(?:/\d{2,4})?|Q[1-4]|H[12]|FY\d\d(?:\d\d)?|20\d\d|\d{1,3}(?:h|d|min)",
    re.I,
)
_MONTH_LIKE = frozenset(("May", "March"))
_COUNTED = re.compile(r"\d{1,3}(?:st|nd|rd|th)?(?:[-–]\d{1,3})?|(?:UTC|GMT|CES?T|[ECMP][SD]?T)")
_LINK = word_set("at on to until till and of end the next this , – -")
NUMBER = re.compile(r"[£€$]?\d[\d.,]*(?:[-–]\d[\d.,]*)?(?:%|k|m|bn)?", re.I)
_MONEY = re.compile(
    r"[£€$%]|"
    + one_of(
        """eur, usd, gbp, chf, sek, nok, dkk, jpy, euros?, pounds?, dollars?, percent, k, m, bn,
        million, thousand, billion, s, ms, seconds?, kg, tonnes?, t, km, l, litres?, mm, cm, bar, kw, mw"""
    )
    + r"\Z",
    re.I,
)

ARTICLES = frozenset(("the", "a", "an", "our", "my", "your", "their", "its"))
NEGATORS = word_set(
    """
    no not never none nobody nothing neither nor without cannot isn't aren't wasn't
    weren't don't doesn't didn't won't wouldn't can't couldn't shouldn't hasn't haven't
    hadn't ain't hardly barely
    """
)
PREPOSITIONS = word_set(
    """
    of in on at by for from to with into over under after before until till since during
    against via per as than
    """
)
STOPS = NEGATORS | word_set(
    """
    i we you he she it they who what which that this these those there how why where
    when if unless whether because and or but so while once is are was were be been
    being am has have had do does did will would shall should can could may might must
    's 're 've 'll 'd 'm doubt think hope wish believe assume know hear heard wonder
    deny denies denied says said say claims claimed told tells seems seem looks maybe
    perhaps probably please let
    """
)


def shape_of(value: str, *, opens: bool, is_short: bool) -> Shape:
    """The shape of an example's value.

    Args:
        value: The value.
        opens: Whether the value begins the example, where every word is capitalised.
        is_short: Whether the field is a name rather than a line.
    """
    words = words_in(value)
    if len(words) == 1:
        for shape, pattern in _SINGLE.items():
            if pattern.fullmatch(value) and not _is_quantity(shape, value):
                return shape
    if not is_short:
        return "clause"
    for shape, fits in _TYPED.items():
        if fits(words):
            return shape
    capitals = len(words) <= 3 and all(_is_capital(word) for word in words)
    return "name" if capitals and not opens else "phrase"


def is_shape(shape: Shape, word: Word) -> bool:
    """Whether a single word is a value of a `SINGLE` shape."""
    return _SINGLE[shape].fullmatch(word.text) is not None and not _is_quantity(shape, word.text)


def _is_quantity(shape: Shape, text: str) -> bool:
    return shape == "code" and bool(_QUANTITY.fullmatch(text) or _WHEN.fullmatch(text))


def _is_real(word: Word) -> bool:
    return _WHEN.fullmatch(word.text) is not None or word.text in _MONTH_LIKE


def is_when(words: Sequence[Word]) -> bool:
    """Whether the words are a time or a period: "Wed 02:00-04:00", "4 October, 18:00"."""
    edges = all(_is_real(w) or _COUNTED.fullmatch(w.text) for w in (words[0], words[-1]))
    known = (_is_real(w) or _COUNTED.fullmatch(w.text) or w.text.lower() in _LINK for w in words)
    return edges and any(_is_real(w) for w in words) and all(known)


def is_amount(words: Sequence[Word]) -> bool:
    """Whether the words are a number with or without its unit: "EUR 4.21m", "60 s"."""
    numbers = sum(NUMBER.fullmatch(word.text) is not None for word in words)
    others = [word for word in words if not NUMBER.fullmatch(word.text)]
    return numbers == 1 and len(words) <= 4 and all(_MONEY.match(word.text) for word in others)


def is_count(words: Sequence[Word]) -> bool:
    """Whether the words are a number of things: "1,200 messages"."""
    nouns = words[1:]
    return (
        1 <= len(nouns) <= 2
        and NUMBER.fullmatch(words[0].text) is not None
        and all(w.text.isalpha() and w.text.islower() and not stops(w) for w in nouns)
    )


def is_name(words: Sequence[Word]) -> bool:
    """Whether the words are a proper name."""
    return len(words) <= 4 and all(_is_capital(w) for w in words) and not is_when(words)


def _is_capital(word: Word) -> bool:
    text = word.text.replace("-", "").replace("'", "").removesuffix(".")
    return text.isalpha() and text[0].isupper() and word.text.lower() not in STOPS


def stops(word: Word) -> bool:
    """Whether a noun phrase must end before this word."""
    low = word.text.lower()
    return low in STOPS or low in PREPOSITIONS


LONGEST_PHRASE, LONGEST_CLAUSE, LONGEST_VALUE = 8, 40, 9
"""Maximum words of a phrase, of a clause, and of a date or amount."""

_ORDERS = word_set(
    """
    make ensure tell keep let see give get find look show wait stop remember call warn
    ask check try go come don't do be have
    """
)
"""Words that begin a request, not a phrase."""


class Span(NamedTuple):
    """A possible position of a value, with its texts; several if they are listed."""

    texts: tuple[str, ...]
    end: int


def spans(shape: Shape, words: Sequence[Word], at: int, text: str, *, ends: bool) -> Iterator[Span]:
    """The possible positions of a value of ``shape`` from ``at`` on, most probable first.

    Args:
        shape: The shape.
        words: The sentence.
        at: Index of the first word.
        text: The original sentence.
        ends: Whether the value is the last part of the pattern.
    """
    if shape in SINGLE:
        yield from _singles(shape, words, at)
    elif shape == "phrase":
        yield from _phrases(words, at, text, ends)
    elif shape == "clause":
        yield from _clauses(words, at, text, ends)
    else:
        yield from _values(shape, words, at, text)


def _singles(shape: Shape, words: Sequence[Word], at: int) -> Iterator[Span]:
    """One word of the shape after its noun ("host FIN-LT-22"), or a list of such words."""
    start = at
    while start < min(at + 3, len(words)) and not is_shape(shape, words[start]):
        low = words[start].text
        if (low not in ARTICLES and not (low.isalpha() and low.islower())) or stops(words[start]):
            return
        start += 1
    if start >= min(at + 3, len(words)):
        return
    texts, end = [words[start].text], start + 1
    while end < len(words) and len(texts) < 8:
        step = end
        while step < min(end + 2, len(words)) and words[step].text in (",", "and"):
            step += 1
        if step == end or step >= len(words) or not is_shape(shape, words[step]):
            break
        texts.append(words[step].text)
        end = step + 1
    yield Span(tuple(texts), end)
    if len(texts) > 1:
        yield Span((texts[0],), start + 1)


def _phrases(words: Sequence[Word], at: int, text: str, ends: bool) -> Iterator[Span]:
    while at < len(words) and words[at].text.lower() in ARTICLES:
        at += 1
    stop = at
    while stop < min(len(words), at + LONGEST_PHRASE) and not (
        words[stop].is_mark or words[stop].text.lower() in STOPS
    ):
        stop += 1
    first = words[at].text if at < len(words) else ""
    first = first.lower() if first != first.upper() else first  # GET /v1/files is no order
    if stop == at or first in PREPOSITIONS | _ORDERS or NUMBER.fullmatch(first):
        return
    for end in range(stop, at, -1) if ends else range(at + 1, stop + 1):
        if words[end - 1].text.lower() in PREPOSITIONS | ARTICLES:
            continue
        said = text[words[at].start : words[end - 1].end]
        if any(c.isalpha() for c in said):
            yield Span((said,), end)
        if ends:
            return


def _clauses(words: Sequence[Word], at: int, text: str, ends: bool) -> Iterator[Span]:
    if at >= len(words) or words[at].is_mark or words[at].text.lower() in ("and", "so"):
        return
    last = min(len(words), at + LONGEST_CLAUSE)
    if ends:
        while last > at and words[last - 1].is_mark:
            last -= 1
        yield Span((text[words[at].start : words[last - 1].end],), len(words))
        return
    for end in range(at + 1, last + 1):
        yield Span((text[words[at].start : words[end - 1].end],), end)


def _values(shape: Shape, words: Sequence[Word], at: int, text: str) -> Iterator[Span]:
    while at < len(words) and words[at].text.lower() in ARTICLES:
        at += 1
    fits = _TYPED.get(shape, is_name)
    for end in range(min(len(words), at + LONGEST_VALUE), at, -1):
        if fits(words[at:end]):
            yield Span((text[words[at].start : words[end - 1].end],), end)


_TYPED: dict[Shape, Callable[[Sequence[Word]], bool]] = {
    "when": is_when, "amount": is_amount, "count": is_count,
}  # fmt: skip
"""The shapes of several words that are no text and no name."""
