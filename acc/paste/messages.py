"""Messages copied out of a chat program: a line with name and time, and what was written below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from acc.paste.lines import Span, lines

_TIME = r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?: ?[ap]\.?m\.?)?"
_DAY = r"(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|today|yesterday|heute|gestern|[a-z]+day)"
_NAME = r"[^\W\d_][\w.'’-]{0,24}(?: [\w.'’()-]{1,24}){0,3}"

_HEAD = re.compile(
    rf"\s{{0,8}}(?:{_NAME} ?[—–] ?(?:{_DAY},? (?:at )?)?{_TIME}"  # Discord
    rf"|{_NAME}, \[{_DAY},? {_TIME}\]:?"  # Telegram
    rf"|\[{_DAY},? {_TIME}\] {_NAME}:?|\[{_TIME}\] [^\W\d_][\w'-]* [^\W\d_][\w'-]*"  # Teams
    rf"|{_NAME}(?:  | ?\t| \[)(?:app ? ?)?{_TIME}\]?)\s{{0,8}}\Z",  # Slack
    re.I,
)


def copied(text: str) -> Iterator[Span]:
    """From the head of a message to the end: nothing says where the last one stops.

    A head has text below it; where the next line is one too, it is a timetable's.
    """
    found = [(start, line) for start, line in lines(text) if line.strip()]
    for (start, line), (_, below) in pairwise(found):
        if _HEAD.match(line) and not _HEAD.match(below):
            yield start, len(text)
            return
