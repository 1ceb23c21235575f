"""Counts, and dates that nothing is linked to: facts of subject, predicate and object."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acc.compressors.rules.values import subject_of, values_in
from acc.compressors.rules.words import one_of

_COUNTED = re.compile(
    r" (?P<noun>(?!" + one_of(
        """of, or, and, to, in, per, a, lines?, words?, sentences?, paragraphs?, bullets?, pages?,
        times, things, options, points, minutes, hours, days, weeks, months, years, seconds, ones,
        says, asks, wants, needs, means, goes, comes, gets, takes, makes, gives, leaves, holds, shows,
        covers, works, runs, stays, stands, speaks, waits, starts, ends, supports, bears, follows"""
    ) + r")(?:[a-z-]{3,20} )?(?:[a-z-]{2,20}[^\Ws]s|people|staff|children))\b"
)  # fmt: skip
_GOES_ON = re.compile(
    r"(?P<rest> (?:" + one_of(
        """are, is, were, was, have, has, had, remain, remains, wait, went, go, came, still, left,
        open, out, down, across, over, short, missing, free, \\w{3,}ed"""
    ) + r")\b[^,;:.()–—]{0,60}?)(?=[,;:()–—]|\.(?:\s|$)|\s(?:and|but|so|which|who|because)\b|$)"
)  # fmt: skip
"""What is said of what is counted, up to where the clause ends."""
_NO_COUNT = re.compile(r"0\d|.*\.")
_OF_ALL = re.compile(r" of (?:the |our |your |all )?\d+(?:,\d{3})*")
_OF_THEM = re.compile(r" of (?:them|these|those)\b")
_OPENS = re.compile(r"(?:^|[,;:] |[^\d\s] (?:and|so|but) |\bof (?:them|these|those|which),? )$")
"""Before a number that stands for some of what was counted: no other noun has it."""
_WE_ARE = re.compile(r"\b(?:we're|we are|that makes us|making us|there are)(?: now)? $", re.I)
_APPOINTMENT = re.compile(
    r"\b(?:(?!the |a |our |my |your )[\w-]{2,20} )?" + one_of(
        """deadline, due date, launch, go-live, meeting, appointment, delivery, review, exam,
        hearing, release, cut-off, kick-off"""
    ),
    re.I,
)  # fmt: skip


def dated(words: str) -> Iterator[tuple[str, str, str]]:
    """A date that nothing is linked to: of the appointment in the sentence, or of the whole."""
    for value in values_in(words):
        if value.kind not in ("dates", "date") or subject_of(words, value) is not None:
            continue
        named = _APPOINTMENT.search(words)
        if named or value.kind == "dates":
            yield named.group() if named else "dates", value.kind, value.text


def counted(words: str) -> Iterator[tuple[str, str, str]]:
    """ "We're 9 people", "171 of 214 tables are across", "and 8 of them are missing"."""
    last, end = "", 0
    for value in values_in(words):
        if value.kind != "number" or _NO_COUNT.match(value.text) or value.start < end:
            continue
        whole = _OF_ALL.match(words, value.end)
        noun = _COUNTED.match(words, whole.end() if whole else value.end)
        if noun:
            last, end = noun["noun"], noun.start()
            yield last, "count", words[value.start : end] + _goes_on(words, noun.end())
        elif _WE_ARE.search(words[: value.start]) and not words[value.end :][:2].strip().isalnum():
            yield "people", "count", value.text
        elif last and _OPENS.search(words[: value.start]):
            them = _OF_THEM.match(words, value.end)
            said = _goes_on(words, them.end() if them else value.end)
            if said:
                yield last, "of which", value.text + said


def _goes_on(words: str, at: int) -> str:
    found = _GOES_ON.match(words, at)
    return found["rest"] if found else ""
