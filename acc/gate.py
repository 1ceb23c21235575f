"""Qualify: what of the recalled passages the agent and the compressor read. Recall is not commitment (law 4).

One rule, whatever is asked. The gate opens if the best passage covers enough of the question. Then each passage
over a lower bound is admitted, the best first, that says something which neither state and tail nor the passages
admitted before it say, as long as there is room. With w(t) the rarity of a term, the news of a passage is

    news(p) = sum of w over the terms of p that stand in neither the question, nor in what is read or admitted
              / sum of w over the terms of p that do not stand in the question

Rarity matters: a new figure in a known sentence is news, and so the newer version of a value stands beside an
older one. A passage is a sentence; where a text has none, as a table or a log, a line. `acc.artifacts.recall` finds
and scores passages. Those of one message are shown together, in its order.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from acc.state.policy import Gate
from acc.state.tail import Message
from acc.text.ranking import terms
from acc.text.sentences import sentences
from acc.text.tokens import TokenCounter, utf8_quarter
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


GAP = "[...] "
"""Stands before a passage where words of its message before it are left out."""


@dataclass(frozen=True)
class Verdict:
    """Why a passage was admitted or not.

    Attributes:
        ref: Its message.
        place: Its number within the message, from 0.
        reason: ``admitted``, ``in_tail``, ``off_topic``, ``known`` or ``no_room``.
    """

    ref: str
    place: int
    reason: str


USUAL = Gate()


def opens(candidates: Iterable[Candidate], gate: Gate) -> bool:
    """Whether one of the passages covers enough of the question."""
    return any(each.score >= gate.opens for each in candidates)


def qualify(
    candidates: Sequence[Candidate],
    question: str,
    read: str,
    in_tail: Collection[str],
    gate: Gate = USUAL,
    counter: TokenCounter = utf8_quarter,
) -> tuple[tuple[Evidence, ...], tuple[Verdict, ...]]:
    """Return what is admitted, one text for each message in the order of turns, and a verdict for each candidate.

    Args:
        candidates: What recall found, the best first.
        question: What is asked.
        read: What the agent reads anyway: state and tail.
        in_tail: Refs of messages that stand word for word in the tail.
        gate: The bounds.
        counter: Counts tokens.
    """
    is_open = opens(candidates, gate)
    asked, known = frozenset(terms(question)), set(terms(read)) if is_open else set()
    admitted: list[Candidate] = []
    verdicts: list[Verdict] = []
    left = gate.tokens
    for each in candidates:
        reason = "off_topic"
        if each.evidence.ref in in_tail:
            reason = "in_tail"
        elif is_open and each.score >= gate.least:
            is_begun = any(each.evidence.ref == other.evidence.ref for other in admitted)
            tokens = counter(f"\n{GAP}{each.evidence.text}") + (0 if is_begun else gate.label)
            reason = _reason(each, asked, known, gate, tokens <= left)
        if reason == "admitted":
            left -= tokens
            known.update(each.terms)
            admitted.append(each)
        verdicts.append(Verdict(each.evidence.ref, each.place, reason))
    return tuple(_shown(admitted)), tuple(verdicts)


def _reason(
    each: Candidate, asked: frozenset[str], known: Collection[str], gate: Gate, has_room: bool
) -> str:
    beyond = sorted(frozenset(each.terms) - asked)
    news = sum(each.rarity[term] for term in beyond if term not in known)
    if not beyond or news < gate.news * sum(each.rarity[term] for term in beyond):
        return "known"
    return "admitted" if has_room else "no_room"


def admitted_again(
    messages: Sequence[Message], verdicts: Sequence[Verdict]
) -> tuple[Evidence, ...]:
    """Return what was admitted before, from its messages in the order of turns and the recorded verdicts."""
    found = []
    for message in messages:
        admitted = [v for v in verdicts if v.ref == message.ref and v.reason == "admitted"]
        places = sorted({each.place for each in admitted})
        texts = dict(enumerate(passages(message.text)))
        own = [candidate_of(message, texts[each], each) for each in places if each in texts]
        found += list(_shown(own))
    return tuple(found)


def _shown(admitted: Sequence[Candidate]) -> Iterator[Evidence]:
    """Yield one evidence for each message in the thread's order, with its passages in order."""
    in_order = sorted(admitted, key=lambda each: each.at)
    for _, group in groupby(in_order, key=lambda each: each.at - each.place):
        own = list(group)
        due = [0, *(each.place + 1 for each in own)]
        lines = [
            ("" if each.place == next_place else GAP) + each.evidence.text
            for each, next_place in zip(own, due, strict=False)
        ]
        yield own[0].evidence.model_copy(update={"text": "\n".join(lines)})
