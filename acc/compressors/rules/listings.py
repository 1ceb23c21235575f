"""Facts that a tool lists as plain "key: value" lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from acc.compressors.rules.values import values_in
from acc.compressors.rules.words import one_of
from acc.turn import Observation
from acc.wording import stems

MOST_LINES = 2_000
"""Such lines that are looked at in one output."""

UNASKED = 6
"""Lines of one output that are told although nobody asked for them."""

_LINE = re.compile(
    r"^[ \t]*[\"']?(?P<key>[A-Za-z]+\.?(?:[ _-][A-Za-z]+\.?|, [A-Za-z]+){0,3})[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
    r"(?P<value>[^\s\"'{}\[\],][^\n\"{}\[\]|]{0,80}?)[\"']?,?[ \t]{0,4}\r?$",
    re.M,
)
_NO_FACT = re.compile(
    one_of(
        """from, to, cc, bcc, subject, date, sent, re, note, memo, warning, todo, instructions?,
        https?"""
    )
    + r"\Z",
    re.I,
)
"""Heads of mails, and keys whose value is prose."""


def listed(tool: Observation, asked: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Keys and values of the lines of ``tool``: those whose key has a stem that was ``asked`` for,
    and the first few others that give an identifier, an amount, a date or a long number."""
    others = 0
    for match in islice(_LINE.finditer(tool.text), MOST_LINES):
        key, value = match["key"], match["value"].strip()
        if _NO_FACT.match(key):
            continue
        if not stems(key) & asked:
            if others == UNASKED or not _identifies(value):
                continue
            others += 1
        yield key.replace("_", " ").lower(), value


_KINDS = frozenset(("id", "amount", "date", "dates"))
_LONG_NUMBER = re.compile(r"\d{4}")
_DIGIT = re.compile(r"\d")


def _identifies(value: str) -> bool:
    if _LONG_NUMBER.search(value):
        return True
    return _DIGIT.search(value) is not None and any(v.kind in _KINDS for v in values_in(value))
