"""Finds quoted lines and text copied from a log or a chat.

A copied passage extends from its first line to the end, because entries may have lines and
paragraphs of their own and nothing marks the last one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

Span = tuple[int, int]
"""Start and end of a passage in its text."""

TAKEN = "\x00"
"""Replaces each character of a passage that was found already. `plain` removes all others."""

QUOTED_WORDS = 8
"""A quotation with more words than this counts as pasted."""

_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_WIDE_PER_WORD = 2

_BREAKS = dict.fromkeys(map(ord, "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), "\n")
_UNSEEN = dict.fromkeys(map(ord, "\x00\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"), " ")


def plain(text: str) -> str:
    """Return ``text`` with all line breaks as line feeds and invisible characters as spaces.

    The length and all positions stay the same.
    """
    return text.replace("\r\n", " \n").translate({**_BREAKS, **_UNSEEN})


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line of `plain` text with its position."""
    position = 0
    while position <= len(text):
        end = line_end(text, position)
        yield position, text[position:end]
        position = end + 1


def line_end(text: str, position: int) -> int:
    """Return the end of the line at ``position``."""
    end = text.find("\n", position)
    return end if end >= 0 else len(text)


def is_long(quotation: str) -> bool:
    """Whether ``quotation`` has more than `QUOTED_WORDS` words; two East Asian characters count
    as one word.
    """
    if len(quotation.split(None, QUOTED_WORDS)) > QUOTED_WORDS:
        return True
    return len(_WIDE.findall(quotation)) > QUOTED_WORDS * _WIDE_PER_WORD


def quoted_lines(text: str) -> Iterator[Span]:
    """Yield runs of lines that begin with ``>``, including the rest of a line that a mail
    program wrapped.

    A single line that compares, such as "> 500 EUR: ask me", is not one.
    """
    every = list(lines(text))
    quoted = (at for at, (_, line) in enumerate(every) if line.lstrip().startswith(">"))
    for _, run in groupby(enumerate(quoted), key=lambda pair: pair[1] - pair[0]):
        places = [at for _, at in run]
        first, last = places[0], places[-1]
        if first == last and _COMPARES.match(every[first][1]):
            continue
        last += _is_broken([line for _, line in every[last : last + 2]])
        start, line = every[last]
        yield every[first][0], start + len(line)


_COMPARES = re.compile(r"\s{0,8}> ?[$€£]?\d[\d.,]*\s?[\w%$€£]{0,8}:")

WRAPPED = 60
"""Length in characters from which mail programs wrap a quoted line."""


def _is_broken(pair: Sequence[str]) -> bool:
    """Whether a quoted line continues without its mark: long, ends in a word or comma, lower
    case follows.
    """
    if len(pair) < 2:
        return False
    line, rest = pair[0].rstrip(), pair[1]
    return len(line) >= WRAPPED and (line[-1].isalnum() or line[-1] == ",") and rest[:1].islower()


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
"""The header of a chat message, with its text below."""

_LEVEL = r"\[?(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|CRIT(?:ICAL)?|FATAL|TRACE)\b"
_STAMP = r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?:[:.,]\d{1,9}){0,3}(?:Z|[+-]\d\d:?\d\d)?\]?"
_DATED = rf"\[?{_DAY},? {_TIME}\]?\s{{0,3}}[-–]?\s{{0,3}}"
_ENTRY = re.compile(rf"\s{{0,8}}(?:{_STAMP}\s{{1,3}}{_LEVEL}|{_DATED}{_NAME}: )", re.I)
"""A log line with time and level, or a chat line with day, time and name."""

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".replace(" ", "|")
_LINE = re.compile(
    r"\s{0,8}(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|<\d{1,3}>"
    rf"|(?i:{_MONTHS})\s{{1,2}}\d{{1,2}} \d\d:\d\d:\d\d|[IWEF]\d{{4}} \d\d:\d\d:\d\d"
    r"|\S{1,60} \S{1,60} \S{1,60} \[\d\d/[A-Z][a-z]{2}/\d{4}:"
    r"|(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL|TRACE)\b|level=[a-z]{3,8}\b"
    rf"|(?i:\[{_TIME}\]\s{{0,3}}[-–]?\s{{0,3}}<?[^\s:>][^:>\n]{{0,40}}[:>])"
    r"|<[A-Za-z][\w.-]{0,30}> )"
)
"""A line of a log or a chat, if the text has at least two of them."""

_ROLE = re.compile(
    r"\s{0,8}[#*]{0,4}\s?(?:user|human|system|(?P<model>assistant|ai|bot|chatbot|chatgpt|claude|gemini|copilot))"
    r"\*{0,2}\s{0,3}:",
    re.I,
)
"""A line of a conversation with a model."""


def copied(text: str) -> Iterator[Span]:
    """Yield the span from the first line of a log, a chat or a conversation with a model to the
    end.
    """
    found = [(start, line) for start, line in lines(text) if line.strip()]
    starts = [
        # If the line below a header is a header too, the text is a timetable.
        *(
            at
            for (at, line), (_, below) in pairwise(found)
            if _HEAD.match(line) and not _HEAD.match(below)
        ),
        *(at for at, line in found if _ENTRY.match(line)),
    ]
    several = [at for at, line in found if _LINE.match(line)]
    roles = [(at, role) for at, line in found if (role := _ROLE.match(line))]
    starts += several[:1] if len(several) > 1 else []
    starts += [roles[0][0]] if len(roles) > 1 and any(role["model"] for _, role in roles) else []
    if starts:
        yield min(starts), len(text)
