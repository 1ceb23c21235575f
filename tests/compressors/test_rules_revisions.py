"""Facts that a later sentence overtakes, though it is keyed otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from speaking import State, after, compress, turn

from acc.commit.commit import commit
from acc.keyless.reading import TurnReading, read
from acc.keyless.revisions import Pair, paired, revised, rows_of
from acc.state.items import Relation

LOAN = Relation(
    id="r1", subject="Harlow loan", predicate="amount", object="£4,200.00", status="observed"
)
RENT = Relation(id="r2", subject="rent", predicate="amount", object="£950", status="observed")


def told(agent: str, said: str = "Has anything come in?") -> TurnReading:
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


STATED = after(turn("Our budget is 5,000 EUR. The release is version 4.2.1."))


@pytest.mark.parametrize(
    "told",
    [
        "We may spend up to 9,000 EUR in the budget now.",
        "Your total budget has been increased to 9,000 EUR.",
        "Budget is now 9,000 EUR. The release is now version 4.3.0.",
        "Version 4.2.1 is withdrawn, the release is 4.3.0 instead.",
    ],
)
@pytest.mark.parametrize("heard", [True, False])
def test_the_agent_overtakes_nothing_that_the_user_stated(told: str, heard: bool) -> None:
    at = turn("What does the mail say?", agent=told, tool=told if heard else "", number=2)
    done = commit(STATED, compress(at, STATED, ()), at)
    assert {item.words for item in STATED.relational_map} <= {
        item.words for item in done.state.relational_map
    }
    assert {item.name for item in STATED.focal_entities} <= {
        item.name for item in done.state.focal_entities
    }


def test_a_doubt_between_user_and_tool_is_settled_by_the_user() -> None:
    """The agent may only repeat the tool."""
    said = "Budget is now 9,000 EUR."
    at = turn("What does the mail say?", said, said, number=2)
    doubted = commit(STATED, compress(at, STATED, ()), at).state
    assert [gap for gap in doubted.uncertainty_signal if "9,000" in gap.gap]
    insists = "The budget amount, as user stated and tool observed, is 9,000 EUR."
    for own, agents, left in (("thanks", insists, 1), (insists, "", 0)):
        at = turn(own, agents, number=3)
        after_it = commit(doubted, compress(at, doubted, ()), at).state
        assert len([gap for gap in after_it.uncertainty_signal if "5,000" in gap.gap]) == left
