"""Finds text copied from a mail, a log or a chat, and quoted lines.

A mail, a log or a chat extends from its first line to the end, because nothing marks its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from acc.turn.paste.enclosed import FORMAT, Span, lines


def quoted_lines(text: str) -> Iterator[Span]:
    """Yield runs of lines that begin with ``>``, except one line that compares ("> 500 EUR: ask me").

    Slack sends the mark as ``&gt;``.
    """
    every = list(lines(text))
    quoted = (at for at, (_, line) in enumerate(every) if line.lstrip().startswith((">", "&gt;")))
    for _, run in groupby(enumerate(quoted), key=lambda pair: pair[1] - pair[0]):
        places = [at for _, at in run]
        first, last = places[0], places[-1]
        if first == last and _COMPARES.match(every[first][1]):
            continue
        last += _is_broken([line for _, line in every[last : last + 2]])
        start, line = every[last]
        yield every[first][0], start + len(line)


_COMPARES = re.compile(r"\s{0,8}(?:>|&gt;) ?[$€£]?\d[\d.,]*\s?[\w%$€£]{0,8}:")

WRAPPED = 60
"""Length in characters from which mail programs wrap a quoted line."""


def _is_broken(pair: Sequence[str]) -> bool:
    """Whether a quoted line continues without its mark: long, ends in a word or comma, lower case follows."""
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
    rf"|<(?!(?:{FORMAT})>)[A-Za-z][\w.-]{{0,30}}> )"
)
"""A line of a log or a chat, if the text has at least two of them."""

_ROLE = re.compile(
    r"\s{0,8}[#*]{0,4}\s?(?:user|human|system|(?P<model>assistant|ai|bot|chatbot|chatgpt|claude|gemini|copilot))"
    r"\*{0,2}\s{0,3}:",
    re.I,
)
"""A line of a conversation with a model."""


def copied(text: str) -> Iterator[Span]:
    """Yield the span from the first line of a log, a chat or a conversation with a model to the end."""
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


# --- mails ---

_LEAD = r"[>*#|•\-\s]{0,8}"
_MARKED = r"\s{0,3}\*{0,2}\s{0,3}[:：]"

_FORWARDED = re.compile(
    rf"{_LEAD}(?:-{{2,}}\s{{0,3}}(?:original|forwarded) message|begin forwarded message"
    rf"|(?:forwarded|original) message\s{{0,3}}:|(?:fwd?|wg)\s{{0,3}}:)",
    re.I,
)
_RULE = "-–—="
_MAIL = re.compile(
    r"\b(?:e-?mail|mail|message|nachricht|mensaje|mensagem|messaggio|bericht|meddelande|melding"
    r"|besked|wiadomość|сообщение|письмо)\b|邮件|メッセージ",
    re.I,
)
_ENGLISH = re.compile(r"\b(?:e-?mail|mail|message)\b", re.I)
_PASSED_ON = re.compile(
    "orig|forw|transf|repl|quoted|previous|earlier|follow|initial|weiter|doorg|vidare|videre", re.I
)
"""An English heading about mail is the user's own unless it contains one of these."""

_HEADING = 3
"""Maximum number of words in a heading."""

_SENDER = re.compile(
    rf"{_LEAD}(?:from|von|de|da|van|från|fra|od|от|发件人|寄件者|差出人|보낸 사람){_MARKED}(?P<who>.*)",
    re.I,
)
_HEADER = re.compile(
    rf"{_LEAD}(?:(?P<sure>sent|gesendet|envoyé|enviado|inviato|verzonden|cc|bcc|reply-to|re|subject"
    r"|betreff|objet|asunto|assunto|oggetto|onderwerp|ämne|emne|temat|发送时间|收件人|主题|件名|宛先)"
    rf"|date|datum|to|an|para|aan|日期|日時){_MARKED}",
    re.I,
)
_FROM_ADDRESS = re.compile(rf"{_LEAD}from{_MARKED}[^\n]{{0,80}}[\w.+-]@[\w.-]+>?\s{{0,8}}\Z", re.I)
_CODE = re.compile(r"\W*(?:\d|[A-Z]{2,4}\W*\Z)")
"""The start of a value that no mail header has: a time, an airport."""

_WROTE = (
    r"\b(?:wrote|writes|schrieb|a écrit|escribió|ha scritto|scrisse|schreef|escreveu|skrev"
    r"|napsal|napisała?|пишет|написала?|写道)\b"
)
_WROTE_ON = re.compile(
    rf"{_LEAD}(?:on|am|le|el|il|op|em|den|dne|w dniu|在)\b[^\n]{{3,200}}?{_WROTE}"
    r"(?:[^\n.!?]|[.!?](?=\S)){0,80}?[:：]\s{0,8}\Z",
    re.I,
)
_ADDRESSED = re.compile(
    rf"{_LEAD}[^\n]{{0,120}}?@[^\n]{{1,80}}?{_WROTE}[^\n]{{0,40}}?[:：]\s{{0,8}}\Z"
    rf"|{_LEAD}[^\n]{{0,80}}?\d[:.]\d\d[^\n]{{0,60}}?<[^<>\s]{{1,80}}@[^<>\s]{{1,80}}>\s{{0,2}}[:：]\s{{0,8}}\Z",
    re.I,
)
"""The attribution line that mail programs write above the answered text."""

_SIGNED = re.compile(r"-- \Z")
"""The line above a signature (RFC 3676, 4.3)."""

_ADDRESS = re.compile(
    r"\s{0,8}[^\n<>@:]{1,60}<[^<>\s@]{1,80}@[^<>\s]{1,80}>(?P<more>[^\n]{0,60})\Z"
)
_CLOCK = re.compile(r"\b\d{1,2}[:.]\d\d\b")
_TO_ME = re.compile(r"\s{0,8}to (?:me|you|[\w.'-]{1,40})\b[^\n.!?:]{0,60}\Z", re.I)

MOST_HEAD = 400
"""Maximum length in characters of the attribution line."""

_NEAR = 4
"""Number of non-empty lines after a header in which another header must follow."""


def mailed(text: str) -> Iterator[Span]:
    """Yield the span from the header of a mail to the end."""
    found = [(start, line) for start, line in lines(text) if line.strip() or _SIGNED.match(line)]
    apart = [
        *(after - (start + len(line)) > 1 for (start, line), (after, _) in pairwise(found)),
        True,
    ]
    for index, (start, line) in enumerate(found):
        following = [other for _, other in found[index + 1 : index + 1 + _NEAR]]
        if _is_head(line, following) or _is_letterhead(
            [line, *following], apart[index : index + 1 + _NEAR]
        ):
            yield start, len(text)
            return


def _is_head(line: str, following: Sequence[str]) -> bool:
    if _FORWARDED.match(line) or _is_ruled(line) or _FROM_ADDRESS.match(line):
        return True
    if _SIGNED.match(line) and following:
        return True
    return _is_answered(line, following) or _is_shown(line, following)


def _is_letterhead(head: Sequence[str], apart: Sequence[bool]) -> bool:
    """Whether a sender and another header are close together.

    A form, a journey or working hours may look the same. So if the other headers are only dates or receivers,
    the sender needs two words, or an empty line must follow.
    """
    sender = next((found for line in head if (found := _SENDER.match(line))), None)
    headers = [(at, found) for at, line in enumerate(head) if (found := _HEADER.match(line))]
    if sender is None or not headers or not (_SENDER.match(head[0]) or headers[0][0] == 0):
        return False
    if any(found["sure"] for _, found in headers) or any("@" in line for line in head):
        return True
    if _CODE.match(sender["who"]):
        return False
    return len(sender["who"].split()) > 1 or apart[headers[-1][0]]


_LINES_OF_HEAD = (1, 2, 3)


def _is_answered(line: str, following: Sequence[str]) -> bool:
    """Whether this is an attribution line, which mail programs wrap up to twice."""
    for many in _LINES_OF_HEAD:
        whole = " ".join((line, *following[: many - 1]))
        if len(whole) <= MOST_HEAD and whole.rstrip()[-1:] in (":", "："):
            return bool(_WROTE_ON.match(whole) or (many == 1 and _ADDRESSED.match(whole)))
    return False


def _is_shown(line: str, following: Sequence[str]) -> bool:
    """Whether this is a sender as shown by web mail: name and address, then a time or "to me"."""
    sender = _ADDRESS.match(line)
    if sender is None:
        return False
    near = following[:2]
    return bool(_CLOCK.search(sender["more"])) or any(
        _TO_ME.match(other) or _HEADER.match(other) or (len(other) < 60 and _CLOCK.search(other))
        for other in near
    )


def _is_ruled(line: str) -> bool:
    """Whether this is a heading between two rules that mentions a mail, in any language."""
    whole = line.strip()
    words = whole.strip(f"{_RULE} ")
    ruled = all(mark in _RULE for mark in (*whole[:3], *whole[-3:]))
    if not ruled or len(words.split(None, _HEADING)) > _HEADING or not _MAIL.search(words):
        return False
    return not _ENGLISH.search(words) or bool(_PASSED_ON.search(words))
