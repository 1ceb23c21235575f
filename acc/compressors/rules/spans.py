"""Where in a sentence a value of some shape could stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from acc.compressors.rules.shapes import (
    ARTICLES,
    NUMBER,
    PREPOSITIONS,
    SINGLE,
    STOPS,
    Shape,
    is_amount,
    is_count,
    is_name,
    is_shape,
    is_when,
    stops,
)
from acc.compressors.rules.wordforms import Word, word_set

LONGEST_PHRASE, LONGEST_CLAUSE, LONGEST_VALUE = 8, 40, 9
"""Words of a phrase, a clause, a date or amount."""

_ORDERS = word_set(
    """
    make ensure tell keep let see give get find look show wait stop remember call warn
    ask check try go come don't do be have
    """
)
"""Words with which a request begins, and no phrase."""


class Span(NamedTuple):
    """A place where a value may stand: its texts, more than one where they are listed."""

    texts: tuple[str, ...]
    end: int


def spans(shape: Shape, words: Sequence[Word], at: int, text: str, *, ends: bool) -> Iterator[Span]:
    """Where a value of ``shape`` could stand from ``at`` on, the likeliest first.

    Args:
        shape: The shape.
        words: The sentence.
        at: Index of the first word.
        text: The sentence as it was said.
        ends: Whether nothing else is looked for behind it.
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
    """One word of the shape, behind its noun ("host FIN-LT-22"); or several, listed."""
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
    fits = _FITS[shape]
    for end in range(min(len(words), at + LONGEST_VALUE), at, -1):
        if fits(words[at:end]):
            yield Span((text[words[at].start : words[end - 1].end],), end)


_FITS: dict[Shape, Callable[[Sequence[Word]], bool]] = {
    "when": is_when,
    "amount": is_amount,
    "count": is_count,
    "name": is_name,
}
