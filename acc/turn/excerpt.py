"""Cutting long texts to what bears on the state: deterministic, at line ends, recorded.

The store keeps every text whole; what is cut here is only what a compressor reads.
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
"""Stands where lines were left out."""

LONGEST_LINE = 400
"""Characters of one line of an excerpt; longer lines are weighed in pieces."""

SCANNED = 200_000
"""Characters of a text that are weighed line by line; of a longer one, its two ends are."""


MOST_SOUGHT = 1_000
"""Stems that are looked for in a text one by one; beyond that its own words are stemmed instead."""


def excerpt(text: str, about: frozenset[str], limit: int, *, is_speech: bool = False) -> str:
    """The lines of ``text`` that share most stems with ``about``, in their order, not indented.

    The best line comes first; then its first and last line are kept for bearings where there is room.
    Ties go to the earlier line. A token is never cut: one longer than a line is left out. Of speech
    whole sentences are kept or left out, and what stands over a list and restricts it is kept before
    all else: half a sentence may say the opposite.

    Args:
        text: Any text.
        about: Stems that matter: of the state, of the question.
        limit: Characters of the result at the most.
        is_speech: Whether rules may be made of it.
    """
    if len(text) <= limit:
        return text
    if is_speech:
        lines = [each for part in _ends(text) for each in sentences(part)]
    else:
        lines = [
            p
            for part in _ends(text)
            for line in part.splitlines()
            if line.strip()
            for p in _pieces(line)
        ]
    scores = _bearing([line.lower() for line in lines], about)
    best = max(range(len(lines)), key=lambda i: scores[i], default=0)
    heads = [i for i, line in enumerate(lines) if is_speech and heads_and_governs(line)]
    kept_first = (*heads, best, 0, len(lines) - 1)
    order = sorted(range(len(lines)), key=lambda i: (_rank(i, kept_first), -scores[i], i))
    kept: set[int] = set()
    room = limit - len(GAP) - 1
    for index in order:
        cost = len(lines[index]) + len(GAP) + 2
        if lines[index] != GAP and cost <= room:
            kept.add(index)
            room -= cost
    return "\n".join(_with_gaps(lines, kept))


def _rank(index: int, first: Sequence[int]) -> int:
    return first.index(index) if index in first else len(first)


def _bearing(lines: Sequence[str], about: frozenset[str]) -> list[int]:
    if len(about) > MOST_SOUGHT:
        return [len(stems(line) & about) for line in lines]
    # A stem is nearly always a part of its words as they stand, and looking for it is cheap;
    # most stand nowhere in the text, and are looked for in it once.
    there = list(filter("\n".join(lines).__contains__, about))
    return [sum(map(line.__contains__, there)) for line in lines]


def cut_turn(turn: Turn, about: Iterable[str], limit: int) -> Turn:
    """``turn`` cut to what a compressor reads of it.

    What operator, user and agent said has up to ``limit`` characters; tools and documents
    have what the speech leaves, at least a quarter of that; the reply before and what it
    rested on a quarter each. Short texts stay whole, the long ones share equally.
    """
    speech = [o for o in turn.observations if _is_speech(o)]
    said = _share([len(o.text) for o in speech], limit)
    spoken = sum(min(len(o.text), said) for o in speech)
    told = [len(o.text) for o in turn.observations if not _is_speech(o)]
    rest = _share(told, max(limit - spoken, limit // 4))
    heard = _share([len(o.text) for o in turn.heard], limit // 4)
    replied = len(turn.reply.text) if turn.reply is not None else 0
    short = max(told, default=0) <= rest and spoken == sum(len(o.text) for o in speech)
    if short and replied <= limit // 4 and all(len(o.text) <= heard for o in turn.heard):
        return turn
    # What the speakers speak of is what their words may have been taken from.
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
    """``observations`` cut to ``limit`` characters together; short ones stay whole."""
    stemmed = frozenset().union(*(stems(text) for text in about))
    most = _share([len(o.text) for o in observations], limit)
    return tuple(_cut(o, stemmed, most) for o in observations)


def _share(lengths: Sequence[int], limit: int) -> int:
    """The most that each of ``lengths`` may keep, so that together they keep ``limit`` at most."""
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
    """``text``, or of a long one its two ends, cut between words, with `GAP` between them."""
    if len(text) <= SCANNED:
        return [text]
    head, tail = text[: SCANNED // 2], text[-SCANNED // 2 :]
    begun = max(head.rfind(space) for space in " \n\t") + 1
    whole = re.search(r"\s", tail)
    return [head[:begun], GAP, tail[whole.start() if whole else len(tail) :]]


def _pieces(line: str) -> Iterator[str]:
    """``line`` in pieces of at most `LONGEST_LINE`; what cannot be cut between tokens is left out."""
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
    """The last place up to ``end`` that is between two sentences, else between two tokens, or ``start``."""
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
