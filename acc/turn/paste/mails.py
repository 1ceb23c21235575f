"""Finds forwarded and answered mail: from its header to the end, because nothing marks its end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from acc.turn.paste.lines import Span, lines

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
_DATED = re.compile(
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
_TIME = re.compile(r"\b\d{1,2}[:.]\d\d\b")
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

    If the other headers are only dates or receivers, the lines may be a form, a journey or
    working hours. Then the sender needs two words, or the text below must be separated by an
    empty line.
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
            return bool(_DATED.match(whole) or (many == 1 and _ADDRESSED.match(whole)))
    return False


def _is_shown(line: str, following: Sequence[str]) -> bool:
    """Whether this is a sender as shown by web mail: name and address, then a time or "to me"."""
    sender = _ADDRESS.match(line)
    if sender is None:
        return False
    near = following[:2]
    return bool(_TIME.search(sender["more"])) or any(
        _TO_ME.match(other) or _HEADER.match(other) or (len(other) < 60 and _TIME.search(other))
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
