"""What stands in quotation marks: more than eight words are somebody else's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acc.paste.lines import Span, is_long

_OPENS = re.compile(
    r"""["‘`»“„«‹「『'](?:(?<=[“„«‹「『])"""
    r"""|(?<=["‘`»])(?:(?<=[\s(\[{:,;–—-].)|(?<=\A.))(?=\S)"""
    r"""|(?<=')(?:(?<=[:,]\ .)|(?<=[:\n].)|(?<=\A.))(?=[^\s\d]))"""
)
"""The mark comes first, because what a search begins with is looked for quickly."""

_CLOSES = {
    '"': re.compile(r"""\"(?=[\s.,;:!?)\]}–—-]|\Z)"""),
    "‘": re.compile(r"(?<=\S)’(?=\W|\Z)"),
    "'": re.compile(r"(?<=\S)'(?=\W|\Z)"),
    "`": re.compile("`"),
    "»": re.compile("«"),
    "“": re.compile("”"),
    "„": re.compile("[“”]"),
    "«": re.compile("»"),
    "‹": re.compile("›"),
    "「": re.compile("」"),
    "『": re.compile("』"),
}
_NESTED = {
    '"': re.compile(
        r"""(?P<open>(?:(?<=[\s(\[{])|\A)"(?=\S))|(?P<close>"(?=[\s.,;:!?)\]}–—-]|\Z))"""
        r"""|(?P<late>(?<=[:,;–—-])"(?=\S))|(?P<other>")"""
    ),
    **{
        mark: re.compile(f"(?P<open>{mark})|(?P<close>{_CLOSES[mark].pattern})")
        for mark in "“«‹「『"
    },
}
"""Marks that tell opening from closing: in a quotation another one may stand."""


def quotations(text: str) -> Iterator[Span]:
    """Quotations that are long; one never closed, behind a colon or comma, to the end."""
    position = 0
    unclosed: set[str] = set()
    while opening := _OPENS.search(text, position):
        mark = opening.group()
        position = opening.end()
        closing = None if mark in unclosed else _closing(text, position, mark)
        if closing is not None:
            if is_long(text[position : closing.start()]):
                yield opening.start(), closing.end()
            position = closing.end()
            continue
        introduced = mark not in unclosed and text[: opening.start()].rstrip()[-1:] in (":", ",")
        unclosed.add(mark)
        if introduced and is_long(text[position:]):
            yield opening.start(), len(text)
            return


_DEPTH = {"open": 1, "late": 1, "close": -1, "other": 0}


def _closing(text: str, position: int, mark: str) -> re.Match[str] | None:
    """The mark that closes what ``mark`` opened before ``position``, behind those it has within."""
    if mark not in _NESTED:
        return _CLOSES[mark].search(text, position)
    depth, last = 1, None
    for found in _NESTED[mark].finditer(text, position):
        depth += _DEPTH[str(found.lastgroup)]
        last = found if found["close"] else last
        if depth == 0:
            break
    return last if last is None or mark != '"' else _outermost(text, last)


def _outermost(text: str, closing: re.Match[str]) -> re.Match[str]:
    """The last of the marks that close behind ``closing`` what nothing has opened since.

    A straight mark behind a figure may stand for inches, and reaches for nothing.
    """
    while (other := _NESTED['"'].search(text, closing.end())) and other["close"]:
        if text[other.start() - 1].isdigit():
            break
        closing = other
    return closing
