"""Cuts long texts to the lines relevant to the state, deterministically, and records the cut.

The store keeps every text whole. A cut affects only the compressor's input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from acc.text.clauses import heads_and_governs, sentences
from acc.text.wording import stems
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

Seen = TypeVar("Seen", bound=Observation)

GAP = "[...]"
"""Marks omitted lines."""

LONGEST_LINE = 400
"""Characters of one line of an excerpt; longer lines are scored in pieces."""

SCANNED = 200_000
"""Characters of a text that are scored line by line; of a longer text only its two ends are."""


MOST_SOUGHT = 1_000
"""Number of stems up to which each is searched in the text; with more stems, the text is stemmed instead."""


def excerpt(text: str, about: frozenset[str], limit: int, *, is_speech: bool = False) -> str:
    """Return the lines of ``text`` that share most stems with ``about``, in at most ``limit`` characters.

    The best line comes first, then the first and the last line as context. A row of a table brings the table's
    head with it. A token longer than a line is left out, never cut. Speech is kept or left out in whole sentences,
    and a heading that restricts a list has priority, because half a sentence may state the opposite.
    """
    if len(text) <= limit:
        return text
    if is_speech:
        lines = [each for part in _ends(text) for each in sentences(part)]
    else:
        rows = (line for part in _ends(text) for line in part.splitlines() if line.strip())
        lines = [piece for row in rows for piece in _pieces(row)]
    scores = _bearing([line.lower() for line in lines], about)
    best = max(range(len(lines)), key=lambda i: scores[i], default=0)
    heads = [i for i, line in enumerate(lines) if is_speech and heads_and_governs(line)]
    kept_first = (*heads, best, 0, len(lines) - 1)
    order = sorted(range(len(lines)), key=lambda i: (_rank(i, kept_first), -scores[i], i))
    heads_of = {} if is_speech else _table_heads(lines)
    kept: set[int] = set()
    room = limit - len(GAP) - 1
    for index in order:
        for together in ({heads_of.get(index, index), index}, {index}):
            wanted = together - kept
            cost = sum(len(lines[i]) + len(GAP) + 2 for i in wanted)
            if lines[index] != GAP and cost <= room:
                kept |= wanted
                room -= cost
                break
    return "\n".join(_with_gaps(lines, kept))


_CELLS = re.compile(r"(?<=\S)(?: {2,}| *\t *| *\| *)(?=\S)")
"""What separates the cells of a row of a table."""


_RULED = re.compile(r"[-=+|:_\s]+")
"""A line that is drawn between rows."""


def _table_heads(lines: Sequence[str]) -> dict[int, int]:
    """The first row of each table, by the positions of its other rows. A row has three cells or more."""
    heads: dict[int, int] = {}
    head = -1
    for index, line in enumerate(lines):
        if _RULED.fullmatch(line):
            continue
        if len(_CELLS.findall(line)) < LEAST_GAPS:
            head = -1
        elif head < 0:
            head = index
        else:
            heads[index] = head
    return heads


LEAST_GAPS = 2
"""Gaps between the cells of a row. Fewer are met with in other lines too."""


def _rank(index: int, first: Sequence[int]) -> int:
    return first.index(index) if index in first else len(first)


def _bearing(lines: Sequence[str], about: frozenset[str]) -> list[int]:
    if len(about) > MOST_SOUGHT:
        return [len(stems(line) & about) for line in lines]
    # A stem is nearly always a substring of its words, and a substring search is cheap. Most stems
    # are not in the text at all: one search in the whole text excludes them.
    there = list(filter("\n".join(lines).__contains__, about))
    return [sum(map(line.__contains__, there)) for line in lines]


def cut_turn(turn: Turn, about: Iterable[str], limit: int) -> Turn:
    """Return ``turn`` cut to about ``limit`` characters; the texts ``about`` define relevance.

    Speech of operator, user and agent gets up to ``limit``. Tools and documents share the rest, at least a
    quarter. The previous reply and its sources get a quarter each. Short texts stay whole.
    """
    speech = [o for o in turn.observations if _is_speech(o)]
    said = _share([len(o.text) for o in speech], limit)
    spoken = sum(min(len(o.text), said) for o in speech)
    lengths = [len(o.text) for o in turn.observations if not _is_speech(o)]
    rest = _share(lengths, max(limit - spoken, limit // 4))
    heard = _share([len(o.text) for o in turn.heard], limit // 4)
    replied = len(turn.reply.text) if turn.reply is not None else 0
    short = max(lengths, default=0) <= rest and spoken == sum(len(o.text) for o in speech)
    if short and replied <= limit // 4 and all(len(o.text) <= heard for o in turn.heard):
        return turn
    # Speech also defines relevance: the speakers' words may come from these tools and documents.
    stemmed = frozenset().union(*(stems(text) for text in (*about, *(o.text for o in speech))))
    replied_of = stemmed | stems(turn.reply.text) if turn.reply is not None else stemmed
    cut = {
        "observations": tuple(
            _cut(o, stemmed, said if _is_speech(o) else rest) for o in turn.observations
        ),
        "heard": tuple(_cut(o, replied_of, heard) for o in turn.heard),
        "reply": _cut(turn.reply, stemmed, limit // 4) if turn.reply is not None else None,
    }
    return turn.model_copy(update=cut)


def cut_texts(observations: Sequence[Seen], about: Iterable[str], limit: int) -> tuple[Seen, ...]:
    """Return ``observations`` cut to ``limit`` characters in total; short ones stay whole."""
    stemmed = frozenset().union(*(stems(text) for text in about))
    most = _share([len(o.text) for o in observations], limit)
    return tuple(_cut(o, stemmed, most) for o in observations)


def _share(lengths: Sequence[int], limit: int) -> int:
    """The maximum length of each text so that the total is at most ``limit``."""
    room, left = limit, len(lengths)
    for length in sorted(lengths):
        if length > room // left:
            return room // left
        room, left = room - length, left - 1
    return limit


def _is_speech(observation: Observation) -> bool:
    return observation.channel in (Channel.OPERATOR, Channel.USER, Channel.AGENT)


def _cut(observation: Seen, about: frozenset[str], limit: int) -> Seen:
    text = excerpt(observation.text, about, limit, is_speech=_is_speech(observation))
    if text == observation.text:
        return observation
    left_out = observation.left_out + max(0, len(observation.text) - len(text))
    return observation.model_copy(update={"text": text, "left_out": left_out})


def _ends(text: str) -> list[str]:
    """Return ``text``, or the two ends of a long text, cut between words, with `GAP` between them."""
    if len(text) <= SCANNED:
        return [text]
    head, tail = text[: SCANNED // 2], text[-SCANNED // 2 :]
    begun = max(head.rfind(space) for space in " \n\t") + 1
    whole = re.search(r"\s", tail)
    return [head[:begun], GAP, tail[whole.start() if whole else len(tail) :]]


def _pieces(line: str) -> Iterator[str]:
    """Split ``line`` into pieces of at most `LONGEST_LINE`; `GAP` replaces a token that is too long."""
    start = 0
    while len(line) - start > LONGEST_LINE:
        end = _last_cut(line, start, start + LONGEST_LINE)
        if end > start:
            yield line[start:end].strip()
        else:
            yield GAP
            beyond = _BETWEEN.search(line, start + LONGEST_LINE)
            end = beyond.start() if beyond else len(line)
        start = end
    if rest := line[start:].strip():
        yield rest


_BETWEEN = re.compile(r"(?<=\s)(?=\S)|(?<=,)(?=[\"{\[])")


def _last_cut(line: str, start: int, end: int) -> int:
    """The last sentence end up to ``end``, else the last token end, else ``start``."""
    sentence = max(line.rfind(mark, start, end) for mark in (". ", "! ", "? ", "; "))
    if sentence > start:
        return sentence + 2
    space = max(line.rfind(" ", start, end), line.rfind("\t", start, end))
    if space < 0:
        space = max(line.rfind(mark, start, end) for mark in (',"', ",{", ",["))
    return space + 1 if space >= start else start


def _with_gaps(lines: Sequence[str], kept: set[int]) -> Iterator[str]:
    previous = -1
    for index in sorted(kept):
        if index != previous + 1:
            yield GAP
        yield lines[index]
        previous = index
    if kept and previous != len(lines) - 1:
        yield GAP
