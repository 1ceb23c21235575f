"""What happened, what comes next, what is open, and what is worth opening."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from typing import Literal, NamedTuple

from acc import asking
from acc.compressors.rules import passages
from acc.compressors.rules.lookalikes import is_hearsay, is_told
from acc.compressors.rules.outcomes import outcomes_in
from acc.compressors.rules.reading import MOST_SENTENCES, Reading, Said
from acc.compressors.rules.replies import REFUSED, agreed
from acc.compressors.rules.sentences import fit, plain, sentences, tidy
from acc.compressors.rules.smalltalk import is_courtesy
from acc.compressors.rules.step_cues import NEXT, OPEN
from acc.compressors.rules.words import one_of
from acc.refs import is_ingested
from acc.turn import Channel, Evidence
from acc.wording import stems

SHORT = 88
"""Characters of a line on this turn, which the agent can read anyway."""

LONGEST = 120
"""Characters of a recalled line."""

LONG_OUTPUT = 1_500
"""Characters from which a tool's output is referred to rather than remembered."""

_NO_STEP = re.compile(
    r"\bI(?:'ll| will) " + one_of("not, never, leave you, admit, be honest, miss, remember"), re.I
)
_HIGH = re.compile(
    r"\b" + one_of("block(?:s|ed|ing|er), critical, urgent, must know, root cause"), re.I
)
_LOW = re.compile(
    r"\b" + one_of("probably, maybe, perhaps, might, guess, minor, nice to know, roughly"), re.I
)
_GREETING = re.compile(
    r"^\W*" + one_of(
        """hi, hello, hey, good (?:morning|afternoon|evening), dear, thanks, thank you, cheers,
        great, ok, okay, sure"""
    ),
    re.I,
)  # fmt: skip
_ASKING_BACK = re.compile(
    r"\b" + one_of(
        """remind, remember, recall, what was, which was, who was, as before, we said, you said,
        we agreed, again, look up, tell me, show me"""
    ),
    re.I,
)  # fmt: skip
"""Refers back without a question mark."""

_SHARE = {Channel.TOOL: 0.8}
"""What a shared stem counts in words that nobody in the conversation said."""

CLOSE = 0.5
"""Share of the best line's stems with which a line counts as good: of those the later stands."""

MOST_WORDS = 8
"""Words in small letters that a line of data has at most; what has more is prose."""

_LOWER_WORD = re.compile(r"(?<![\w.@/-])[a-z]{2,}(?![\w@/])")
_HEADER = re.compile(r"\W*(?:from|to|cc|subject|sent|date|re)\b\s*:", re.I)

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


def told(reading: Reading, step: Line | None) -> Iterator[Line]:
    """What the user said and what the agent did, a line each; an assent with what it assents to.

    What the agent says of the ``step`` that it announces stands in the cue alone.
    """
    said, found = _main(reading.user), agreed(reading)
    if said is not None:
        to = f" (to: {tidy(found[1][-1].text)})" if found and found[0] == said else ""
        yield Line(fit(f"user: {tidy(said.text)}{to}", SHORT), said.ref)
    done = _main([s for s in reading.agent if not REFUSED.search(s.words)])
    if done is not None and (step is None or tidy(done.text) != step.text):
        yield Line(fit(f"agent: {tidy(done.text)}", SHORT), done.ref)


def _main(said: Sequence[Said]) -> Said | None:
    """Of the last observation the first sentence with something to say, else its first."""
    last = [s for s in said if s.ref == said[-1].ref and not is_courtesy(s)]
    full = (s for s in last if len(s.text.split()) >= (8 if _GREETING.match(s.text) else 4))
    done = (s for s in last if any(outcomes_in(s.words)))
    return next(done, next(full, last[0] if last else None))


def recalled(reading: Reading, most: int) -> list[tuple[Evidence, str]]:
    """The best line of each of the ``most`` pieces that bear most on what the user asks.

    Where the user asks nothing, only what repeats most of their words. What asks in its turn is told
    only where nothing answers. One place is for the document that bears most, if one does.
    """
    asked = stems(" ".join(said.words for said in reading.user))
    asks = any(said.asks or _ASKING_BACK.search(said.words) for said in reading.user)
    least = 1.0 if asks else max(3.0, len(asked) / 2)
    # No line has more of what is asked than the whole text, whose stems the gate has read already.
    near = [p for p in reading.evidence if len(asked & stems(p.text)) * _share_of(p) >= least]
    found = [(piece, _best_line(piece, asked)) for piece in near]
    lines = [entry for entry in found if not asking.asks(entry[1])] or found
    shared = [len(asked & stems(line)) * _share_of(piece) for piece, line in lines]
    least = max([least, *(count * CLOSE for count in shared)])
    close = [entry for entry, count in zip(lines, shared, strict=True) if count >= least]
    said = sorted((e for e in close if not is_ingested(e[0].ref)), key=lambda entry: -entry[0].turn)
    documents = sorted(
        (e for e in close if is_ingested(e[0].ref)), key=lambda entry: -len(asked & stems(entry[1]))
    )
    said = said[: most - 1] if documents else said[:most]
    return [*said, *documents[: most - len(said)]]


def _share_of(piece: Evidence) -> float:
    return _SHARE.get(piece.channel, 1.0)


def _best_line(piece: Evidence, asked: frozenset[str]) -> str:
    """The whole text where it is short, else the line or sentence that shares most stems.

    Of tools only lines of data: their prose may be opened, but does not speak here. Nor do documents,
    except those that the deployer has taken in.
    """

    def bearing(line: str) -> int:
        return len(asked & stems(line))

    if piece.channel is Channel.DOCUMENT:
        return passages.about(piece.text, asked) if is_ingested(piece.ref) else ""
    if piece.channel is Channel.TOOL:
        data = (line for line in piece.text.splitlines() if len(line) <= LONGEST and is_data(line))
        return fit(max(data, key=bearing, default=""), LONGEST)
    whole = " ".join(piece.text.split())
    if len(whole) <= LONGEST:
        return whole
    said = (sentence.text for sentence in sentences(piece.text, MOST_SENTENCES))
    return fit(max(said, key=bearing, default=""), LONGEST)


def is_data(line: str) -> bool:
    return len(_LOWER_WORD.findall(line)) <= MOST_WORDS and not _HEADER.match(line)


def coming(reading: Reading) -> Line | None:
    """The agent's last announced step."""
    for said in reversed(reading.agent):
        barred = said.asks or _NO_STEP.search(said.words) or REFUSED.search(said.words)
        if NEXT.search(said.words) and not barred:
            return Line(tidy(said.text), said.ref)
    return None


def gaps(reading: Reading, ruling: Container[Said]) -> Iterator[Gap]:
    """What is said to be open, and what the agent asks the user; rules leave nothing open."""
    for said in reading.user:
        if said in ruling or said.asks or is_told(said.words):
            continue
        if OPEN.search(said.words) and not is_hearsay(said.words):
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
    """References to documents that were used, else to the first piece; then to this turn's long tool output.

    What else was used says its ref in the line that tells of it.
    """
    documents = [piece for piece in used if is_ingested(piece.ref)]
    for piece in documents or used[:1]:
        yield Line(fit(piece.name or piece.channel.value, 100) or "evidence", piece.ref)
    for tool in reading.tools:
        if len(tool.text) >= LONG_OUTPUT or tool.left_out:
            yield Line(_label(tool.name or "tool", tool.text), tool.ref)


def _label(name: str, text: str) -> str:
    first = next((line for line in text[:2_000].splitlines() if line.strip()), "")
    return fit(f"{name}: {plain(first)}", 100) or fit(name, 100) or "output"
