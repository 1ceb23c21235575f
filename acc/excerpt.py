"""Cutting long texts to what bears on the state: deterministic, at line ends, recorded.

The store keeps every text whole; what is cut here is only what a compressor reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from acc.ranking import terms
from acc.turn import Channel, Observation, Turn
from acc.wording import stems

GAP = "[...]"
"""Stands where lines were left out."""

LONGEST_LINE = 400
"""Characters of one line of an excerpt; longer lines are weighed in pieces."""

SCANNED = 200_000
"""Characters of a text that are weighed line by line; of a longer one, its two ends are."""


def excerpt(text: str, about: frozenset[str], limit: int) -> str:
    """The lines of ``text`` that share most stems with ``about``, in their order.

    Its first and last line are kept for bearings. Ties go to the earlier line.

    Args:
        text: Any text.
        about: Stems that matter: of the state, of the question.
        limit: Characters of the result at the most.
    """
    if len(text) <= limit:
        return text
    lines = [piece for line in _ends(text).splitlines() if line.strip() for piece in _pieces(line)]
    scores = [len(about.intersection(terms(line))) for line in lines]
    last = len(lines) - 1
    order = sorted(range(len(lines)), key=lambda i: (i not in (0, last), -scores[i], i))
    kept: set[int] = set()
    room = limit
    for index in order:
        cost = len(lines[index]) + len(GAP) + 2
        if cost <= room:
            kept.add(index)
            room -= cost
    return "\n".join(_with_gaps(lines, kept))


def cut_turn(turn: Turn, about: Iterable[str], limit: int) -> Turn:
    """``turn`` with every observation cut to its share of ``limit`` characters.

    What operator, user and agent said is cut last: tools and documents share what the
    speech leaves, in equal parts.
    """
    stemmed = frozenset().union(*(stems(text) for text in about))
    spoken = sum(len(o.text) for o in turn.observations if _is_speech(o))
    long = [o for o in turn.observations if not _is_speech(o)]
    share = max(limit - spoken, limit // 4) // max(1, len(long))
    observations = tuple(
        _cut(o, stemmed, limit if _is_speech(o) else share) for o in turn.observations
    )
    heard = tuple(_cut(o, stemmed, limit // (4 * max(1, len(turn.heard)))) for o in turn.heard)
    reply = _cut(turn.reply, stemmed, limit // 4) if turn.reply is not None else None
    return turn.model_copy(update={"observations": observations, "heard": heard, "reply": reply})


def _is_speech(observation: Observation) -> bool:
    return observation.channel in (Channel.OPERATOR, Channel.USER, Channel.AGENT)


def _cut(observation: Observation, about: frozenset[str], limit: int) -> Observation:
    text = excerpt(observation.text, about, limit)
    if text == observation.text:
        return observation
    left_out = observation.left_out + max(0, len(observation.text) - len(text))
    return observation.model_copy(update={"text": text, "left_out": left_out})


def _ends(text: str) -> str:
    if len(text) <= SCANNED:
        return text
    return f"{text[: SCANNED // 2]}\n{text[-SCANNED // 2 :]}"


def _pieces(line: str) -> Iterator[str]:
    """``line`` in pieces of at most `LONGEST_LINE`, cut after a space or separator."""
    while len(line) > LONGEST_LINE:
        cut = max(line.rfind(mark, LONGEST_LINE // 2, LONGEST_LINE) for mark in " ,;|&") + 1
        if cut:
            yield line[:cut].rstrip()
        else:  # one unbroken token: what is left of it must not pass for the whole
            cut = LONGEST_LINE
            yield f"{line[: cut - len(GAP)]}{GAP}"
        line = line[cut:]
    yield line


def _with_gaps(lines: list[str], kept: set[int]) -> Iterator[str]:
    previous = -1
    for index in sorted(kept):
        if index != previous + 1:
            yield GAP
        yield lines[index]
        previous = index
    if kept and previous != len(lines) - 1:
        yield GAP
