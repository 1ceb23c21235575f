"""Telling a user's own words from what they pasted.

Rule (law 6): fences, forwarded mail, quoted lines, runs of log lines and quotations of
more than eight words are documents; shorter quotations are the user's own wording.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MARK = "[pasted]"
"""Stands in the user's words where a pasted passage was taken out."""

QUOTED_WORDS = 8
"""A quotation of more words than this is somebody else's."""

_FENCE = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.M | re.S)
_MAIL = re.compile(
    r"^[ \t>*-]*(?:"
    r"-{2,}[ \t]*(?:original message|forwarded message)"
    r"|begin forwarded message"
    r"|(?:from|von|de)[ \t]*:[^\n]*\n(?:[^\n]*\n){0,3}?[ \t>*]*(?:sent|date|to|subject)[ \t]*:"
    r").*\Z",
    re.M | re.S | re.I,
)
_QUOTED_LINES = re.compile(r"(?:^[ \t]*>[^\n]*(?:\n|\Z))+", re.M)
_LOG_LINE = (
    r"[ \t]*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|<\d+>"
    r"|(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE)\b)[^\n]*(?:\n|\Z)"
)
_LOG_RUN = re.compile(rf"^(?:{_LOG_LINE}){{2,}}", re.M)
_QUOTATIONS = re.compile(r'"([^"\n]{1,4000})"|“([^”]{1,4000})”|«([^»]{1,4000})»|‘([^’\n]{1,4000})’')
_OPEN_QUOTATION = re.compile(r'[:,]\s*["“«](?P<tail>[^"“”«»]{1,})\Z', re.S)


class Passages(NamedTuple):
    """A message split in two: what the user said, and what they brought along."""

    own: str
    pasted: tuple[str, ...]


def split_pasted(text: str) -> Passages:
    """Take pasted passages out of a user's message.

    Args:
        text: The message as the user sent it.

    Returns:
        The user's own words, with `MARK` where something was taken out, and the
        passages in the order of their kinds. Joined they hold every word of ``text``.
    """
    pasted: list[str] = []

    def take(match: re.Match[str]) -> str:
        pasted.append(match.group(0).strip())
        return f" {MARK} "

    def take_long(match: re.Match[str]) -> str:
        return take(match) if _long(next(g for g in match.groups() if g is not None)) else match.group(0)

    for pattern in (_FENCE, _MAIL, _QUOTED_LINES, _LOG_RUN):
        text = pattern.sub(take, text)
    text = _QUOTATIONS.sub(take_long, text)
    opened = _OPEN_QUOTATION.search(text)
    if opened and _long(opened["tail"]):
        pasted.append(opened["tail"].strip())
        text = f"{text[: opened.start('tail')]} {MARK}"
    return Passages("\n".join(_tidy(text)), tuple(passage for passage in pasted if passage))


def _long(quotation: str) -> bool:
    return len(quotation.split()) > QUOTED_WORDS


def _tidy(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line := re.sub(r"[ \t]{2,}", " ", line).strip():
            yield line
