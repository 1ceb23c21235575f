"""Words that several cue tables share, and how tables become patterns.

A pattern sees one sentence of at most `LONGEST` characters with straight apostrophes, case
folded. Its repeats are bounded, so that a search stays linear in the sentence.
"""

from __future__ import annotations

import re


def one_of(phrases: str) -> str:
    """A pattern for any of the ``phrases`` up to the end of a word.

    Commas separate them, but for those in braces; white space counts as one space.
    """
    return "(?:" + "|".join(" ".join(p.split()) for p in _COMMA.split(phrases)) + r")\b"


_COMMA = re.compile(r",(?![^{}]*\})")


def any_of(*patterns: str) -> re.Pattern[str]:
    """One pattern that matches where any of ``patterns`` does."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.I)


NUMBER_WORD = one_of(
    """one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, fifteen, twenty,
    thirty, forty, fifty, sixty, seventy, eighty, ninety, hundred, thousand, half, a dozen,
    a hundred, a thousand"""
)
NUMBER = rf"(?:[£€$]?\d[\d,.:]*\s?(?:k|m|%)?|\b{NUMBER_WORD})"

SIZE = one_of(
    """words?, characters?, lines?, sentences?, paragraphs?, bullets?(?: points?)?, pages?, slides?,
    decimals?(?: places)?"""
)
FORM = one_of(
    """bullet points?, bullets, markdown, tables?, json, csv, plain (?:text|english|language), utc,
    iso, (?:si|metric|imperial) units, metric, celsius, lower-?case, upper-?case, 24-hour, capitals,
    writing, pdf, word, excel,
    (?:british |american )?spelling, (?:british |american )?english, german, french, spanish,
    italian, dutch, portuguese, polish, turkish, russian, chinese, japanese, arabic, swedish,
    danish, czech, greek, hindi, kilomet(?:re|er)s, miles, met(?:re|er)s, feet, kilos,
    (?:milli)?grams, euros, pounds, dollars, percent"""
)
