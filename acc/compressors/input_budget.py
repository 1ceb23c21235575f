"""Holding what a model reads within a budget: cut to what bears on the state, and recorded.

The same reading is always cut in the same way. What is cut stands whole in the store, and
commit judges by the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from acc.compressors.prompt import Reading
from acc.excerpt import cut_texts, cut_turn
from acc.turn import Observation, Turn


def size(reading: Reading) -> int:
    """Characters of all sources of a reading."""
    return sum(len(source.text) for source in _sources(reading.turn, reading.evidence))


def within_budget(reading: Reading, limit: int) -> Reading:
    """``reading`` with sources of at most ``limit`` characters in all.

    Three fifths go to the turn, in which speech comes first, one to the evidence, one to what is
    unread. What is short stays whole.
    """
    if size(reading) <= limit:
        return reading
    turn = reading.turn
    about = [*(item.words for _, item in reading.state.items()), turn.user_words]
    # Beside what is said, a turn keeps half as much of what tools told and of the reply before.
    cut = cut_turn(turn, about, 2 * limit // 5)
    pending = cut_texts(turn.pending, about, limit // 5)
    evidence = cut_texts(reading.evidence, about, limit // 5)
    return reading._replace(turn=cut.model_copy(update={"pending": pending}), evidence=evidence)


def left_out(whole: Reading, cut: Reading) -> dict[str, int]:
    """Characters of each source, by ref, that ``cut`` lacks of ``whole``."""
    pairs = zip(_sources(whole.turn, whole.evidence), _sources(cut.turn, cut.evidence), strict=True)
    return {
        was.ref: now.left_out - was.left_out for was, now in pairs if now.left_out > was.left_out
    }


def _sources(turn: Turn, evidence: Sequence[Observation]) -> Iterable[Observation]:
    return chain(turn.readable, evidence)
