"""Recall: the passages of a thread that share words with what is asked, each scored in its context.

A passage is a sentence; where a text has none, as a table or a log, a line. With the rarity

    w(t) = ln(1 + (N - df(t) + 1/2) / (df(t) + 1/2))      in N messages, df(t) of which contain t

and W(A) the sum of w over those terms of the question that A contains, a passage p of message m scores

    (0.7 W(p) + 0.3 W(m) + 0.3 W(message before m)) / W(question)
        * trust * (1 + 0.1 age(p)) / (0.6 + 0.4 |p| / mean |p|)

The message before m counts because an answer often leaves out what it answers ("Thirty, then."). ``trust`` is 1
for what people and the agent say, 1/2 for tools and documents, which are long and whose point the agent repeats.
``age``, 0 to 1, puts the later of the same words first. |p| is in characters. Figures: ``benchmarks/evidence_gate.py``.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acc.tail import Message
from acc.text.ranking import terms
from acc.text.sentences import sentences
from acc.turn.observations import Evidence, Trust

OWN, AROUND, LESS_TRUSTED, LATER, LENGTH = 0.7, 0.3, 0.5, 0.1, 0.4
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


class ThreadIndex:
    """The messages of one thread, searchable by words. Not thread-safe."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._passages: list[tuple[int, str]] = []  # number within the message, text
        self._facts = array("d")  # owner, trust and length of each passage, one after the other
        self._in_messages: defaultdict[str, list[int]] = defaultdict(list)
        self._in_passages: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, message: Message) -> None:
        """Append a message. Calls of tools are left out: their results say more."""
        if not message.text.strip() or message.observation.is_call:
            return
        number, is_speech = len(self._messages), message.channel.trust >= Trust.AGENT
        for place, text in enumerate(passages(message.text)):
            for term in frozenset(terms(text)):
                self._in_passages[term].append(len(self._passages))
            self._passages.append((place, text))
            self._facts.extend((number, 1 if is_speech else LESS_TRUSTED, len(text)))
        for term in frozenset(terms(message.text)):
            self._in_messages[term].append(number)
        self._messages.append(message)

    def recall(self, question: str, limit: int = 64) -> list[Candidate]:
        """Return at most ``limit`` passages that have a term of the question in their context, the best first."""
        if not self._passages:
            return []
        scores = self._scores(sorted(frozenset(terms(question))))
        order = np.lexsort((-np.arange(len(scores)), -scores))[:limit].tolist()
        return [self._candidate(at, float(scores[at])) for at in order if scores[at] > 0]

    def _scores(self, wanted: Sequence[str]) -> NDArray[np.float64]:
        count = len(self._passages)
        owner, trust, length = np.array(self._facts).reshape(count, 3).T
        own, around = np.zeros(count), np.zeros(len(self._messages) + 1)
        for term in wanted:
            own[self._in_passages.get(term, [])] += OWN * self._rarity(term)
            at = np.array(self._in_messages.get(term, []), int)
            around[at] += AROUND * self._rarity(term)
            around[at + 1] += AROUND * self._rarity(term)
        whole = sum(map(self._rarity, wanted)) or 1.0
        trust = trust * (1 + LATER * np.arange(count) / count)
        weight = trust / whole / (1 - LENGTH + LENGTH * length / length.mean())
        return np.asarray((own + around[owner.astype(int)]) * weight)

    def _candidate(self, at: int, score: float) -> Candidate:
        place, text = self._passages[at]
        message = self._messages[int(self._facts[3 * at])]
        said = terms(text)
        rarity = {term: self._rarity(term) for term in said}
        return candidate_of(message, text, place, at, score, said, rarity)

    def _rarity(self, term: str) -> float:
        df = len(self._in_messages.get(term, ()))
        return math.log1p((len(self._messages) - df + 0.5) / (df + 0.5))


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
    return Candidate(evidence, number, place, score, terms, rarity or {})


def passages(text: str) -> Iterator[str]:
    """Yield the sentences of a text, or lines where there is none, in pieces of at most 400 characters."""
    for sentence in sentences(text):
        lines = sentence.text.splitlines()
        for part in lines if len(lines) > MOST_LINES else [sentence.text]:
            yield from _PIECE.findall(" ".join(part.split()))
