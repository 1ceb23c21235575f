"""Comparing wordings: is this quote there, are these words borne out, is this an assent.

Pure functions on text. They never decide trust, which comes by channel (law 6); they decide
whether a text says what its source said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from acc.ranking import terms

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_QUOTES = "\"'`´‘’‚‛“”„‟«»‹›"
_TRIM = re.compile(rf"^[\s{_QUOTES}]+|[\s{_QUOTES}.,;:!?…]+$")


def find_quote(quote: str, text: str) -> str | None:
    """The passage of ``text`` that ``quote`` repeats, as it stands there, or None.

    White space, case, quotation marks and closing punctuation aside (law 6). A quote
    without a letter or digit is found nowhere.
    """
    if not _WORD.search(quote):
        return None
    parts = _TRIM.sub("", quote).split()
    pattern = r"\s+".join(_loose(part) for part in parts)
    found = re.search(pattern, text, re.IGNORECASE)
    return " ".join(found.group(0).split()) if found else None


def _loose(part: str) -> str:
    marks = f"[{re.escape(_QUOTES)}]?"
    return marks + "".join(marks if c in _QUOTES else re.escape(c) for c in part) + marks


_MARK = re.compile(r"[^\s()\[\]{}<>\"'“”‘’«»,;|]*\d[^\s()\[\]{}<>\"'“”‘’«»;|]*|\b\S+@\S+|\bhttps?://\S+")
_RANGE = re.compile(r"(?<=\d)[-–—](?=\d{1,4}$)(?<!-\d\d-)(?<!-\d-)")
_SEPARATOR = re.compile(r"(?<=\d)[ ,.'’_](?=\d{3}\b)")


@lru_cache(maxsize=2048)
def marks(text: str) -> frozenset[str]:
    """Identifiers, addresses and numbers in ``text``, folded: what no rewording may invent."""
    joined = _SEPARATOR.sub("", text)
    found = (part for m in _MARK.finditer(joined) for part in _RANGE.split(m.group(0)))
    folded = (mark.strip(".,:!?*_-–—…%€$£+=/&").casefold() for mark in found)
    return frozenset(mark for mark in folded if mark)


@lru_cache(maxsize=2048)
def stems(text: str) -> frozenset[str]:
    """The content words of ``text``, stemmed."""
    return frozenset(terms(text))


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard similarity, 0 to 1; 0 where either is empty."""
    return len(one & other) / len(one | other) if one and other else 0.0


_NEGATIVE = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|"
    r"avoid\w*|forbid\w*|forbade|prohibit\w*|ban(?:ned|s)?|exclud\w*|omit\w*|refrain\w*|"
    r"off|out of|leave \w+ alone|stop|only|unless|until|before|"
    r"max(?:imum)?|at most|at the most|under|below|above|over|cap(?:ped)?|limit\w*|tops)\b|n['’]t\b",
    re.IGNORECASE,
)


def is_negative(text: str) -> bool:
    """Whether ``text`` forbids, excludes or restricts."""
    return _NEGATIVE.search(text) is not None


_ASSENT = re.compile(
    r"^\W*(?:(?:yes|yep|yeah|yup|ok|okay|k|sure|agreed|alright|right|fine|perfect|great|good|nice|"
    r"exactly|absolutely|definitely|confirmed|approved|correct)\b|"
    r"(?:please )?(?:go ahead|go for it|do (?:it|that|so|both)|proceed|make it so)\b|"
    r"(?:that )?(?:sounds|looks) (?:good|right|fine|great)\b|(?:send|take|book|use|file|run) (?:it|that|them)\b|"
    r"let['’]?s (?:do|go with) (?:it|that|this)\b|works for me\b|as you (?:say|propose|suggest))",
    re.IGNORECASE,
)
_BUT = re.compile(r"\b(?:but|no|not|don['’]t|never|instead|wait|except)\b", re.IGNORECASE)


def is_assent(text: str) -> bool:
    """Whether a user's words agree to what was just proposed, without a reservation."""
    first = re.split(r"(?<=[.!?\n])\s", text.strip(), maxsplit=1)[0]
    return _ASSENT.search(first) is not None and _BUT.search(first) is None and "?" not in first


RUN = 5
"""Consecutive content words that make a repetition of somebody else's text."""


def repeats(text: str, other: str) -> bool:
    """Whether ``text`` has `RUN` content words in a row (or all, if fewer than that) from ``other``."""
    words = terms(text)
    if len(words) < 3:
        return False
    size = min(RUN, len(words))
    return not _runs(text, size).isdisjoint(_runs(other, size))


@lru_cache(maxsize=256)
def _runs(text: str, size: int) -> frozenset[tuple[str, ...]]:
    words = terms(text)
    return frozenset(zip(*(words[i:] for i in range(size)), strict=False))


LEAST_OWN = 1 / 3
MOST_FOREIGN = 0.4


def borne_out(text: str, own: Iterable[str], foreign: Iterable[str]) -> bool:
    """Whether ``text`` says what ``own`` texts say, and takes nothing from ``foreign`` ones.

    Rule (law 6): every identifier, address and number stands in ``own``; at least a third
    of the content words do; under 40 % come only from ``foreign``.
    """
    own_words: frozenset[str] = frozenset().union(*(stems(t) for t in own))
    own_marks: frozenset[str] = frozenset().union(*(marks(t) for t in own))
    words = stems(text)
    if marks(text) - own_marks:
        return False
    if not words:
        return True
    missing = words - own_words
    taken = missing & frozenset().union(*(stems(t) for t in foreign))
    return len(words & own_words) >= LEAST_OWN * len(words) and len(taken) < MOST_FOREIGN * len(words)


_CLAUSE = re.compile(r"(?<=[.;!?])\s+|(?<=,)\s+|\s+(?=(?:and|but|or|then|because|so)\s)")


def split_line(text: str, limit: int) -> list[str]:
    """Cut an overlong line at sentences, clauses, or words, never inside a word.

    Returns:
        Pieces of at most ``limit`` characters; empty if a single word is longer than that.
    """
    pieces: list[str] = []
    for clause in _CLAUSE.split(text):
        for part in [clause] if len(clause) <= limit else clause.split():
            if len(part) > limit:
                return []
            if pieces and len(pieces[-1]) + 1 + len(part) <= limit:
                pieces[-1] += f" {part}"
            else:
                pieces.append(part)
    return pieces
