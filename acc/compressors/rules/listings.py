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

LOOKED_AT = 60
"""Lines of one output that are looked at for these."""

_LINE = re.compile(
    r"[ \t]*[\"']?(?P<key>[A-Za-z]+\.?(?:[ _-][A-Za-z]+\.?|, [A-Za-z]+){0,3})[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
    r"(?P<value>[^\s\"'{}\[\],][^\n\"{}\[\]|]{0,80}?)[\"']?,?[ \t]{0,4}\r?\Z"
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
    then the first few others that give an identifier, an amount, a date or a long number."""
    pairs = (line for line in tool.text.split("\n") if ":" in line or "=" in line)
    matched = filter(None, map(_LINE.match, pairs))
    found = islice(matched, MOST_LINES)
    lines = [(m["key"], m["value"].strip()) for m in found if not _NO_FACT.match(m["key"])]
    wanted = {key for key, _ in lines if stems(key) & asked}
    others = islice((line for line in lines if line[0] not in wanted), LOOKED_AT)
    unasked = islice((line for line in others if _identifies(line[1])), UNASKED)
    for key, value in (*(line for line in lines if line[0] in wanted), *unasked):
        yield key.replace("_", " ").lower(), value


_KINDS = frozenset(("id", "amount", "date", "dates"))
_LONG_NUMBER = re.compile(r"\d{4}")
_DIGIT = re.compile(r"\d")


def _identifies(value: str) -> bool:
    if _LONG_NUMBER.search(value):
        return True
    return _DIGIT.search(value) is not None and any(v.kind in _KINDS for v in values_in(value))
