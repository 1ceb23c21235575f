"""What the clauses of one message say of a rule together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from speaking import after, retired, turn

from acc.keyless.effects import gathered

EVENTS = [
    (
        "Nothing is paid to Tallis until their credit note is in.",
        "The credit note came this morning.",
        "So pay Tallis with the rest.",
    ),
    (
        "The west gate stays shut until the surveyor has been.",
        "The surveyor was here, all sound.",
        "West gate as usual then.",
    ),
]


@pytest.mark.parametrize(("rule", "event", "order"), EVENTS)
def test_two_sentences_end_what_neither_of_them_does(rule: str, event: str, order: str) -> None:
    state = after(turn(f"{rule} Answer in French. Quote the ticket number in each reply."))
    for alone in (event, order):
        assert not retired(alone, state)[0]
    assert retired(f"{event} {order}", state)[0] == [rule.removesuffix(".")]


def test_what_is_gathered_is_of_the_surest_clause_and_of_those_beside_it() -> None:
    odds = np.array([[0.1, 0.2], [0.5, 0.1]])
    figures = np.array([[[1.0], [2.0]], [[3.0], [4.0]]])
    rows = gathered(odds, figures, [1, 0])
    any_first, any_second = 1 - 0.9 * 0.5, 1 - 0.8 * 0.9
    assert rows.tolist() == [
        pytest.approx([0.5, any_first, 0.1, 0.3, any_first - any_second, 3.0, 3.0, 1.0, 0.0]),
        pytest.approx([0.2, any_second, 0.1, -0.3, any_second - any_first, 2.0, 4.0, 0.0, 4.0]),
    ]


def test_one_rule_and_one_clause_are_ahead_of_nothing_by_their_odds() -> None:
    rows = gathered(np.array([[0.4]]), np.array([[[7.0]]]), [0])
    assert rows.tolist() == [pytest.approx([0.4, 0.4, 0.0, 0.4, 0.4, 7.0, 7.0, 0.0, 0.0])]


@given(st.data(), st.integers(1, 5), st.integers(2, 6))
def test_no_order_of_the_rules_changes_what_is_gathered(
    data: st.DataObject, clauses: int, rules: int
) -> None:
    share = st.floats(0, 1, width=32)
    size = clauses * rules
    odds = np.array(data.draw(st.lists(share, min_size=size, max_size=size, unique=True)))
    odds = odds.reshape(clauses, rules)
    figures = odds[..., None] * 2
    order = data.draw(st.permutations(range(rules)))
    rows = gathered(odds, figures, odds.argmax(axis=0).tolist())
    again = gathered(odds[:, order], figures[:, order], odds[:, order].argmax(axis=0).tolist())
    assert again == pytest.approx(rows[order])
