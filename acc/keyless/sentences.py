"""Splits text into sentences and clauses, each a verbatim piece of its source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from acc.text.patterns import one_of

T = TypeVar("T")

LONGEST = 300
"""Maximum characters of a sentence. It fits a `Line` and a `Quote` unchanged and limits the search
for cues. Longer sentences are split at white space.
"""

_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s|\Z)|[\n\r]+|;(?=\s)")
_SIGNS = re.compile(
    r"(?:[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufe0e\ufe0f\u2190-\u27bf"
    r"\u2b00-\u2bff\U0001f000-\U0001faff\s](?<![😂🤣😜😉🙄]))+"
)
"""Emoji and invisible marks before a sentence. Emoji of a joke are kept."""
_TITLE = re.compile(r"(?:^|[\s(])(?:dr|mr|mrs|ms|prof|st|vs|e\.g|i\.e|approx|ca|cf)\Z", re.I)
_SHORTENED = re.compile(
    r"(?:^|[\s(])" + one_of(
        """etc, inc, ltd, co, corp, dept, est, incl, max, min, resp, tel, jan, feb, mar, apr, jun,
        jul, aug, sept?, oct, nov, dec"""
    ) + r"\Z",
    re.I,
)  # fmt: skip
_NUMERO = re.compile(r"(?:^|[\s(])(?:no|nr|fig|vol|p)\Z", re.I)
_BULLET = re.compile(r"\s*(?:[-*•–>]+|\d{1,2}[.)])\s+")
_OPENERS = re.compile(
    r"(?:(?:(?:and|also|but|please|pls|so(?! (?:long|far|that|as|much|many)\b))\b[,:]?|"
    r"(?:oh|ok|okay|well|right|alright|all right|hi|hello|hey|plus|then|good|great|fine|thanks|"
    r"thank you|yes|yep|sure|anyway|anyhow|btw|by the way|no|before anything else|"
    r"one (?:more )?thing)\b ?[,.:!–-]+)\s+)+",
    re.I,
)
_CLOSERS = re.compile(
    r"(?:\b(?:please|pls)\b|(?<![\w)] )\b(?:thanks|thank you)\b|(?<=, )(?:ok|okay)\b| [:;]-?[)(DP]|"
    r"[ .!?…,;])+\Z",
    re.I,
)
_JOINTS = re.compile(
    r"(?:,\s+(?:and|but|also|plus)|\s+and also|,\s+and please)"
    r"(?:\s+that(?=\s+(?:the|no|any|all|each|every|my|our|your|nothing|nobody)\b))?\s+",
    re.I,
)
RESERVED = one_of(
    """not more, no more than, at most, except, apart from,
    (?:not|never|only) (?:at|on|in|before|after|during|between|for|to|with|without|until|till|up to)"""
)
"""Pattern of words that take back a part of a permission: "not at night", "at most twice"."""

_RESERVED = re.compile(RESERVED, re.I)
_BACKWARD = re.compile(
    r"\b(?:its?|them|they|their|that|those|this|these|him|his|her|ones?|else)\b", re.I
)


class Sentence(NamedTuple):
    """A verbatim piece of a text.

    Attributes:
        text: The words with the end mark, without surrounding white space and bullets.
        asks: Whether it ends in a question mark.
    """

    text: str
    asks: bool


def plain(text: str) -> str:
    """The text with straight apostrophes, which the cues match. Positions do not change."""
    return text.replace("’", "'").replace("‘", "'")


def sentences(text: str, most: int) -> Sequence[Sentence]:
    """The sentences of ``text`` with a letter, in order. Lines and semicolons end one too.

    Of more than ``most`` sentences, it returns the first and the last half. Time is linear. A token
    longer than `LONGEST` is dropped, never truncated.
    """
    spans = list(_spans(text))
    found = [
        Sentence(piece, asks)
        for start, end, asks in both_ends(spans, most)
        for piece in _short(text[start:end])
        if any(character.isalpha() for character in piece)
    ]
    return both_ends(found, most)


def both_ends(items: Sequence[T], most: int) -> Sequence[T]:
    """The first and the last half of ``most`` items, or all if there are no more than that."""
    half = most // 2
    return items if len(items) <= most else [*items[:half], *items[-half:]]


def _spans(text: str) -> Iterator[tuple[int, int, bool]]:
    start = 0
    for match in _END.finditer(text):
        if match.group() == "." and _abbreviates(text, match.start()):
            continue
        yield start, match.end(), "?" in match.group()
        start = match.end()
    if start < len(text):
        yield start, len(text), False


def _abbreviates(text: str, dot: int) -> bool:
    """Whether the full stop at ``dot`` belongs to an abbreviation and ends no sentence."""
    before, after = text[max(0, dot - 12) : dot], text[dot + 1 : dot + 9].lstrip()[:1]
    if _TITLE.search(before):
        return True
    if _NUMERO.search(before):
        return after.isdigit()
    return _SHORTENED.search(before) is not None and not after.isupper()


def _short(piece: str) -> Iterator[str]:
    bullet = _BULLET.match(piece)
    piece = (piece[bullet.end() :] if bullet else piece).strip()
    signs = _SIGNS.match(piece)
    piece = piece[signs.end() :] if signs else piece
    if len(piece) <= LONGEST:
        yield piece
        return
    start = end = None
    for word in re.finditer(r"\S+", piece):
        if start is not None and (word.end() - start > LONGEST):
            yield piece[start:end]
            start = None
        if len(word.group()) <= LONGEST:
            start = word.start() if start is None else start
            end = word.end()
    if start is not None:
        yield piece[start:end]


def clauses(sentence: str) -> list[str]:
    """The clauses of a sentence that can stand alone, verbatim and in order.

    It splits at ", and" and the like, unless the sentence opens with a topic ("Mails: short, and no
    jokes") or the clause refers back ("..., and never move it").
    """
    if ":" in sentence[:60]:
        return [sentence]
    found: list[str] = []
    start = 0
    for joint in _JOINTS.finditer(sentence):
        rest = sentence[joint.end() :]
        ahead = _JOINTS.split(rest, maxsplit=1)[0]
        if (
            len(ahead.split()) < 3
            or _BACKWARD.search(ahead.split(",")[0])
            or _RESERVED.match(ahead)
        ):
            continue
        found.append(sentence[start : joint.start()].strip())
        start = joint.end()
    return [*found, sentence[start:].strip()]


def tidy(text: str) -> str:
    """``text`` on one line, without openers ("And", "please"), thanks and end marks around it."""
    text = " ".join(text.split())
    opener = _OPENERS.match(text)
    rest = text[opener.end() :] if opener else text
    closer = _CLOSERS.search(rest)
    return (rest[: closer.start()] if closer else rest) or text


def fit(text: str, limit: int) -> str:
    """``text`` on one line. Beyond ``limit`` characters it ends at white space and with "...".

    Returns an empty text if the first token does not fit: a token is never cut.
    """
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    head = text[: limit - 3]
    space = head.rfind(" ")
    return f"{head[:space].rstrip(' ,;:')} ..." if space > 0 else ""
