"""Joins phrases into regular expressions."""

from __future__ import annotations

import re


def one_of(phrases: str) -> str:
    """A pattern for any of the ``phrases`` up to the end of a word.

    Commas separate the phrases, except within braces. White space counts as one space.
    """
    return "(?:" + "|".join(" ".join(p.split()) for p in _COMMA.split(phrases)) + r")\b"


_COMMA = re.compile(r",(?![^{}]*\})")


def any_of(*patterns: str) -> re.Pattern[str]:
    """A pattern that matches any of ``patterns``."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.I)


def cue(phrases: str, before: str = r"\b") -> re.Pattern[str]:
    """A pattern that finds any of the ``phrases`` (`one_of`) in a text, in any case, after ``before``."""
    return re.compile(before + one_of(phrases), re.I)


def whole(phrases: str) -> re.Pattern[str]:
    """A pattern that matches a text that is one of the ``phrases`` (`one_of`), in any case."""
    return re.compile(one_of(phrases) + r"\Z", re.I)


NUMBER_WORD = one_of(
    """one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, fifteen, twenty,
    thirty, forty, fifty, sixty, seventy, eighty, ninety, hundred, thousand, half, a dozen,
    a hundred, a thousand"""
)
