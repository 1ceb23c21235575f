"""What happened, what comes next, what is open, and what is worth opening."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from acc.compressors.facts import REFUSED
from acc.compressors.lookalikes import is_told
from acc.compressors.reading import Reading, Said
from acc.compressors.sentences import fit, plain, sentences, tidy
from acc.compressors.words import any_of, one_of
from acc.turn import Channel, Evidence
from acc.wording import is_assent, stems

LONGEST = 240
"""Characters of a line of the trace."""

LONG_OUTPUT = 1_500
"""Characters from which a tool's output is referred to rather than remembered."""

NEXT = any_of(
    r"\bnext(?:,| step| I| up| we)\b|\bI(?:'ll| will| am going to|'m going to)\b",
    r"\b(?:then|after that|afterwards),? (?:I|we)\b|\bwe(?:'ll| will) (?:then|next)\b",
    r"\blet's (?:then|next|start|continue)\b|\bto follow\b|\b\w+ follows\b",
)
"""Announces a step."""

_NO_STEP = re.compile(
    r"\bI(?:'ll| will) " + one_of("not, never, leave you, admit, be honest, miss, remember"), re.I
)
OPEN = any_of(
    r"\b" + one_of(
        """not sure, unsure, unclear, unknown, unconfirmed, undecided, uncertain, tbc, tbd,
        to be (?:confirmed|decided|determined), no idea, hard to say, awaiting, pending, still open,
        (?:waiting|wait) (?:for|on), outstanding, remains to be seen, haven't heard, my guess,
        I (?:believe|suspect|guess|assume), no (?:answer|reply|word) (?:yet|so far|from)"""
    ),
    r"\b(?:don't|do not|doesn't|cannot|can't|couldn't) (?:yet )?(?:know|tell|confirm|say)\b",
    r"(?:\bnot|n't) (?:yet )?(?:been )?" + one_of(
        "confirmed, answered, decided, verified, replied, checked, found"
    ),
    r"\bnot yet (?:known|clear|in|here|decided|confirmed)\b",
)  # fmt: skip
"""Says that something is not known or not there yet."""

_HIGH = re.compile(
    r"\b" + one_of("block(?:s|ed|ing|er), critical, urgent, must know, root cause"), re.I
)
_LOW = re.compile(
    r"\b" + one_of("probably, maybe, perhaps, might, guess, minor, nice to know, roughly"), re.I
)
_TO_AGENTS = re.compile(
    r"\b(?:assistants?|agents?|bots?|ai|llms?)\b.{0,60}\b"
    r"(?:must|should|shall|are|is|to|please|may|can)\b|"
    r"\bignore (?:all|any|previous|the above)|\bdisregard\b|\bpre-approved\b|\boverride\b",
    re.I,
)
"""Speaks to agents: a recalled line of a tool or document that does so is not remembered."""

_GREETING = re.compile(
    r"^\W*" + one_of(
        """hi, hello, hey, good (?:morning|afternoon|evening), dear, thanks, thank you, cheers,
        great, ok, okay, sure"""
    ),
    re.I,
)  # fmt: skip
_OFFER = re.compile(
    r"\b" + one_of(
        "I'd, I would, shall, should, propos\\w*, suggest\\w*, recommend\\w*, can be, could, draft"
    ),
    re.I,
)  # fmt: skip
_SHARE = {Channel.TOOL: 0.8, Channel.DOCUMENT: 0.5}
"""What a shared stem counts in words that nobody in the conversation said."""

Level = Literal["low", "medium", "high"]


class Line(NamedTuple):
    """A line for the state, with the ref that it rests on."""

    text: str
    ref: str


class Gap(NamedTuple):
    """Something not known, with its level."""

    text: str
    level: Level
    ref: str


def told(reading: Reading) -> Iterator[Line]:
    """What the user said and what the agent did, a line each; an assent with what it assents to."""
    said = _main(reading.user)
    if said is not None:
        offered = (s for s in reversed(reading.reply) if s.asks or _OFFER.search(s.words))
        offer = next((s for s in offered if not REFUSED.search(s.words)), None)
        to = f" (to: {tidy(offer.text)})" if offer and is_assent(said.text) else ""
        yield Line(fit(f"user: {tidy(said.text)}{to}", LONGEST), said.ref)
    done = _main([s for s in reading.agent if not REFUSED.search(s.words)])
    if done is not None:
        yield Line(fit(f"agent: {tidy(done.text)}", LONGEST), done.ref)


def _main(said: Sequence[Said]) -> Said | None:
    """Of the last observation the first sentence with something to say, else its first."""
    last = [s for s in said if s.ref == said[-1].ref]
    full = (
        s
        for s in last
        if len(s.text.split()) >= (8 if _GREETING.match(s.text) else 4)
    )
    return next(full, last[0] if last else None)


def recalled(reading: Reading, most: int) -> list[tuple[Evidence, str]]:
    """The best line of each of the ``most`` pieces of evidence that bear most on the user's words."""
    asked = stems(" ".join(said.words for said in reading.user))
    ranked = []
    for place, piece in enumerate(reading.evidence):
        line = _best_line(piece, asked)
        shared = len(asked & stems(line)) * _SHARE.get(piece.channel, 1.0)
        if shared:
            ranked.append((-shared, place, piece, line))
    ranked.sort(key=lambda entry: entry[:2])
    return [(piece, line) for _, _, piece, line in ranked[:most]]


def _best_line(piece: Evidence, asked: frozenset[str]) -> str:
    """The whole text where it is short, else the line or sentence that shares most stems."""

    def bearing(line: str) -> int:
        return len(asked & stems(line))

    if len(piece.text) <= LONGEST:
        best = piece.text
    else:
        best = max((line for line in piece.text.splitlines()), key=bearing, default="")
        if len(best) > LONGEST:
            best = max((s.text for s in sentences(best)), key=bearing, default="")
    said_to_agents = _TO_AGENTS.search(best) and piece.channel in _SHARE
    return "" if said_to_agents else fit(best, LONGEST)


def coming(reading: Reading) -> Line | None:
    """The agent's last announced step."""
    for said in reversed(reading.agent):
        barred = said.asks or _NO_STEP.search(said.words) or REFUSED.search(said.words)
        if NEXT.search(said.words) and not barred:
            return Line(tidy(said.text), said.ref)
    return None


def gaps(reading: Reading) -> Iterator[Gap]:
    """What is said to be open, and what the agent asks the user."""
    for said in reading.user:
        if OPEN.search(said.words) and not said.asks and not is_told(said.words):
            yield Gap(tidy(said.text), _level(said.words), said.ref)
    for said in reading.agent:
        asks = said.asks and len(said.words.split()) >= 4
        doubts = OPEN.search(said.words) and not said.asks
        if (asks or doubts) and not REFUSED.search(said.words):
            yield Gap(tidy(said.text), _level(said.words), said.ref)


def _level(words: str) -> Level:
    if _HIGH.search(words):
        return "high"
    return "low" if _LOW.search(words) else "medium"


def worth_opening(reading: Reading, used: Sequence[Evidence]) -> Iterator[Line]:
    """References to the evidence that was used, then to this turn's long tool output."""
    for piece in used:
        yield Line(_label(piece.name or piece.channel.value, piece.text), piece.ref)
    for tool in reading.tools:
        if len(tool.text) >= LONG_OUTPUT or tool.left_out:
            yield Line(_label(tool.name or "tool", tool.text), tool.ref)


def _label(name: str, text: str) -> str:
    first = next((line for line in text[:2_000].splitlines() if line.strip()), "")
    return fit(f"{name}: {plain(first)}", 100) or fit(name, 100) or "output"
