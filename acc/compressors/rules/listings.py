"""Facts that a tool lists as plain "key: value" lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from acc.compressors.rules.words import one_of
from acc.turn import Observation
from acc.wording import stems

MOST_LINES = 2_000
"""Such lines that are looked at in one output."""

_LINE = re.compile(
    r"^[ \t]*[\"']?(?P<key>[A-Za-z]+(?:[ _-][A-Za-z]+){0,3})[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?"
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
    """Keys and values of the lines of ``tool`` whose key has a stem that was ``asked`` for."""
    for match in islice(_LINE.finditer(tool.text), MOST_LINES):
        key = match["key"]
        if not _NO_FACT.match(key) and stems(key) & asked:
            yield key.replace("_", " ").lower(), match["value"].strip()
