"""Counts, and dates that nothing is linked to: facts of subject, predicate and object."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acc.compressors.rules.values import subject_of, values_in
from acc.compressors.rules.words import one_of

_COUNTED = re.compile(
    r" (?P<noun>(?!" + one_of(
        """of, or, and, to, in, per, a, lines?, words?, sentences?, paragraphs?, bullets?, pages?,
        times, things, options, points, minutes, hours, days, weeks, months, years, seconds, ones"""
    ) + r")(?:[a-z-]{3,20} )?(?:[a-z-]{2,20}[^\Ws]s|people|staff|children))\b"
)  # fmt: skip
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
    """ "We're 9 people", "twelve nodes"."""
    for value in values_in(words):
        if value.kind != "number" or "." in value.text:
            continue
        noun = _COUNTED.match(words, value.end)
        if noun:
            yield noun["noun"], "count", value.text
        elif _WE_ARE.search(words[: value.start]) and not words[value.end :][:2].strip().isalnum():
            yield "people", "count", value.text
