"""Facts: sentences of user and agent, or their parts, by what they will be worth later.

Of a tool's output nothing is taken: what matters of it, the agent says again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from acc.compress.keyless.acts import Linear, acts
from acc.compress.keyless.hearing import HeardClauses, SaidSentence
from acc.compress.keyless.words import NUMBER_WORDS, marks, one_of, plain, stems, words_of
from acc.state.items import LONGEST, Record

_MONTH = one_of(
    """jan(?:uary)?,feb(?:ruary)?,mar(?:ch)?,apr(?:il)?,may,june?,july?,aug(?:ust)?,sept?(?:ember)?,oct(?:ober)?,
    nov(?:ember)?,dec(?:ember)?"""
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_UNIT = one_of(
    """ms,s,sec,seconds?,min,minutes?,h,hours?,days?,weeks?,months?,years?,kb,mb,gb,tb,kg,g,mg,ml,l,km,m,rpm,qps,rps"""
)
_VALUE = re.compile(
    rf"(?P<dates>{_DAY}(?: ?{_MONTH})?(?: ?[-–] ?| to | until ){_DAY}(?: of)? {_MONTH}"
    rf"|{_MONTH} {_DAY} ?(?:-|–|to) ?{_DAY})"
    rf"|(?P<date>\b{_DAY}(?: of)? {_MONTH}(?: \d{{4}})?|\b{_MONTH} {_DAY}(?!\d)(?:,? \d{{4}})?|\b\d{{4}}-\d\d-\d\d\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b)"
    r"|(?P<amount>[£€$]\s?\d[\d,]{0,15}(?:\.\d+)?(?:\s?(?:k|m|bn|million)\b)?|\b\d[\d,]{0,15}(?:\.\d+)?\s?k?\s?"
    + one_of("euros?,pounds?,dollars?,eur,gbp,usd,chf")
    + r")|(?P<time>\b\d{1,2}:\d\d(?:\s?[ap]m\b)?|\b\d{1,2}\s?[ap]m\b)"
    r"|(?P<share>\b\d+(?:\.\d+)?\s?(?:%|percent\b))"
    r"|(?P<version>\bv?\d{1,4}\.\d{1,4}\.\d{1,4}[\w+-]{0,20}|\bv\d{1,3}(?:\.\d{1,3})?\b)"
    r"|(?P<id>\b(?-i:(?=[A-Z0-9_-]{0,40}\d)(?=[A-Z0-9_-]{0,40}[A-Z])[A-Z0-9]{2,20}(?:[-_][A-Z0-9]{1,20}){0,5})\b)"
    r"|(?P<host>\b(?-i:[a-z][a-z0-9]{0,20}(?:-[a-z0-9]{1,20}){0,4}-\d{1,4})\b)"
    rf"|(?P<duration>\b\d+(?:\.\d+)?\s?{_UNIT})"
    rf"|(?P<number>\b\d+(?:,\d+)*(?:\.\d+)?\b|\b{one_of(','.join(NUMBER_WORDS))})",
    re.I,
)
_NAME = re.compile(
    r"(?<=[\w,;:)] )[A-ZÀ-Þ][\w'-]{1,30}(?: (?:(?:do|da|de|del|di|la|le|of|van|von|der) )?[A-ZÀ-Þ][\w'-]{1,30}){0,3}"
)
_NO_NAME = frozenset(("I", "I'm", "I'll", "I'd", "I've", "OK"))


class Value(NamedTuple):
    """A value: its kind and its text, case-folded."""

    kind: str
    text: str


@lru_cache(maxsize=2048)
def values_in(words: str) -> tuple[Value, ...]:
    """Return the values in a sentence, in order."""
    found = _VALUE.finditer(words[:1_000])
    return tuple(Value(m.lastgroup or "number", m.group().strip().casefold()) for m in found)


@lru_cache(maxsize=2048)
def names_in(words: str) -> frozenset[str]:
    """Return what has a capital within a sentence."""
    found = (m.group().removesuffix("'s") for m in _NAME.finditer(words[:1_000]))
    return frozenset(name for name in found if name not in _NO_NAME)


GRADES = (0.0, 0.4, 1.0)
"""The worth of a sentence with no, some, and much later use."""


@lru_cache(maxsize=2048)
def worth_of(words: str) -> float:
    """Return how much a sentence will be needed later, 0 to 1."""
    odds = Linear.read("worth").odds(worth_features(words))
    return sum(grade * p for grade, p in zip(GRADES, odds, strict=True))


def worth_features(words: str) -> frozenset[str]:
    """Return the names of the classifier's features."""
    tokens = words_of(plain(words))
    framed = ["^", *tokens, "$"]
    return frozenset({"", *tokens, *map(" ".join, pairwise(framed)), *_content_of(words)})


def _content_of(words: str) -> Iterator[str]:
    kinds = {value.kind for value in values_in(words)}
    yield from (f"value {kind}" for kind in kinds)
    yield f"values {min(3, len(kinds))}"
    yield f"names {min(3, len(names_in(words)))}"
    yield f"marks {min(4, len(marks(words)))}"
    yield f"length {min(8, len(words) // 25)}"
    yield f"asks {words.rstrip().endswith('?')}"


LEAST = 0.05
"""Minimum worth of a sentence that becomes a fact."""

TELLS = 0.15
"""Minimum probability that a user's sentence tells something."""

SHARED = 0.3
"""Minimum share of a held fact's words in a sentence that gives another value of the same thing."""

LONG, FEW = 60, 4
"""Characters of a sentence from which its parts are ranked one by one, and the words of a part at least."""

_JOINT = re.compile(
    r"[;:–—]\s+|\s[-–—]\s|,\s+(?:and|but|so|which|because|with|while|as|since|where|who)\s", re.I
)


@dataclass(frozen=True)
class FactCandidate:
    """A text that may become a fact, or a held fact.

    Attributes:
        text: Its words.
        ref: Its message; empty for a held fact.
        worth: How much it will be needed, 0 to 1.
        age: Turns since it was last said.
    """

    text: str
    ref: str
    worth: float
    age: int = 0


def told_in(heard: HeardClauses, ruling: Set[int]) -> Iterator[FactCandidate]:
    """Yield the new facts of what was read. ``ruling`` are the user's sentences that are rules or goals."""
    for place, said in enumerate(heard.user):
        if place not in ruling and _states(said):
            yield from _pieces(said)
    for said in heard.others:
        if said.is_new and not said.asks and worth_of(said.words) >= LEAST:
            yield from _pieces(said)


def _pieces(said: SaidSentence) -> Iterator[FactCandidate]:
    """Yield the sentence, or those of its longer parts that are worth most, where it is long."""
    text = " ".join(said.text.split())
    for part in parts(text) if len(text) >= LONG else [text]:
        worth = worth_of(plain(part))
        if worth >= LEAST or part == text:
            is_whole = len(part) <= LONGEST
            kept = part if is_whole else f"{part[: LONGEST - 6].rstrip()} [...]"
            yield FactCandidate(kept, said.ref, worth)


def parts(text: str) -> list[str]:
    """Return the parts of a long sentence between joints, those of few words with the one before."""
    found: list[str] = []
    start = 0
    for joint in _JOINT.finditer(text):
        if min(len(text[start : joint.start()].split()), len(text[joint.end() :].split())) >= FEW:
            found.append(text[start : joint.start()])
            start = joint.end()
    return [*found, text[start:]]


def _states(said: SaidSentence) -> bool:
    odds = acts(said.whole)
    told = odds["fact"] + odds["guess"] + odds["done"] + odds["change"] + odds["past"]
    return not said.asks and told >= TELLS and worth_of(said.words) >= LEAST


def replaced_by(new: FactCandidate, held: Sequence[Record]) -> Record | None:
    """Return the held fact that ``new`` gives another value for: the same subject, a value of the same kind."""
    text = plain(new.text)
    said = stems(text)
    shares = [_restates(said, text, plain(fact.text_of)) for fact in held]
    best = max(shares, default=0.0)
    return held[shares.index(best)] if best else None


def _restates(said: frozenset[str], new: str, held: str) -> float:
    """Return the share of a held fact's words in a sentence with another value of the same kind; 0 if it has none."""
    values, old = _by_kind(new), _by_kind(held)
    if not any(values[kind].isdisjoint(old[kind]) for kind in values.keys() & old.keys()):
        return 0.0
    numbered = _numbered(held)
    if any(numbered.get(noun, number) != number for noun, number in _numbered(new).items()):
        return 0.0  # "door 4" is not "door 3"
    own = stems(held) - marks(held)
    shared = len(own & said)
    share = shared / len(own) if own else 0.0
    return share if shared >= 2 and share >= SHARED else 0.0


def _numbered(text: str) -> dict[str, str]:
    """Return the numbers of things, such as 3 of "server 3"."""
    pairs = pairwise(word.strip(".,;:!?") for word in text.lower().split())
    return {a: b for a, b in pairs if a.isalpha() and b.isdigit() and stems(a)}


def _by_kind(words: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for kind, text in values_in(words):
        found.setdefault(kind, set()).add(text)
    return found
