"""What happened, what comes next, what is open, and what is worth opening."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from acc.compressors.words import any_of
from acc.compressors.facts import REFUSED
from acc.compressors.lookalikes import is_told
from acc.compressors.reading import Reading, Said
from acc.compressors.sentences import fit, plain, sentences, tidy
from acc.turn import Channel, Evidence
from acc.wording import is_assent, stems

LONGEST = 240
"""Characters of a line of the trace."""

LONG_OUTPUT = 1_500
"""Characters from which a tool's output is referred to rather than remembered."""

NEXT = any_of(
    r"\bnext(?:,| step| I| up| we)\b|\bI(?:'ll| will| am going to|'m going to)\b|\b(?:then|after "
    r"that|afterwards),? (?:I|we)\b",
    r"\bwe(?:'ll| will) (?:then|next)\b|\blet's (?:then|next|start|continue)\b|\bto follow\b|"
    r"\bproposal follows\b",
)
_NO_NEXT = re.compile(r"\bI(?:'ll| will) (?:not|never|leave you|admit|be honest|eat|miss|remember|keep (?:it|that) in mind)\b", re.I)
OPEN = any_of(
    r"\b(?:not sure|unsure|unclear|unknown|unconfirmed|undecided|uncertain|tbc|tbd|to be "
    r"(?:confirmed|decided|determined))\b",
    r"\b(?:don't|do not|doesn't|cannot|can't|couldn't) (?:yet )?(?:know|tell|confirm|say)\b|\bno "
    r"idea\b|\bhard to say\b",
    r"\b(?:waiting|wait|awaiting) (?:for|on)\b|\bawaiting\b|\bpending\b|\bstill open\b|"
    r"\boutstanding\b|\bremains to be seen\b",
    r"\b(?:not|n't) (?:yet )?(?:been )?(?:confirmed|answered|decided|verified|replied|checked|"
    r"booked here|found)\b|\bno (?:answer|reply|word) "
    r"(?:yet|so far|from)\b|\bhaven't heard\b|\bnot yet (?:known|clear|in|here|decided|"
    r"confirmed)\b",
    r"\b(?:root )?cause (?:is )?(?:still )?(?:not known|unknown|unclear)\b|\bI (?:believe|"
    r"suspect|guess|assume)\b|\bmy guess\b",
)
_HIGH = re.compile(r"\b(?:block(?:s|ed|ing|er)|critical|urgent|must know|cannot proceed|can't proceed|high risk|root cause)\b", re.I)
_LOW = re.compile(r"\b(?:probably|maybe|perhaps|might|guess|minor|nice to know|roughly)\b", re.I)
_TO_AGENTS = re.compile(
    r"\b(?:assistants?|agents?|bots?|ai|llms?)\b.{0,60}\b(?:must|should|shall|are|is|to|please|"
    r"may|can)\b|\bignore (?:all|any|previous|the above)|"
    r"\bdisregard\b|\bpre-approved\b|\boverride\b",
    re.I,
)
"""A recalled line that speaks to agents is opened, not remembered."""

_OFFER = re.compile(r"\b(?:I'd|I would|shall|should|propos\w*|suggest\w*|recommend\w*|can be|could|draft)\b", re.I)
_GREETING = re.compile(r"^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening)|dear|thanks|thank you|cheers|great|ok|okay|sure)\b", re.I)


class Line(NamedTuple):
    """A line for the state, with what it rests on."""

    text: str
    cites: tuple[str, ...]


class Gap(NamedTuple):
    """Something not known, with its level."""

    text: str
    level: Literal["low", "medium", "high"]
    cites: tuple[str, ...]


def told(reading: Reading) -> Iterator[Line]:
    """What the user said and what the agent did, a line each; and what the user agreed to."""
    said = _main(reading.user)
    if said is not None and reading.reply and is_assent(said.text) and said.ref != reading.reply[0].ref:
        offered = (s for s in reversed(reading.reply) if s.asks or _OFFER.search(s.words))
        offer = next((s for s in offered if not REFUSED.search(s.words)), None)
        if offer is not None:
            agreed = f"user: {tidy(said.text)} (to: {tidy(offer.text)})"
            yield Line(fit(agreed, LONGEST), (said.ref,))
            said = None
    if said is not None:
        yield Line(fit(f"user: {tidy(said.text)}", LONGEST), (said.ref,))
    done = _main([s for s in reading.agent if not REFUSED.search(s.words)])
    if done is not None:
        yield Line(fit(f"agent: {tidy(done.text)}", LONGEST), (done.ref,))


def _main(said: Sequence[Said]) -> Said | None:
    """Of the last observation the first sentence with something to say, else its first."""
    last = [s for s in said if s.ref == said[-1].ref] if said else []
    full = (s for s in last if len(s.text.split()) >= 4 and not (_GREETING.match(s.text) and len(s.text.split()) < 8))
    return next(full, last[0] if last else None)


def recalled(reading: Reading, most: int) -> list[tuple[Evidence, str]]:
    """The best line of each of the ``most`` pieces of evidence that bear most on the user's words."""
    asked = stems(" ".join(said.words for said in reading.user))
    ranked = []
    for place, piece in enumerate(reading.evidence):
        shared, line = _best_line(piece, asked)
        weight = {Channel.TOOL: 0.8, Channel.DOCUMENT: 0.5}.get(piece.channel, 1.0)
        if shared and line:
            ranked.append((-shared * weight, place, piece, line))
    ranked.sort(key=lambda entry: entry[:2])
    return [(piece, line) for _, _, piece, line in ranked[:most]]


def _best_line(piece: Evidence, asked: frozenset[str]) -> tuple[int, str]:
    whole = " ".join(piece.text.split()) if len(piece.text) <= LONGEST else ""
    lines = [whole] if whole else [part for part in piece.text.splitlines() if part.strip()]
    best = max(lines, key=lambda line: len(asked & stems(line)), default="")
    if len(best) > LONGEST:
        best = max((s.text for s in sentences(best)), key=lambda line: len(asked & stems(line)), default="")
    if _TO_AGENTS.search(best[:LONGEST]) and piece.channel in (Channel.TOOL, Channel.DOCUMENT):
        return 0, ""
    return len(asked & stems(best)), fit(best, LONGEST)


def coming(reading: Reading) -> Iterator[Line]:
    """The agent's last announced step."""
    for said in reversed(reading.agent):
        if NEXT.search(said.words) and not (said.asks or _NO_NEXT.search(said.words) or REFUSED.search(said.words)):
            yield Line(tidy(said.text), (said.ref,))
            return


def gaps(reading: Reading) -> Iterator[Gap]:
    """What is said to be open, and what the agent asks the user."""
    for said in (*reading.user, *reading.agent):
        is_agent = said in reading.agent
        asked = is_agent and said.asks and len(said.words.split()) >= 4
        doubtful = OPEN.search(said.words) and not said.asks and not is_told(said.words)
        if (asked or doubtful) and not (is_agent and REFUSED.search(said.words)):
            level: Literal["low", "medium", "high"] = "medium"
            if _HIGH.search(said.words):
                level = "high"
            elif _LOW.search(said.words):
                level = "low"
            yield Gap(tidy(said.text), level, (said.ref,))


def worth_opening(reading: Reading, used: Sequence[Evidence]) -> Iterator[Line]:
    """References to the evidence that was used, then to this turn's long tool output."""
    for piece in used:
        yield Line(_label(piece.name or piece.channel.value, piece.text), (piece.ref,))
    for tool in reading.tools:
        if len(tool.text) >= LONG_OUTPUT or tool.left_out:
            yield Line(_label(tool.name or "tool", tool.text), (tool.ref,))


def _label(name: str, text: str) -> str:
    first = next((line for line in text[:2_000].splitlines() if line.strip()), "")
    return fit(f"{name}: {plain(first)}", 100) or fit(name, 100) or "output"
