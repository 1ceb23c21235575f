"""Finds quotations, and quoted lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import groupby

from acc.turn.paste.enclosed import Span, bare, is_long, lines

_MARK = re.compile("[\"'`‘’“”„«»‹›「」『』]")
_CLOSERS = {
    '"': '"', "'": "'", "`": "`", "‘": "’", "“": "”", "„": "“”", "«": "»", "»": "«", "‹": "›", "「": "」", "『": "』",
}  # fmt: skip
"""The closing marks of each opening mark."""

_ALWAYS = "“„«‹「『"
"""Marks that open a quotation wherever they stand."""

_AMBIGUOUS = "'‘`"
"""Marks that are also apostrophes or delimit code."""

_MOST_NESTED = 100
"""Closing marks that are looked at one by one."""

FAR = 40
"""Characters before a quotation in which its introduction ends."""


def quotations(text: str) -> Iterator[Span]:
    """Yield quotations that are long or have several lines; shorter ones are the user's wording.

    The quoted text may contain closing marks. So a quotation after a colon extends to the last mark of its kind, and
    one behind a comma or on a new line does if it has several lines. Without a closing mark it extends to the end.
    """
    places = [found.start() for found in _MARK.finditer(text)]
    known: dict[str, list[int]] = {}
    position = 0
    for at in places:
        mark = text[at]
        if at < position or not _opens(text, at):
            continue
        if mark not in known:
            known[mark] = [other for other in places if _closes(text, other, mark)]
        before = text[max(0, at - FAR) : at]
        inner = _end(text, at, before, known[mark])
        if inner is None:
            continue
        inside = text[at + 1 : inner].strip()
        position = min(inner + 1, len(text))
        if is_long(inside) or "\n" in inside:
            yield at, position


def _end(text: str, at: int, before: str, closing: list[int]) -> int | None:
    """Return where the quotation ends that opens at ``at``; None if no mark closes it."""
    mark, number = text[at], bisect_right(closing, at)
    is_introduced = _is_led(before) or _is_apart(before)
    if number == len(closing):
        return len(text) if is_introduced else None
    nearest = closing[number]
    for other in closing[number + 1 : number + 1 + _MOST_NESTED] if mark == '"' else ():
        # A straight mark behind which none opened before. One behind a digit may mean inches.
        if text.find(mark, nearest + 1) < other or _opens(text, other) or text[other - 1].isdigit():
            break
        nearest = other
    is_sure = _is_led(before) and mark not in _AMBIGUOUS
    if not is_sure and not (is_introduced and text.find("\n", nearest, closing[-1]) >= 0):
        return nearest
    is_opened = mark not in _AMBIGUOUS and text.rfind(mark) > closing[-1]
    return len(text) if is_opened else closing[-1]


def _is_led(before: str) -> bool:
    """Whether a quotation begins behind a colon."""
    return before.rstrip().endswith(":")


def _opens(text: str, at: int) -> bool:
    """Whether the mark at ``at`` can open a quotation."""
    mark, before, after = text[at], text[max(0, at - 2) : at], text[at + 1 : at + 2]
    if mark in _ALWAYS or mark not in _CLOSERS or not after.strip():
        return mark in _ALWAYS
    if mark == "'":
        is_apart = before[-1:] in ("", ":", "\n") or before in (": ", ", ")
        return is_apart and not after.isdigit()
    return not before[-1:].strip() or before[-1] in "([{:,;–—-"


def _closes(text: str, at: int, opener: str) -> bool:
    """Whether the mark at ``at`` can close what ``opener`` opens."""
    before, after = text[max(0, at - 1) : at], text[at + 1 : at + 2]
    if text[at] not in _CLOSERS[opener]:
        return False
    if opener == '"':
        return not after.strip() or after in ".,;:!?)]}–—-"
    return opener not in "'‘" or (before.strip() != "" and not (after.isalnum() or after == "_"))


def _is_apart(before: str) -> bool:
    """Whether a quotation begins behind a comma, on a line of its own, or at the start of the text."""
    words = before.rstrip()
    return words.endswith(",") or "\n" in before[len(words) :] or (not words and len(before) < FAR)


def quoted_lines(text: str) -> Iterator[Span]:
    """Yield runs of lines that begin with ``>``, except one line that compares ("> 500 EUR: ask me").

    Slack sends the mark as ``&gt;``.
    """
    every = list(lines(text))
    quoted = (at for at, (_, line) in enumerate(every) if bare(line).startswith((">", "&gt;")))
    for _, run in groupby(enumerate(quoted), key=lambda pair: pair[1] - pair[0]):
        places = [at for _, at in run]
        first, last = places[0], places[-1]
        if first == last and _compares(every[first][1]):
            continue
        last += _is_broken([line for _, line in every[last : last + 2]])
        start, line = every[last]
        yield every[first][0], start + len(line)


def _compares(line: str) -> bool:
    limit, colon, _ = bare(line).replace("&gt;", ">").lstrip("> $€£").partition(":")
    number, *unit = limit.replace(",", "").replace(".", "").split() or [""]
    return bool(colon) and number.rstrip("km%€").isdigit() and len(unit) <= 1


WRAPPED = 60
"""Length in characters from which mail programs wrap a quoted line."""


def _is_broken(pair: list[str]) -> bool:
    """Whether a quoted line continues without its mark: long, ends in a word or comma, lower case follows."""
    if len(pair) < 2:
        return False
    line, rest = pair[0].rstrip(), pair[1]
    return len(line) >= WRAPPED and (line[-1].isalnum() or line[-1] == ",") and rest[:1].islower()
