"""Lines that stand together: quoted ones, those of a log, those of a chat."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from acc.paste.lines import Span, lines

Line = tuple[int, str]


def quoted_lines(text: str) -> Iterator[Span]:
    """Runs of lines that begin with ``>``, with the rest of one that a mail program broke.

    Not one that stands alone and compares: "> 500 EUR: ask me".
    """
    every = list(lines(text))
    for first, last in _runs(every, lambda line: line.lstrip().startswith(">")):
        if first == last and _COMPARES.match(every[first][1]):
            continue
        end = last + 1 if _is_broken([line for _, line in every[last : last + 2]]) else last
        yield _span(every, first, end)


_COMPARES = re.compile(r"\s{0,8}> ?[$€£]?\d[\d.,]*\s?[\w%$€£]{0,8}:")

WRAPPED = 60
"""Characters of a quoted line from which on mail programs break it."""


def _is_broken(pair: Sequence[str]) -> bool:
    """Whether a quoted line goes on without its mark: it is long, ends in a word, and no capital follows."""
    if len(pair) < 2:
        return False
    line, rest = pair[0].rstrip(), pair[1]
    return len(line) >= WRAPPED and (line[-1].isalnum() or line[-1] == ",") and rest[:1].islower()


_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".replace(" ", "|")
_LOG_LINE = re.compile(
    r"\s{0,8}(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|<\d{1,3}>"
    rf"|(?i:{_MONTHS})\s{{1,2}}\d{{1,2}} \d\d:\d\d:\d\d|[IWEF]\d{{4}} \d\d:\d\d:\d\d"
    r"|\S{1,60} \S{1,60} \S{1,60} \[\d\d/[A-Z][a-z]{2}/\d{4}:"
    r"|(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL|TRACE)\b|level=[a-z]{3,8}\b)"
)


def logged(text: str) -> Iterator[Span]:
    """From one log line to another, whatever stands between them, if it does not stand apart.

    Lines that are indented behind the last belong to it, such as a stack's.
    """
    yield from _spread(text, _LOG_LINE)


_CHAT_LINE = re.compile(
    r"\s{0,8}(?:\[(?:[\d./-]{6,10},? )?\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?: ?[ap]m)?\]\s{0,3}[-–]?\s{0,3}"
    r"<?[^\s:>][^:>\n]{0,40}[:>]"
    r"|\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? \d{1,2}[:.]\d\d(?: ?[ap]m)? [-–] [^:\n]{1,40}:"
    r"|<[A-Za-z][\w.-]{0,30}> )",
    re.I,
)
_ROLE = re.compile(
    r"\s{0,8}[#*]{0,4}\s?(?:user|human|system|(?P<model>assistant|ai|bot|chatbot|chatgpt|claude|gemini|copilot))"
    r"\*{0,2}\s{0,3}:",
    re.I,
)


def chatted(text: str) -> Iterator[Span]:
    """Two lines of a chat or more, with what stands between; a talk with a model to the end."""
    every = list(lines(text))
    roles = [(at, found) for at, (_, line) in enumerate(every) if (found := _ROLE.match(line))]
    if len(roles) > 1 and any(found["model"] for _, found in roles):
        yield every[roles[0][0]][0], len(text)
        return
    yield from _spread(text, _CHAT_LINE)


def _spread(text: str, belonging: re.Pattern[str]) -> Iterator[Span]:
    """From one line that belongs to the last one of its paragraph, if there are two."""
    every = list(lines(text))
    found = [at for at, (_, line) in enumerate(every) if belonging.match(line)]
    empty = [at for at, (_, line) in enumerate(every) if not line.strip()]
    for group in _unbroken(found, empty):
        if len(group) > 1:
            last = group[-1]
            while last + 1 < len(every) and re.match(r"\s+\S", every[last + 1][1]):
                last += 1
            yield _span(every, group[0], last)


def _unbroken(places: Sequence[int], empty: Sequence[int]) -> Iterator[list[int]]:
    """``places`` in groups between which no other line stands apart."""
    group: list[int] = []
    for place in places:
        if group:
            gap = bisect(empty, place) - bisect(empty, group[-1])
            if gap and gap != place - group[-1] - 1:
                yield group
                group = []
        group.append(place)
    if group:
        yield group


def _runs(every: Sequence[Line], belongs: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    """First and last place of each run of lines that belong."""
    found = (at for at, (_, line) in enumerate(every) if belongs(line))
    for _, run in groupby(enumerate(found), key=lambda pair: pair[1] - pair[0]):
        places = [at for _, at in run]
        yield places[0], places[-1]


def _span(every: Sequence[Line], first: int, last: int) -> Span:
    start, line = every[last]
    return every[first][0], start + len(line)
