"""Finds base64 in a text: a picture or another file, in which nobody's words stand."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 8_192
"""Characters from which base64 counts as data: longer than any secret but a key block, and than any word."""

_DATA = re.compile(
    rf"(?<![\w+/-])(?:[\w+/-]{{{LONGEST},}}+|(?:[A-Za-z0-9+/]{{60,}}+(?:\\+[rn]|\s)*+)++)",
    re.ASCII,
)
"""On one line, or on lines of at least 60 characters, as MIME and PEM have them."""


def data_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each stretch of base64 of at least `LONGEST` characters. Takes linear time."""
    for found in _DATA.finditer(text) if len(text) >= LONGEST else ():
        if found.end() - found.start() >= LONGEST:
            yield found.span()


def without_data(text: str) -> str:
    """Return ``text`` with "[data]" in the place of base64."""
    kept: list[str] = []
    at = 0
    for start, end in data_in(text):
        kept += text[at:start], "[data] "
        at = end
    return "".join((*kept, text[at:]))
