"""Finds text copied from a mail, a log or a chat.

It extends from its first line to the end, because nothing marks its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import regex

from acc.turn.paste.enclosed import DRAWN, FORMAT, Span, bare, lines, words, words_of

_TIME = r"\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?: ?[ap]\.?m\.?)?"
_DAY = r"(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|today|yesterday|heute|gestern|[a-z]+day)"
_NAME = r"[^\W\d_][\w.'’-]{0,24}(?: [\w.'’()-]{1,24}){0,3}"
_LEVEL = r"(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|CRIT(?:ICAL)?|FATAL|TRACE)\b"
_STAMP = r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?:[:.,]\d{1,9}){0,3}(?:Z|[+-]\d\d:?\d\d)?\]?"

_HEAD = re.compile(
    rf"(?:{_NAME} ?[—–] ?(?:{_DAY},? (?:at )?)?{_TIME}"  # Discord
    rf"|{_NAME}, \[{_DAY},? {_TIME}\]:?"  # Telegram
    rf"|\[{_DAY},? {_TIME}\] {_NAME}:?|\[{_TIME}\] [^\W\d_][\w'-]* [^\W\d_][\w'-]*"  # Teams
    rf"|{_NAME}(?:  | ?\t| \[)(?:app ? ?)?{_TIME}\]?)\s{{0,8}}\Z",  # Slack
    re.I,
)
"""The header of a chat message, with its text below."""

_ENTRY = re.compile(
    rf"(?:{_STAMP}\s{{1,3}}\[?{_LEVEL}|\[?{_DAY},? {_TIME}\]?\s{{0,3}}[-–]?\s{{0,3}}{_NAME}: )",
    re.I,
)
"""A log line with time and level, or a chat line with day, time and name."""

_LINE = re.compile(
    r"(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|<\d{1,3}>"
    r"|[A-Z][a-z]{2}\s{1,2}\d{1,2} \d\d:\d\d:\d\d|[IWEF]\d{4} \d\d:\d\d:\d\d"
    rf"|\S{{1,60}} \S{{1,60}} \S{{1,60}} \[\d\d/[A-Z][a-z]{{2}}/\d{{4}}:|{_LEVEL}|level=[a-z]{{3,8}}\b"
    rf"|(?i:\[{_TIME}\]\s{{0,3}}[-–]?\s{{0,3}}<?[^\s:>][^:>\n]{{0,40}}[:>])|<(?P<name>[A-Za-z][\w.-]{{0,30}})> )"
)
"""A line of a log or a chat, if the text has at least two of them."""

_PEOPLE = words("user human system")
_MODELS = words("assistant ai bot chatbot chatgpt claude gemini copilot")
"""Who speaks in a conversation with a model."""


def copied(text: str) -> Iterator[Span]:
    """Yield the span from the first line of a log, a chat or a conversation with a model to the end."""
    found = [(start, bare(line)) for start, line in lines(text) if line.strip()]
    starts = [
        # If the line below a header is a header too, the text is a timetable.
        *(
            at
            for (at, line), (_, below) in pairwise(found)
            if _HEAD.match(line) and not _HEAD.match(below)
        ),
        *(at for at, line in found if _ENTRY.match(line)),
    ]
    several = [at for at, line in found if (m := _LINE.match(line)) and m["name"] not in FORMAT]
    roles = [
        (at, head.name) for at, line in found if (head := _header(line)).name in _PEOPLE | _MODELS
    ]
    starts += several[:1] if len(several) > 1 else []
    starts += [roles[0][0]] if len(roles) > 1 and any(name in _MODELS for _, name in roles) else []
    if starts:
        yield min(starts), len(text)


# --- mails ---

_SENDERS = words("from von de da van från fra od от 发件人 寄件者 差出人") | {"보낸 사람"}
_SURE = words(
    """sent gesendet envoyé enviado inviato verzonden cc bcc reply-to re subject betreff objet asunto assunto
    oggetto onderwerp ämne emne temat 发送时间 收件人 主题 件名 宛先"""
)
_HEADERS = words("date datum to an para aan 日期 日時") | _SURE
_FORWARDED = frozenset(("fwd", "fw", "wg", "forwarded message", "original message"))
_MAILS = (
    "mail", "message", "nachricht", "mensaje", "mensagem", "messaggio", "bericht", "meddelande", "melding", "besked",
    "wiadomość", "сообщение", "письмо", "邮件", "メッセージ",
)  # fmt: skip
_PASSED_ON = (
    "orig", "forw", "transf", "repl", "quoted", "previous", "earlier", "follow", "initial", "weiter", "doorg", "vidare",
    "videre",
)  # fmt: skip
"""An English heading about mail is the user's own unless it contains one of these."""

_HEADING = 3
"""Maximum number of words in a heading."""

_WROTE = words(
    """wrote writes schrieb écrit escribió scritto scrisse schreef escreveu skrev napsal napisał napisała пишет
    написал написала"""
)
_OWN = words("i we you ich wir that which who")
"""Before a word for writing: what follows is the user's own wording, or words something."""

_ON = words("on am le el il op em den dne w 在")
"""First words of an attribution line without figures."""

_CLOCK = re.compile(r"\b\d{1,2}[:.]\d\d\b")

MOST_HEAD = 400
"""Maximum length in characters of the attribution line."""

_SHORT, _AFTER_WROTE, _CODE = 60, 80, 4
"""Maximum lengths in characters: of a line below a sender, of what follows "wrote", of an airport's code."""

_DRAWN = regex.compile(rf"[{DRAWN}][{DRAWN} ]")
"""How a heading between rules begins and ends."""

_NEAR = 4
"""Number of non-empty lines after a header in which another header must follow."""


class _Header(NamedTuple):
    """A line with a name before a colon."""

    name: str
    value: str


def _header(line: str) -> _Header:
    """Split a header line; its name is empty if the line is none."""
    name, colon, value = line[:MOST_HEAD].partition(":")
    return _Header(" ".join(words_of(name)) if colon else "", value.strip(" \t*"))


def mailed(text: str) -> Iterator[Span]:
    """Yield the span from the header of a mail to the end."""
    found = [(start, line) for start, line in lines(text) if line.strip()]
    gaps = [after - start - len(line) > 1 for (start, line), (after, _) in pairwise(found)]
    apart = [*gaps, True]
    for index, (start, line) in enumerate(found):
        end = index + 1 + _NEAR
        near = [other for _, other in found[index:end]]
        if _is_head(line, near[1:]) or _is_letterhead(near, apart[index:end]):
            yield start, len(text)
            return


def _is_head(line: str, following: Sequence[str]) -> bool:
    name, value = _header(line)
    heading = " ".join(words_of(line))
    is_forwarded = name in _FORWARDED or heading.startswith("begin forwarded message")
    is_sender = name in _SENDERS and "@" in (value.split() or [""])[-1]
    is_signature = line == "-- " and bool(following)  # RFC 3676, 4.3
    if is_forwarded or is_sender or is_signature or _is_ruled(line):
        return True
    return _is_attribution(line, following) or _is_shown(line, following)


def _is_ruled(line: str) -> bool:
    """Whether this is a heading between rules that mentions a mail, in any language."""
    whole, said = bare(line).rstrip(), " ".join(words_of(line))
    if not _DRAWN.match(whole) or len(said.split()) > _HEADING:
        return False
    if said.startswith(("original message", "forwarded message")):
        return True
    is_mail = bool(_DRAWN.match(whole[-2:])) and any(mail in said for mail in _MAILS)
    is_english = "mail" in said or "message" in said
    return is_mail and (not is_english or any(mark in said for mark in _PASSED_ON))


def _is_letterhead(head: Sequence[str], apart: Sequence[bool]) -> bool:
    """Whether a sender and another header are close together.

    A form, a journey or working hours may look the same. So if the other headers are only dates or receivers,
    the sender needs two words, or an empty line must follow.
    """
    found = [_header(line) for line in head]
    sender = next((each.value for each in found if each.name in _SENDERS), None)
    headers = [at for at, each in enumerate(found) if each.name in _HEADERS]
    if sender is None or not headers or (found[0].name not in _SENDERS and headers[0] != 0):
        return False
    if any(each.name in _SURE for each in found) or any("@" in line for line in head):
        return True
    if sender[:1].isdigit() or (sender.isupper() and len(sender) <= _CODE):
        return False  # a time or an airport
    return len(sender.split()) > 1 or apart[headers[-1]]


def _is_attribution(line: str, following: Sequence[str]) -> bool:
    """Whether mail programs write this line above the text that a mail answers. They wrap it up to twice."""
    for many in (1, 2, 3):
        whole = " ".join((line, *following[: many - 1])).rstrip()
        if many > 1 and not _ON & {*words_of(line)[:1]}:
            return False
        if len(whole) <= MOST_HEAD and whole.endswith(":"):
            *_, last = whole.rstrip(": ").split() or [""]
            is_addressed = last.startswith("<") and "@" in last and bool(_CLOCK.search(whole))
            return is_addressed or _is_told(whole)
    return False


def _is_told(whole: str) -> bool:
    """Whether a line says who wrote, and when or from which address."""
    said = words_of(whole)
    is_dated = "@" in whole or any(map(str.isdigit, whole)) or bool(_ON & {*said[:1]})
    at = next((at for at, word in enumerate(said) if word in _WROTE), None)
    if at is None:
        return is_dated and "写道" in whole
    around = {*said[max(0, at - 1) : at + 2]}
    after = whole.lower().partition(said[at])[2]
    return is_dated and not around & _OWN and len(after) <= _AFTER_WROTE and ". " not in after


def _is_shown(line: str, following: Sequence[str]) -> bool:
    """Whether this is a sender as shown by web mail: name and address, then a time or "to me"."""
    name, _, rest = line.partition("<")
    address, closed, more = rest.partition(">")
    is_sender = (
        closed and name.strip() and ":" not in name and "@" in address and " " not in address
    )
    if not is_sender or len(more) > _SHORT:
        return False
    return bool(_CLOCK.search(more)) or any(map(_is_of_sender, following[:2]))


def _is_of_sender(line: str) -> bool:
    """Whether the line below a sender is a header, a time, or "to me"."""
    if _header(line).name in _HEADERS:
        return True
    is_receiver = line.strip().lower().startswith("to ") and not any(c in line for c in ".!?:")
    return len(line) < _SHORT and (is_receiver or bool(_CLOCK.search(line)))
