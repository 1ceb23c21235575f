"""Telling a user's own words from what they pasted.

Rule (law 6): fences, forwarded mail, quoted lines, runs of log lines and quotations of
more than eight words are documents; shorter quotations are the user's own wording.
Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

MARK = "[pasted]"
"""Stands in the user's words where a pasted passage was taken out."""

QUOTED_WORDS = 8
"""A quotation of more words than this is somebody else's."""


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
    for passages in (_fenced, _mailed, _quoted_lines, _logged, _quotations):
        text = _taken(text, passages, pasted)
    return Passages("\n".join(_tidy(text)), tuple(pasted))


Span = tuple[int, int]


def _taken(text: str, passages: Callable[[str], Iterator[Span]], pasted: list[str]) -> str:
    kept = []
    position = 0
    for start, end in passages(text):
        passage = text[start:end].strip()
        if passage:
            pasted.append(passage)
            kept.append(f"{text[position:start]} {MARK} ")
        else:
            kept.append(text[position:start])
        position = end
    return "".join((*kept, text[position:]))


_FENCE = re.compile(r"`{3,}|~{3,}")


def _fenced(text: str) -> Iterator[Span]:
    """From an opening fence, wherever it stands, to a line of at least as many of its marks."""
    position = 0
    while opening := _FENCE.search(text, position):
        line_end = _line_end(text, opening.end())
        position = opening.end()
        inline = text.find(opening.group(), opening.end(), line_end)
        if inline >= 0:  # opened and closed on one line: a quotation
            position = inline + len(opening.group())
            if _is_long(text[opening.end() : inline]):
                yield opening.start(), position
            continue
        position = _closing(text, line_end + 1, opening.group())
        yield opening.start(), position


def _closing(text: str, position: int, fence: str) -> int:
    while position < len(text):
        end = _line_end(text, position)
        line = text[position:end].strip()
        if line.startswith(fence) and not line.strip(fence[0]):
            return end
        position = end + 1
    return len(text)


_FORWARDED = re.compile(
    r"[>*\s]{0,8}(?:-{2,}\s{0,3}(?:original|forwarded) message|begin forwarded message)", re.I
)
_SENDER = re.compile(r"[>*\s]{0,8}(?:from|von|de)\s{0,3}:", re.I)
_HEADER = re.compile(r"[>*\s]{0,8}(?:sent|gesendet|date|datum|to|an|subject|betreff)\s{0,3}:", re.I)


def _mailed(text: str) -> Iterator[Span]:
    """From the head of a forwarded mail to the end: nothing says where the mail stops."""
    lines = list(_lines(text))
    for index, (start, line) in enumerate(lines):
        following = (other for _, other in lines[index + 1 : index + 5])
        headed = _SENDER.match(line) and any(_HEADER.match(other) for other in following)
        if headed or _FORWARDED.match(line):
            yield start, len(text)
            return


def _quoted_lines(text: str) -> Iterator[Span]:
    """Runs of lines that begin with ``>``."""
    return _runs(text, lambda line: line.lstrip().startswith(">"), least=1)


_LOG_LINE = re.compile(
    r"\s{0,8}(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|<\d{1,3}>"
    r"|(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE)\b)"
)


def _logged(text: str) -> Iterator[Span]:
    """Runs of two log lines or more."""
    return _runs(text, lambda line: _LOG_LINE.match(line) is not None, least=2)


def _runs(text: str, belongs: Callable[[str], bool], least: int) -> Iterator[Span]:
    begun, count, last = -1, 0, 0
    for start, line in _lines(text):
        if belongs(line):
            begun = start if count == 0 else begun
            count += 1
            last = start + len(line)
            continue
        if count >= least:
            yield begun, last
        count = 0
    if count >= least:
        yield begun, last


_OPENS = re.compile(r"""(?:(?<=[\s(\[{:,;–—-])|\A)["‘](?=\S)|[“„«]""")
_CLOSES = {
    '"': re.compile(r"""\"(?=[\s.,;:!?)\]}–—-]|\Z)"""),
    "‘": re.compile(r"(?<=\S)’(?=\W|\Z)"),
    "“": re.compile("”"),
    "„": re.compile("[“”]"),
    "«": re.compile("»"),
}


def _quotations(text: str) -> Iterator[Span]:
    """Quotations of more than `QUOTED_WORDS` words; one never closed, behind a colon, to the end."""
    position = 0
    unclosed: set[str] = set()
    while opening := _OPENS.search(text, position):
        mark = opening.group()
        position = opening.end()
        closing = None if mark in unclosed else _CLOSES[mark].search(text, opening.end())
        if closing is not None:
            position = closing.end()
            if _is_long(text[opening.end() : closing.start()]):
                yield opening.start(), closing.end()
            continue
        introduced = (
            text[: opening.start()].rstrip()[-1:] in (":", ",") if mark not in unclosed else False
        )
        unclosed.add(mark)
        if introduced and _is_long(text[opening.end() :]):
            yield opening.start(), len(text)
            return


def _is_long(quotation: str) -> bool:
    return len(quotation.split(None, QUOTED_WORDS)) > QUOTED_WORDS


def _lines(text: str) -> Iterator[tuple[int, str]]:
    position = 0
    while position <= len(text):
        end = _line_end(text, position)
        yield position, text[position:end]
        position = end + 1


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return end if end >= 0 else len(text)


def _tidy(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line := " ".join(line.split()):
            yield line
