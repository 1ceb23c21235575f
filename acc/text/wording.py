"""Compares wordings: identifiers, content words, polarity, assent, repetition.

All functions are pure. They decide whether a text states what its source states. They never
decide trust, which comes from the channel (law 6).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from acc.text.caching import cached_by_text
from acc.text.clauses import MARKS
from acc.text.quoting import find_quote as find_quote
from acc.text.ranking import terms

_DELIMITERS = re.compile(r"[\s()\[\]{}<>\"'“”‘’«»,;|]+")
_HAS_DIGIT = re.compile(r"\d")
_RANGE = re.compile(r"(?<=\d)[-–—](?=\d{1,4}$)(?<!-\d\d-)(?<!-\d-)")
_SEPARATOR = re.compile(r"(?<=\d)[ ,.'’_](?=\d{3}\b)")


@cached_by_text
def marks(text: str) -> frozenset[str]:
    """Return the identifiers, addresses and numbers of ``text``, case-folded. No rewording may invent one."""
    tokens = _DELIMITERS.split(_SEPARATOR.sub("", text))
    found = (
        part
        for token in tokens
        if _HAS_DIGIT.search(token) or "@" in token or "://" in token
        for part in (_RANGE.split(token) if len(token) < 40 else (token,))
    )
    folded = (mark.strip(".,:!?*_-–—…%€$£+=/&").casefold() for mark in found)
    return frozenset(mark for mark in folded if mark)


@cached_by_text
def stems(text: str) -> frozenset[str]:
    """Return the content words of ``text``, stemmed."""
    return frozenset(terms(text))


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard similarity, 0 to 1; 0 if either set is empty."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


def is_alike(one: frozenset[str], other: frozenset[str], least: float) -> bool:
    """Whether the `overlap` of the two sets is at least ``least``."""
    one, other = sorted((one, other), key=len)
    # The overlap is at most the ratio of the sizes, which is cheap to compute.
    if len(one) < least * len(other):
        return False
    # Words missing from a sample are missing from the whole: a sample excludes most texts.
    lacking = min(SAMPLE, len(one)) - len(other.intersection(islice(one, SAMPLE)))
    spare = len(one) - least * (len(one) + len(other)) / (1 + least)
    return lacking < spare + 1 and overlap(one, other) >= least


SAMPLE = 32
"""Number of words that are compared before all are."""


_POLARITY = (
    (
        "most",
        r"(?:not|no|nothing|never) (?:\w+ )?(?:above|over|more than|beyond|higher than)|max(?:imum)?|"
        r"at (?:the )?most|no more than|up to|under|below|cap(?:ped)?|limit(?:ed)?|tops",
    ),
    (
        "least",
        r"(?:not|no|nothing|never) (?:\w+ )?(?:below|under|less than|fewer than)|min(?:imum)?|"
        r"at (?:the )?least",
    ),
    (
        "forbids",
        r"no|not|never|none|nobody|nothing|nowhere|neither|nor|cannot|\w+n['’]t|forbid\w*|forbade|"
        r"prohibit\w*|ban(?:ned|s)?|refuse\w*|stop|without|avoid\w*|exclud\w*|omit\w*|refrain\w*|"
        r"off|out of|alone",
    ),
    ("only", r"only|just|solely|exclusively"),
    ("unless", r"unless|except\w*"),
    ("until", r"until|till|before"),
)
_POLAR = re.compile("|".join(rf"(?P<{kind}>\b(?:{words})\b)" for kind, words in _POLARITY), re.I)


def polarity(text: str) -> Counter[str | None]:
    """Count the words by which ``text`` forbids, restricts and bounds, by kind."""
    return Counter(match.lastgroup for match in _POLAR.finditer(text))


@cached_by_text
def is_negative(text: str) -> bool:
    """Whether ``text`` forbids, excludes or restricts."""
    return _POLAR.search(text) is not None


_ASSENT = re.compile(
    r"\W*(?:(?:yes|yep|yeah|yup|ok|okay|k|sure|of course|certainly|agreed|alright|all right|"
    r"absolutely|definitely|"
    r"confirmed|approved|i (?:agree|approve|confirm)|right|fine|perfect|great|good|nice|exactly|"
    r"correct|brilliant|"
    r"excellent|lovely|go ahead|go for it|do (?:it|that|so|both|them)|proceed|carry on|make it so|"
    r"with (?:it|that)|"
    r"(?:(?:that|it) )?(?:sounds|looks) (?:good|right|fine|great|perfect)|(?:that|it)['’]?s (?:fine|"
    r"right|good|ok|correct)|"
    r"(?:send|take|book|use|file|run|post|close|lift|tick) (?:it|that|them)|as (?:it )?is|let['’]?s (?:do|"
    r"go with) (?:it|that|this)|"
    r"works for me|(?:by|with|to|for) me|as you (?:say|said|propose|proposed|suggest|suggested)|"
    r"please|then|now|indeed|"
    r"thanks|thank you|thx|cheers|ja|jawohl|gerne?|genau|einverstanden|bitte|danke|mach das|oui|"
    r"d['’]accord|entendu|merci|"
    r"s[íi]|vale|claro|de acuerdo|gracias|sim|はい|了解(?:です|しました)?|お願いします|"
    r"そうしてください|好的?|是的)(?!\w)\W*)+",
    re.I,
)
LONGEST_ASSENT = 120
"""Maximum length of a plain yes in characters."""


def is_assent(text: str) -> bool:
    """Whether a user's words only agree to the preceding proposal and say nothing else."""
    said = text.strip()
    if len(said) > LONGEST_ASSENT or "?" in said or _REFUSES.search(said):
        return False
    agrees = re.search(r"[^\W\d_]", _COURTESY.sub("", said)) is not None
    return agrees and _ASSENT.fullmatch(said) is not None


_COURTESY = re.compile(
    r"\b(?:please|thanks|thank you|thx|cheers|bitte|danke|merci|gracias|then|now|lovely|nice)\b",
    re.I,
)


_REFUSES = re.compile(rf"{MARKS}|🙅|[/\\]")


RUN = 5
"""Number of consecutive content words that count as a repetition."""


def repeats(text: str, other: str) -> bool:
    """Whether ``text`` shares `RUN` consecutive content words (or all, if it has fewer) with ``other``.

    A text with fewer than `LEAST_RUN` content words must be in ``other`` word by word. A single word does not count.
    """
    if len(terms(text)) < LEAST_RUN:
        return len(text.split()) > 1 and find_quote(text, other) is not None
    return bool(_shared_runs(text, other, min(RUN, len(terms(text)))))


LEAST_RUN = 3
"""Content words in a row that are compared as such: fewer are met with by chance."""


def repeated(text: str, other: str) -> frozenset[str]:
    """Return the content words of ``text`` that are in a run shared with ``other``."""
    size = min(RUN, len(terms(text)), len(terms(other)))
    if size < LEAST_RUN:
        short, long = sorted((text, other), key=lambda t: len(terms(t)))
        return stems(short) if repeats(short, long) else frozenset()
    return frozenset(word for run in _shared_runs(text, other, size) for word in run)


def _shared_runs(text: str, other: str, size: int) -> frozenset[tuple[str, ...]]:
    # Most texts share no run. Comparing words first avoids computing the other's runs.
    there = stems(other)
    likely = frozenset(run for run in _runs(text, size) if there.issuperset(run))
    return likely & _runs(other, size) if likely else likely


@cached_by_text
def _runs(text: str, size: int) -> frozenset[tuple[str, ...]]:
    words = terms(text)
    return frozenset(zip(*(words[i:] for i in range(size)), strict=False))


LEAST_OWN = 1 / 3
MOST_FOREIGN = 0.4


class Vocabulary(NamedTuple):
    """The content words and marks of several texts."""

    stems: frozenset[str]
    marks: frozenset[str]


@cached_by_text
def vocabulary(texts: tuple[str, ...]) -> Vocabulary:
    """Return the vocabulary of ``texts``."""
    return Vocabulary(
        frozenset().union(*(stems(t) for t in texts)), frozenset().union(*(marks(t) for t in texts))
    )


def borne_out(text: str, own: Iterable[str], foreign: Iterable[str]) -> bool:
    """Whether ``own`` texts support ``text`` and it takes nothing from ``foreign`` ones (law 6).

    All marks and a third of the content words are in ``own``; under 40 % are only in ``foreign``.
    """
    mine, theirs = vocabulary(tuple(own)), vocabulary(tuple(foreign))
    words = stems(text)
    if marks(text) - mine.marks or not words:
        return False
    there = (words - mine.stems) & theirs.stems
    enough = len(words & mine.stems) >= LEAST_OWN * len(words)
    return enough and len(there) < MOST_FOREIGN * len(words)


def bears(text: str, own: Iterable[str], least: float = LEAST_OWN) -> bool:
    """Whether ``own`` texts contain at least the share ``least`` of the content words of ``text``."""
    words = stems(text)
    return len(words & vocabulary(tuple(own)).stems) >= least * len(words)


def taken(
    text: str, own: Iterable[str], foreign: Iterable[str], most: float = MOST_FOREIGN
) -> bool:
    """Whether ``text`` takes a mark, a phrase (`PHRASE`) or the share ``most`` of its words from ``foreign`` texts.

    What ``own`` texts have too does not count. One shared word is not enough: a long text contains most words
    that a rewording may choose.
    """
    foreign = tuple(foreign)
    mine, theirs = vocabulary(tuple(own)), vocabulary(foreign)
    if (marks(text) - mine.marks) & theirs.marks:
        return True
    words = stems(text)
    there = (words - mine.stems) & theirs.stems
    if there and len(there) >= most * len(words):
        return True
    return takes_phrase(text, there, foreign, PHRASE)


def takes_phrase(text: str, theirs: frozenset[str], foreign: Iterable[str], size: int) -> bool:
    """Whether ``text`` has ``size`` content words in a row that are all ``theirs`` and stand so in a text."""
    phrases = [run for run in _runs(text, size) if theirs.issuperset(run)]
    return bool(phrases) and any(not _runs(t, size).isdisjoint(phrases) for t in foreign)


PHRASE = 2
"""Content words in a row that only a foreign text has: they are taken from it."""


_CLAUSE = re.compile(r"(?<=[.;!?,]) | (?=(?:and|but|or|then|because|so) )")


def split_line(text: str, limit: int) -> list[str]:
    """Cut a line at sentences, clauses or words into pieces of at most ``limit``; empty if a word is longer."""
    pieces: list[str] = []
    for clause in _CLAUSE.split(" ".join(text.split())):
        for part in [clause] if len(clause) <= limit else clause.split():
            if len(part) > limit:
                return []
            if pieces and len(pieces[-1]) + 1 + len(part) <= limit:
                pieces[-1] += f" {part}"
            else:
                pieces.append(part)
    return pieces


_ASKS = re.compile(
    r"\?\W*\Z|\A\W*(?:(?:and|but|so|or|then)\W+)?(?:what|which|who|whom|whose|where|when|why|how)\b",
    re.I,
)


def asks(text: str) -> bool:
    """Whether ``text`` ends in a question mark or begins with a question word."""
    return _ASKS.search(text) is not None


def only_repeats(text: str, said: str) -> bool:
    """Whether ``text`` adds nothing to ``said``.

    A question adds nothing if ``said`` has all its content words. A statement, which may be an answer, adds
    nothing if both have the same content words and polarity and ``said`` is not a question.
    """
    if len(text) > 4 * len(said) + 80:
        return False
    own, theirs = stems(text), stems(said)
    if not own or not own <= theirs:
        return False
    if asks(text):
        return True
    return own == theirs and not asks(said) and polarity(text) == polarity(said)
