"""Which facts a sentence overtakes though they are not keyed alike, and which facts are needed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speaking import HOSTILE, after, turn

from acc.compressors.rules.needed import Told, needed

OVERTAKEN = [
    ("The license covers 640 users.", "Correction: the license covers 720 users now.", "640"),
    (
        "The change ticket is CHG-20714.",
        "They binned the first one, the change ticket is CHG-20988 now.",
        "CHG-20714",
    ),
    (
        "The budget deficit is £6,240.",
        "After the second pass the budget deficit stands at £1,875.",
        "6,240",
    ),
    (
        "The board meets on 24 March.",
        "The board meeting moves, they meet on 31 March now.",
        "24 March",
    ),
]
BESIDE = [
    ("The board meets on 24 March.", "The audit starts on 31 March.", "24 March"),
    ("The change ticket is CHG-20714.", "The incident ticket is INC-40713.", "CHG-20714"),
    ("The budget deficit is £6,240.", "The scaffold costs £1,875.", "6,240"),
]


def _told(first: str, then: str) -> str:
    return " | ".join(f"{r.words}" for r in after(turn(first), turn(then)).relational_map)


@pytest.mark.parametrize(("first", "then", "value"), OVERTAKEN)
def test_a_later_value_takes_the_place_of_the_old_one(first: str, then: str, value: str) -> None:
    assert value in _told(first, "Thanks.")
    assert value not in _told(first, then)


@pytest.mark.parametrize(("first", "then", "value"), BESIDE)
def test_the_value_of_another_thing_stands_beside_it(first: str, then: str, value: str) -> None:
    assert value in _told(first, then)


def test_a_reference_is_needed_more_than_a_remark() -> None:
    reference = needed(Told("case", "id", "INC-40713", "observed", 2))
    remark = needed(Told("everybody", "was", "rather pleased with it", "observed", 1))
    assert reference > 2 * remark


@given(HOSTILE, HOSTILE, HOSTILE, st.integers(0, 9))
def test_what_is_needed_has_a_probability(one: str, other: str, third: str, sources: int) -> None:
    assert 0 <= needed(Told(one, other, third, "stated", sources)) <= 1
