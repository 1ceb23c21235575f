"""What stands in quotation marks: more than eight words, or what somebody is said to have said."""

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
    """Quotations that are long, or that a clause before a colon says another person said.

    One that is introduced reaches to the last mark of its kind, since the quoted text may have
    closed it from within; to the end where nothing closes it.
    """
    position = 0
    unclosed: set[str] = set()
    last: dict[str, Span] = {}
    while opening := _OPENS.search(text, position):
        mark, position = opening.group(), opening.end()
        introduced = _INTRODUCES.search(text, max(0, opening.start() - FAR), opening.start())
        closing = None if mark in unclosed else _closing(text, position, mark)
        if closing is not None:
            inner, end = closing.span()
            if introduced:
                last[mark] = last.get(mark) or _last(text, mark)
                sure = bool(introduced["colon"]) and mark not in _AMBIGUOUS
                inner, end = _farther(text, (inner, end), last[mark], sure)
        elif mark not in unclosed and introduced:
            inner = end = len(text)
        else:
            unclosed.add(mark)
            continue
        inside = text[position:inner].strip()
        if is_long(inside) or "\n" in inside or (introduced and _is_of_another(text, introduced)):
            yield opening.start(), end
        position = end


def _last(text: str, mark: str) -> Span:
    """The last mark that closes what ``mark`` opens; the end, where another was opened behind it."""
    last = max(found.span() for found in _CLOSES[mark].finditer(text))
    opened = mark not in _AMBIGUOUS and text.rfind(mark) > last[0]
    return (len(text), len(text)) if opened else last


FAR = 40
"""Characters of white space at most between what introduces a quotation and the quotation."""

_INTRODUCES = re.compile(r"(?:(?P<colon>[:：])|[,\n]|\A)\s*\Z")
_OF_ANOTHER = re.compile(
    r"(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bich )(?<!\bwir )(?<!\bthat )(?<!\bwhich )(?<!\bwho )"
    r"\b(?:says|said|wrote|writes|texted|posted|replied|answered|sagte?|schreibt|schrieb|geschrieben|dit"
    r"|écrit|dice|dijo|escribe|escribió|scrive|scritto|disse)(?: (?:to )?(?:me|us|back|mir|uns))?\s*\Z",
    re.I,
)
"""A clause before a colon; not "I wrote:", and not "a sign that says:", which words something."""


def _is_of_another(text: str, introduced: re.Match[str]) -> bool:
    at = introduced.start()
    return bool(introduced["colon"]) and bool(_OF_ANOTHER.search(text, max(0, at - FAR), at))


_AMBIGUOUS = "'‘`"
"""Marks that are apostrophes too, or set code apart."""


def _farther(text: str, closing: Span, last: Span, sure: bool) -> Span:
    """The ``last`` mark of a kind, where what it was introduced as reaches so far; else ``closing``.

    It does behind a colon, or where another line stands between.
    """
    is_within = last[0] > closing[1] and (sure or "\n" in text[closing[1] : last[0]])
    return last if is_within else closing


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
