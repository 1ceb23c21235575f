"""A sentence as words and marks, each with the form by which it is compared."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from acc.terms import terms

BREAKS = frozenset(",;:–—-(")
"""Marks between the parts of a sentence."""

_CLOSING = frozenset('.!?)"”…')
_LEADING = "(\"“'"
_TRAILING = ",;:.!?)\"”…'"
_SHORT = re.compile(r"(?<=\w)'(?:s|re|ve|ll|d|m)$", re.I)
_LABEL = re.compile(r"([A-Za-z]{2,}):(?=[A-Za-z])(?!//)")
_ALONE = frozenset("-–—(,;:")


class Word(NamedTuple):
    """A word or a mark of a sentence.

    Attributes:
        text: As it stands there.
        form: Its stem in small letters, without hyphens; of a mark the mark.
        start: Where.
        end: Up to where.
    """

    text: str
    form: str
    start: int
    end: int

    @property
    def is_break(self) -> bool:
        """Whether it parts the sentence."""
        return self.text in BREAKS

    @property
    def is_mark(self) -> bool:
        """Whether it is no word."""
        return self.text in BREAKS or self.text in _CLOSING


@lru_cache(maxsize=512)
def words_in(sentence: str) -> tuple[Word, ...]:
    """The words and marks of ``sentence``, which has straight apostrophes, in order.

    A mark within a word ("09:00", "203.0.113[.]7") belongs to it; "'s" and the colon of a label
    ("TLP:AMBER") stand alone.
    """
    return tuple(
        Word(sentence[start:end], _form(sentence[start:end]), start, end)
        for chunk in re.finditer(r"\S+", sentence)
        for start, end in _parts(sentence, chunk.start(), chunk.end())
    )


def _parts(text: str, start: int, end: int) -> list[tuple[int, int]]:
    if text[start:end] in _ALONE:
        return [(start, end)]
    before: list[tuple[int, int]] = []
    after: list[tuple[int, int]] = []
    while start < end and text[start] in _LEADING:
        before.append((start, start + 1))
        start += 1
    while start < end and text[end - 1] in _TRAILING:
        after.insert(0, (end - 1, end))
        end -= 1
    parts = [p for p in before if text[p[0]] == "("]
    label = _LABEL.match(text, start, end)
    if label:
        colon = label.end() - 1
        parts += [(start, colon), (colon, colon + 1)]
        start = colon + 1
    short = _SHORT.search(text[start:end])
    if short:
        parts += [(start, start + short.start()), (start + short.start(), end)]
    elif start < end:
        parts.append((start, end))
    return [*parts, *(p for p in after if text[p[0]] not in "'\"”")]


@lru_cache(maxsize=4096)
def _form(text: str) -> str:
    folded = text.casefold().replace("-", "") or text
    stems = terms(folded) if folded.isalpha() else []
    return stems[0] if len(stems) == 1 else folded


def forms(text: str) -> tuple[str, ...]:
    """The forms of the words of a text, marks left out."""
    return tuple(word.form for word in words_in(text) if not word.is_mark)


def word_set(text: str) -> frozenset[str]:
    """The words of a text between its white space."""
    return frozenset(text.split())
