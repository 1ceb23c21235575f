"""Facts: whole sentences of user and agent and lines of tools, by what they will be worth later."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from acc.keyless.acts import acts
from acc.keyless.reading import Heard, Said
from acc.keyless.values import values_in, worth_of
from acc.keyless.words import marks, plain, stems
from acc.state.items import LONGEST, Record

LEAST = 0.05
"""Minimum worth of a sentence that becomes a fact."""

TELLS = 0.15
"""Minimum probability that a user's sentence tells something."""

MOST_LINES = 400
"""Maximum number of lines read of one output."""

MOST_OF_OUTPUT = 4
"""Lines of one output that become facts at most."""

SHARED = 0.3
"""Minimum share of a held fact's words in a sentence that gives another value of the same thing."""

LONG, FEW = 60, 4
"""Characters of a sentence from which its parts are ranked one by one, and the words of a part at least."""

TOOL = 0.15
"""Factor on the worth of a tool's line: what matters of it, the agent says again."""

REPEATED = 0.6
"""Minimum share of a sentence's words in a rule for it to be a repetition."""

_JOINT = re.compile(
    r"[;:–—]\s+|\s[-–—]\s|,\s+(?:and|but|so|which|because|with|while|as|since|where|who)\s", re.I
)
_LINE = re.compile(
    r"[ \t]{0,9}[\"']?(?P<key>[A-Za-z]+\.?(?:[ _-][A-Za-z]+\.?){0,3})[\"']?"
    r"(?:[ \t]{0,4}[:=][ \t]{0,4}|[ \t]{2,20})[\"']?(?P<value>[^\s\"'{}\[\],][^\n\"{}\[\]|]{0,60})"
)
_NUMBERED = re.compile(
    r"\b(?!(?:until|till|most|least|than|under|over|about|from|after|before|with|only|for|now|are|was|has)\b)"
    r"([a-z]{3,20}) (\d{1,4})\b(?! ?%)"
)
"""A thing with a number: "server 3"."""


@dataclass(frozen=True)
class Candidate:
    """A text that may become a fact, or a held fact.

    Attributes:
        text: Its words.
        ref: Its message; empty for a held fact.
        worth: How much it will be needed, 0 to 1.
        age: Turns since it was last said.
        replaces: Id of the held fact that it replaces, or its own id; may be empty.
    """

    text: str
    ref: str
    worth: float
    age: int = 0
    replaces: str = ""


def told_in(heard: Heard, ruling: frozenset[int], rules: Sequence[str]) -> Iterator[Candidate]:
    """Yield the new facts of what was read. ``ruling`` are the user's sentences that are rules or goals."""
    own = [stems(rule) for rule in rules]
    asked = stems(" ".join(said.words for said in heard.user))
    for place, said in enumerate(heard.user):
        if place not in ruling and _states(said):
            yield from _pieces(said)
    for said in heard.others:
        if said.message.status != "read" and _tells(said, own):
            yield from _pieces(said)
    for message in heard.tools:
        name = message.observation.name
        for key, value in _lines(message.text, asked):
            line = f"{name} {key}: {value}".strip()
            yield Candidate(line, message.ref, TOOL * worth_of(line))


def _pieces(said: Said) -> Iterator[Candidate]:
    """Yield the sentence, or those of its longer parts that are worth most, where it is long."""
    text = " ".join(said.text.split())
    for part in parts(text) if len(text) >= LONG else [text]:
        worth = worth_of(plain(part))
        if worth >= LEAST or part == text:
            yield Candidate(_line(part), said.ref, worth)


def parts(text: str) -> list[str]:
    """Return the parts of a long sentence between joints, those of few words with the one before."""
    found: list[str] = []
    start = 0
    for joint in _JOINT.finditer(text):
        if min(len(text[start : joint.start()].split()), len(text[joint.end() :].split())) >= FEW:
            found.append(text[start : joint.start()])
            start = joint.end()
    return [*found, text[start:]]


def _line(text: str) -> str:
    folded = " ".join(text.split())
    return folded if len(folded) <= LONGEST else f"{folded[: LONGEST - 6].rstrip()} [...]"


def _states(said: Said) -> bool:
    """Return whether a user's sentence tells something."""
    odds = acts(said.whole)
    told = odds["fact"] + odds["guess"] + odds["done"] + odds["change"] + odds["past"]
    return not said.asks and told >= TELLS and worth_of(said.words) >= LEAST


def _tells(said: Said, rules: Sequence[frozenset[str]]) -> bool:
    """Return whether the agent reports something, and does not only repeat a rule."""
    if said.asks or worth_of(said.words) < LEAST:
        return False
    own = stems(said.words)
    return not any(len(own & rule) >= REPEATED * len(own) for rule in rules)


def _lines(text: str, asked: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield keys and values of an output's lines whose key was asked for, the first few."""
    found = (_LINE.match(line[:200]) for line in text.split("\n", MOST_LINES)[:MOST_LINES])
    pairs = [(m["key"].replace("_", " ").lower(), m["value"].strip()) for m in found if m]
    wanted = [pair for pair in pairs if stems(pair[0]) & asked and marks(pair[1])]
    yield from wanted[:MOST_OF_OUTPUT]


def replaced_by(new: Candidate, held: Sequence[Record]) -> Record | None:
    """Return the held fact that ``new`` gives another value for: the same subject, a value of the same kind."""
    text = plain(new.text)
    said = stems(text)
    best: tuple[float, Record | None] = (0.0, None)
    for fact in held:
        share = _restates(said, text, plain(fact.text_of))
        if share > best[0]:
            best = share, fact
    return best[1]


def _restates(said: frozenset[str], new: str, held: str) -> float:
    """Return the share of a held fact's words in a sentence with another value of the same kind; 0 if it has none."""
    values, old = _by_kind(new), _by_kind(held)
    if not any(values[kind].isdisjoint(old[kind]) for kind in values.keys() & old.keys()):
        return 0.0
    numbered = dict(_NUMBERED.findall(held.lower()))
    if any(numbered.get(noun, number) != number for noun, number in _NUMBERED.findall(new.lower())):
        return 0.0  # "door 4" is not "door 3"
    units = stems(" ".join(value.text for value in values_in(held)))  # a currency is no subject
    own = stems(held) - marks(held) - units
    shared = len(own & said)
    share = shared / len(own) if own else 0.0
    return share if shared >= 2 and share >= SHARED else 0.0


def _by_kind(words: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for kind, text in values_in(words):
        found.setdefault(kind, set()).add(text)
    return found
