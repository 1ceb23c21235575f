"""Facts that a later sentence overtakes, though it is keyed otherwise."""

from __future__ import annotations

import numpy as np
from speaking import State, turn

from acc.compressors.rules.reading import Reading, read
from acc.compressors.rules.revisions import Pair, paired, revised, rows_of
from acc.items import Relation

LOAN = Relation(
    id="r1", subject="Harlow loan", predicate="amount", object="£4,200.00", status="observed"
)
RENT = Relation(id="r2", subject="rent", predicate="amount", object="£950", status="observed")


def told(agent: str, said: str = "Has anything come in?") -> Reading:
    return read(turn(said, agent, number=2), State.empty(), ())


def pairs(agent: str, *held: Relation) -> list[Pair]:
    return paired(told(agent), held)


def test_a_new_value_of_the_same_thing_overtakes_the_old_one() -> None:
    reading = told("The new Harlow loan amount is now £3,900.00.", "Did the Harlow loan change?")
    assert list(revised(reading, [LOAN, RENT])) == [LOAN]


def test_a_figure_alone_stands_beside_the_fact_that_it_is_like_and_near() -> None:
    assert [p.relation for p in pairs("£3,900.00 as of today.", LOAN, RENT)] == [LOAN]
    assert pairs("£39 as of today.", LOAN, RENT) == []
    assert pairs("3,900 letters as of today.", LOAN, RENT) == []


def test_a_fact_whose_value_is_told_again_is_not_overtaken() -> None:
    assert pairs("The Harlow loan is still £4,200.00, the rent £950.", LOAN, RENT) == []


def test_nothing_is_overtaken_where_nothing_is_held() -> None:
    assert list(revised(told("The Harlow loan is £3,900.00."), [])) == []


def test_a_pair_is_set_beside_the_others_of_its_sentence() -> None:
    found = pairs("The Harlow loan is £3,900.00, and for the rent it is £800.", LOAN, RENT)
    rows = rows_of(found)
    assert len(found) == 2
    own, beside = len(found[0].figures), rows[:, len(found[0].figures) :]
    assert np.array_equal(rows[:, :own], np.array([p.figures for p in found], dtype=float))
    likeness = rows[:, 2]  # the first of the figures that are set beside one another
    assert np.allclose(beside[:, 0], likeness - likeness[::-1])
    assert [row[-1] for row in rows_of(found, often=True)] == [1.0, 1.0]
