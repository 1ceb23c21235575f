"""What was copied out of a log or a chat: from the first line of it to the end.

An entry of a log and a message of a chat may have lines and paragraphs of their own: nothing says
where the last one stops.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

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


def quoted_lines(text: str) -> Iterator[Span]:
    """Runs of lines that begin with ``>``, with the rest of one that a mail program broke.

    Not one that stands alone and compares: "> 500 EUR: ask me".
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
"""Characters of a quoted line from which on mail programs break it."""


def _is_broken(pair: Sequence[str]) -> bool:
    """Whether a quoted line goes on without its mark: it is long, ends in a word, and no capital follows."""
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
"""The head of a message, with its text below it."""

_LEVEL = r"\[?(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|CRIT(?:ICAL)?|FATAL|TRACE)\b"
_STAMP = r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?:[:.,]\d{1,9}){0,3}(?:Z|[+-]\d\d:?\d\d)?\]?"
_DATED = rf"\[?{_DAY},? {_TIME}\]?\s{{0,3}}[-–]?\s{{0,3}}"
_ENTRY = re.compile(rf"\s{{0,8}}(?:{_STAMP}\s{{1,3}}{_LEVEL}|{_DATED}{_NAME}: )", re.I)
"""A line of a log with time and level, or of a chat with day, time and name."""

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".replace(" ", "|")
_LINE = re.compile(
    r"\s{0,8}(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|<\d{1,3}>"
    rf"|(?i:{_MONTHS})\s{{1,2}}\d{{1,2}} \d\d:\d\d:\d\d|[IWEF]\d{{4}} \d\d:\d\d:\d\d"
    r"|\S{1,60} \S{1,60} \S{1,60} \[\d\d/[A-Z][a-z]{2}/\d{4}:"
    r"|(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL|TRACE)\b|level=[a-z]{3,8}\b"
    rf"|(?i:\[{_TIME}\]\s{{0,3}}[-–]?\s{{0,3}}<?[^\s:>][^:>\n]{{0,40}}[:>])"
    r"|<[A-Za-z][\w.-]{0,30}> )"
)
"""A line that is one of a log or a chat where there is another."""

_ROLE = re.compile(
    r"\s{0,8}[#*]{0,4}\s?(?:user|human|system|(?P<model>assistant|ai|bot|chatbot|chatgpt|claude|gemini|copilot))"
    r"\*{0,2}\s{0,3}:",
    re.I,
)
"""A line of a talk with a model."""


def copied(text: str) -> Iterator[Span]:
    """From the first line of a log, a chat, or a talk with a model to the end."""
    found = [(start, line) for start, line in lines(text) if line.strip()]
    starts = [
        # Where the line below a head is one too, it is a timetable's.
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
