"""Which facts of the state a new one takes the place of, when they are not keyed alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from acc.compressors.rules.comparing import REVISED, Held, Telling, compared
from acc.compressors.rules.reading import Reading
from acc.compressors.rules.trees import Trees
from acc.items import Relation
from acc.laws.integrity import may_replace
from acc.wording import stems

SURE = 0.2
"""Probability from which a fact is taken to be overtaken."""

WEIGHTS = "revisions.npz"


class Pair(NamedTuple):
    """A sentence beside a fact for which it may give another value.

    Attributes:
        telling: The sentence.
        relation: The fact.
        figures: What is known of the two, each figure for itself.
    """

    telling: Telling
    relation: Relation
    figures: tuple[float, ...]


def revised(reading: Reading, held: Sequence[Relation]) -> Iterator[Relation]:
    """The relations for whose value, or whose person, this turn gives another.

    Rule: a sentence speaks of the same, by the words that it shares with the fact, and gives a
    value of its kind, or a person, but not the fact's own; how sure that is, boosted trees say
    over the figures of the pair, and over how it stands among the others of its sentence and turn
    (``python benchmarks/keyless/train_revisions.py``). What the agent says overtakes nothing that
    the user stated (law 6): it stands beside.
    """
    found = paired(reading, held)
    if not found:
        return
    odds = Trees.read(WEIGHTS).odds(rows_of(found))
    for pair, sure in zip(found, odds, strict=True):
        if sure >= SURE and may_replace(pair.telling.trust, pair.relation.trust):
            yield pair.relation


def paired(reading: Reading, held: Sequence[Relation]) -> list[Pair]:
    """Every sentence of a turn beside every fact that it may overtake."""
    if not held:
        return []
    facts, turn = [(relation, Held.of(relation)) for relation in held], reading.state.turn + 1
    known = Counter(chain.from_iterable(fact.whole for _, fact in facts))
    return [
        Pair(telling, relation, figures)
        for telling in tellings(reading)
        for relation, figures in compared(telling, facts, turn, known)
    ]


def rows_of(found: Sequence[Pair], often: bool = False) -> NDArray[np.float64]:
    """What the trees look at, a row for each pair of one turn.

    Args:
        found: All pairs of the turn.
        often: Whether the talk is one in which facts change more often than in life; in training
            some are, so that the trees see more changes and still know how rare they are.
    """
    own = np.array([pair.figures for pair in found], dtype=np.float64)
    sentences: dict[int, list[int]] = {}
    for at, pair in enumerate(found):
        sentences.setdefault(id(pair.telling), []).append(at)
    in_sentence = _standing(own[:, _LIKE], sentences.values())
    in_turn = _standing(own[:, _LIKE[:2]], [list(range(len(found)))])
    return np.hstack([own, in_sentence, in_turn, np.full((len(found), 1), float(often))])


_LIKE = (2, 5, 3)
"""Those of the figures that say how much a sentence and a fact have in common."""


def _standing(figures: NDArray[np.float64], groups: Iterable[Sequence[int]]) -> NDArray[np.float64]:
    """For each figure, how far it is above the best beside it in its group, and how many reach it."""
    above, reaching = figures.copy(), np.zeros_like(figures)
    for group in groups:
        for column in range(figures.shape[1]) if len(group) > 1 else ():
            own = figures[group, column]
            second, best = np.partition(own, -2)[-2:]
            above[group, column] = own - np.where(own == best, second, best)
            reaching[group, column] = len(own) - np.searchsorted(np.sort(own), own) - 1
    return np.hstack([above, reaching])


def tellings(reading: Reading) -> Iterator[Telling]:
    """The sentences of user and agent that tell something."""
    message = " ".join(said.words for said in reading.user)
    asked, revises = stems(message), bool(REVISED.search(message))
    for said in (*reading.user, *reading.agent):
        if not said.asks:
            yield Telling(said, asked, said in reading.user, revises)
