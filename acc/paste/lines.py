"""The lines of a text, however they end, and what counts as long."""

from __future__ import annotations

import re
from collections.abc import Iterator

Span = tuple[int, int]
"""Where a passage begins and ends in its text."""

TAKEN = "\x00"
"""Stands, character by character, where a passage was found already; `plain` leaves no other."""

QUOTED_WORDS = 8
"""A quotation of more words than this is somebody else's."""

_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WIDE_PER_WORD = 2

_BREAKS = dict.fromkeys(map(ord, "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), "\n")
_UNSEEN = dict.fromkeys(map(ord, "\x00\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"), " ")


def plain(text: str) -> str:
    """``text`` with every break of a line as a line feed, and a space for what nobody sees.

    As long as before, place by place.
    """
    return text.replace("\r\n", " \n").translate({**_BREAKS, **_UNSEEN})


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line of `plain` text with its place."""
    position = 0
    while position <= len(text):
        end = line_end(text, position)
        yield position, text[position:end]
        position = end + 1


def line_end(text: str, position: int) -> int:
    """Where the line ends that ``position`` is in."""
    end = text.find("\n", position)
    return end if end >= 0 else len(text)


def is_long(quotation: str) -> bool:
    """Whether ``quotation`` has more than `QUOTED_WORDS` words; two signs of Chinese count as one."""
    if len(quotation.split(None, QUOTED_WORDS)) > QUOTED_WORDS:
        return True
    return len(_WIDE.findall(quotation)) > QUOTED_WORDS * _WIDE_PER_WORD
