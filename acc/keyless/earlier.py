"""Earlier texts about what the user asks: their best lines, and which of them are worth opening."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from acc.keyless.reading import MOST_SENTENCES, TurnReading
from acc.keyless.sentences import fit, plain, sentences
from acc.text.patterns import cue
from acc.text.wording import asks, marks, stems
from acc.turn.excerpt import GAP
from acc.turn.observations import Channel, Evidence, is_ingested


class Line(NamedTuple):
    """A line for the state, with the ref of its source."""

    text: str
    ref: str


LONGEST_PASSAGE = 280
"""Maximum characters of a passage. With its ref it fits a line of the state."""


def passage_about(text: str, asked: frozenset[str]) -> str:
    """The passage of ``text`` about the stems ``asked``; empty if no sentence shares any of them.

    It starts from the sentence or line that shares most of these stems and adds words of its own. As
    far as `LONGEST_PASSAGE` allows, it adds lines with the remaining stems, such as the heading above or the
    first row of a table. The lines keep the order of the text.
    """
    lines = [line.text.lstrip("# ") for line in sentences(text, MOST_SENTENCES)]
    telling = [at for at, line in enumerate(lines) if stems(line) - asked]
    chosen = [] if not telling else [_next(lines, telling, asked, asked)]
    if not chosen or not stems(lines[chosen[0]]) & asked:
        return ""
    while True:
        left = asked.difference(*(stems(lines[at]) for at in chosen))
        rest = [at for at in range(len(lines)) if at not in chosen and stems(lines[at]) & left]
        more = [*chosen, _next(lines, rest, left, asked)] if rest else chosen
        if more == chosen or len(_joined(lines, more)) > LONGEST_PASSAGE:
            return fit(_joined(lines, chosen), LONGEST_PASSAGE)
        chosen = more


def _next(
    lines: Sequence[str], places: Sequence[int], left: frozenset[str], asked: frozenset[str]
) -> int:
    """The line of ``places`` with most stems of ``left``; of equals the one with more marks."""

    def worth(at: int) -> tuple[int, int, int]:
        words = stems(lines[at])
        return len(words & left), len(marks(lines[at])) + len(words - asked), -at

    return max(places, key=worth)


def _joined(lines: Sequence[str], chosen: Sequence[int]) -> str:
    ordered = sorted(chosen)
    said = [lines[at] if at - 1 in chosen else f"{GAP} {lines[at]}" for at in ordered]
    return " ".join(said).removeprefix(f"{GAP} ")


LONGEST_RECALLED = 120
"""Maximum characters of a recalled line."""

LONG_OUTPUT = 1_500
"""Length in characters from which the state only refers to a tool's output."""

_ASKING_BACK = cue(
    """remind, remember, recall, what was, which was, who was, as before, we said, you said,
    we agreed, again, look up, tell me, show me"""
)
"""Refers back without a question mark."""

_SHARE = {Channel.TOOL: 0.8}
"""Weight of a shared stem in words that no person in the conversation said."""

CLOSE = 0.5
"""Minimum share of the best line's stems for a line to count as good. Of good lines the latest
wins.
"""

MOST_WORDS = 8
"""Maximum lower-case words of a line of data. A line with more is prose."""

_LOWER_WORD = re.compile(r"(?<![\w.@/-])[a-z]{2,}(?![\w@/])")
_HEADER = re.compile(r"\W*(?:from|to|cc|subject|sent|date|re)\b\s*:", re.I)


def best_evidence(reading: TurnReading, most: int) -> list[tuple[Evidence, str]]:
    """At most ``most`` pieces of evidence about the user's question, each with its best line.

    Of the pieces near the best one: the conversation's, newest first, then documents by relevance.
    One place is reserved for the most relevant document. If the user asks nothing, only a piece that
    repeats most of the user's words counts. A line that is itself a question counts only if no other
    line answers.
    """
    asked = stems(" ".join(said.words for said in reading.user))
    is_asked = any(said.asks or _ASKING_BACK.search(said.words) for said in reading.user)
    least = 1.0 if is_asked else max(3.0, len(asked) / 2)
    # No line shares more stems than the whole text, and the gate has already computed those stems.
    near = [p for p in reading.evidence if len(asked & stems(p.text)) * _share_of(p) >= least]
    found = [(piece, _best_line(piece, asked)) for piece in near]
    lines = [entry for entry in found if not asks(entry[1])] or found
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
    """The whole text if it is short, otherwise the line or sentence that shares most stems.

    For tools only lines of data count: their prose must not appear in the state. The same holds for
    documents, except those that the deployer has ingested.
    """

    def bearing(line: str) -> int:
        return len(asked & stems(line))

    if piece.channel is Channel.DOCUMENT:
        return passage_about(piece.text, asked) if is_ingested(piece.ref) else ""
    if piece.channel is Channel.TOOL:
        brief = (line for line in piece.text.splitlines() if len(line) <= LONGEST_RECALLED)
        return fit(max(filter(is_data, brief), key=bearing, default=""), LONGEST_RECALLED)
    whole = " ".join(piece.text.split())
    if len(whole) <= LONGEST_RECALLED:
        return whole
    said = (sentence.text for sentence in sentences(piece.text, MOST_SENTENCES))
    return fit(max(said, key=bearing, default=""), LONGEST_RECALLED)


def is_data(line: str) -> bool:
    return len(_LOWER_WORD.findall(line)) <= MOST_WORDS and not _HEADER.match(line)


def worth_opening(reading: TurnReading, used: Sequence[Evidence]) -> Iterator[Line]:
    """References to used documents, else to the first used piece; then to long tool outputs.

    Other used pieces need no reference: their trace line has the ref.
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
