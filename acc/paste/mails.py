"""Forwarded and answered mail: from its head to the end, since nothing says where it stops."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from acc.paste.lines import Span, lines

_LEAD = r"[>*#|•\-\s]{0,8}"
_MARKED = r"\s{0,3}\*{0,2}\s{0,3}:"

_FORWARDED = re.compile(
    rf"{_LEAD}(?:-{{2,}}\s{{0,3}}(?:original|forwarded) message|begin forwarded message"
    rf"|(?:forwarded|original) message\s{{0,3}}:|(?:fwd?|wg)\s{{0,3}}:)",
    re.I,
)
_RULE = "-–—="
_MAIL = re.compile(
    r"\b(?:e-?mail|mail|message|nachricht|mensaje|mensagem|messaggio|bericht|meddelande|melding"
    r"|besked|wiadomość|сообщение|письмо)\b",
    re.I,
)
_HEADING = 3
"""Words of a heading at the most."""

_SENDER = re.compile(rf"{_LEAD}(?:from|von|de|da|van|från|fra|od|от){_MARKED}", re.I)
_HEADER = re.compile(
    rf"{_LEAD}(?:sent|gesendet|envoyé|enviado|inviato|verzonden|date|datum|to|an|para|aan|cc|bcc"
    rf"|reply-to|subject|betreff|objet|asunto|assunto|oggetto|onderwerp|ämne|emne|temat){_MARKED}",
    re.I,
)
_FROM_ADDRESS = re.compile(rf"{_LEAD}from{_MARKED}[^\n]{{0,80}}[\w.+-]@[\w.-]+>?\s{{0,8}}\Z", re.I)

_WROTE = (
    r"\b(?:wrote|writes|schrieb|a écrit|escribió|ha scritto|scrisse|schreef|escreveu|skrev"
    r"|napsal|napisała?|пишет|написала?)\b"
)
_DATED = re.compile(
    rf"{_LEAD}(?:on|am|le|el|il|op|em|den|dne|w dniu)\b[^\n]{{3,200}}?{_WROTE}[^\n]{{0,80}}?:\s{{0,8}}\Z",
    re.I,
)
_ADDRESSED = re.compile(
    rf"{_LEAD}[^\n]{{0,120}}?@[^\n]{{1,80}}?{_WROTE}[^\n]{{0,40}}?:\s{{0,8}}\Z", re.I
)
"""The line above what is answered, as mail programs write it."""

_SIGNED = re.compile(r"-- \Z")
"""Above a signature (RFC 3676, 4.3)."""

MOST_HEAD = 400
"""Characters of the line above what is answered."""

_NEAR = 4
"""Lines behind a header among which another one stands; empty ones do not count."""


def mailed(text: str) -> Iterator[Span]:
    """From the head of a mail to the end."""
    found = [(start, line) for start, line in lines(text) if line.strip() or _SIGNED.match(line)]
    for index, (start, line) in enumerate(found):
        following = [other for _, other in found[index + 1 : index + 1 + _NEAR]]
        if _is_head(line, following):
            yield start, len(text)
            return


def _is_head(line: str, following: Sequence[str]) -> bool:
    if _FORWARDED.match(line) or _is_ruled(line) or _FROM_ADDRESS.match(line):
        return True
    if _SIGNED.match(line) and following:
        return True
    if _SENDER.match(line):
        return any(_HEADER.match(other) for other in following)
    if _HEADER.match(line):
        return any(_SENDER.match(other) for other in following)
    broken = " ".join((line, *following[:1]))  # as mail programs do, once
    return _is_answered(line) or (len(broken) <= MOST_HEAD and bool(_DATED.match(broken)))


def _is_answered(line: str) -> bool:
    if line.rstrip()[-1:] != ":" or len(line) > MOST_HEAD:
        return False
    return bool(_DATED.match(line) or _ADDRESSED.match(line))


def _is_ruled(line: str) -> bool:
    """Whether it is a heading between two rules that speaks of a mail, in whichever language."""
    whole = line.strip()
    words = whole.strip(f"{_RULE} ")
    ruled = all(mark in _RULE for mark in (*whole[:3], *whole[-3:]))
    return ruled and len(words.split(None, _HEADING)) <= _HEADING and bool(_MAIL.search(words))
