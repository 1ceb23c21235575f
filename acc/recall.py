"""Passages: what recall finds, and how a text is split into them (`acc.artifacts.recall` finds and scores them).

A passage is a sentence; where a text has none, as a table or a log, a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from acc.state.tail import Message
from acc.text.sentences import sentences
from acc.turn.observations import Evidence, Trust

MOST_LINES = 2  # what has more is no sentence: its lines are passages
_PIECE = re.compile(r"\S.{0,398}(?:\S(?=\s|$)|$)|\S{1,400}")  # about a hundred tokens, whole words


@dataclass(frozen=True)
class Candidate:
    """A passage with the ref of its message, its numbers in thread and message from 0, its terms and their rarity."""

    evidence: Evidence
    at: int
    place: int
    score: float
    terms: Sequence[str]
    rarity: Mapping[str, float]


def candidate_of(
    message: Message,
    text: str,
    place: int,
    at: int | None = None,
    score: float = 0.0,
    terms: Sequence[str] = (),
    rarity: Mapping[str, float] | None = None,
) -> Candidate:
    """Return a passage of a message; ``at`` is its number in the thread, if there is one."""
    seen = message.observation
    name = "" if seen.channel.trust >= Trust.AGENT else seen.name
    who = {"channel": seen.channel, "name": name, "ref": seen.ref}
    evidence = Evidence.model_validate(
        {**who, "text": text, "turn": message.turn, "at": message.at}
    )
    number = place if at is None else at
    known = {} if rarity is None else rarity
    return Candidate(evidence, number, place, score, terms, known)


def passages(text: str) -> Iterator[str]:
    """Yield the sentences of a text, or lines where there is none, in pieces of at most 400 characters."""
    for sentence in sentences(text):
        lines = sentence.text.splitlines()
        for part in lines if len(lines) > MOST_LINES else [sentence.text]:
            yield from _PIECE.findall(" ".join(part.split()))
