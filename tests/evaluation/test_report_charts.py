"""Charts: where values stand, and what is left out."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from acc_eval.report.charts import BASE, LEFT, RIGHT, TOP, WIDTH, bar_chart, line_chart


def paths(drawn: str) -> list[str]:
    return re.findall(r'<path class="series [^"]*" d="([^"]*)"><title>', drawn)


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+),([\d.]+)", path)]


def test_a_line_goes_from_the_first_turn_to_the_last_and_from_zero_to_the_top() -> None:
    (path,) = paths(line_chart("t", [1, 2, 3], {"a": [0, 50, 100]}))
    assert points(path) == [
        (LEFT, BASE),
        ((LEFT + WIDTH - RIGHT) / 2, (TOP + BASE) / 2),
        (WIDTH - RIGHT, TOP),
    ]


def test_an_undefined_value_is_a_gap_and_a_lone_one_a_dot() -> None:
    (path,) = paths(line_chart("t", [1, 2, 3, 4, 5], {"a": [1, None, 2, None, None]}))
    assert path.count("M") == 2
    assert path.count("h0.01") == 2
    assert len(points(path)) == 2


def test_series_differ_in_more_than_colour() -> None:
    drawn = line_chart("t", [1, 2], {str(n): [n, n] for n in range(9)})
    looks = re.findall(r'<path class="(series [^"]*)" d="[^"]*"><title>', drawn)
    assert len(set(looks)) == len(looks) == 9


def test_bars_stand_for_their_values() -> None:
    drawn = bar_chart("t", ["g"], {"a": [5], "b": [None], "c": [10]}, spread={
        "a": [1], "b": [None], "c": [None]}, top=10)  # fmt: skip
    heights = [float(h) for h in re.findall(r'height="([\d.]+)"><title>', drawn)]
    assert heights == [pytest.approx((BASE - TOP) / 2), BASE - TOP]
    assert drawn.count("whisker") == 1
    assert "a, g: 5" in drawn


@pytest.mark.parametrize("values", [[], [0], [0, 0], [None], [1e9, 3], [1e-7]])
def test_whatever_the_values_the_drawing_is_well_formed(values: list[float | None]) -> None:
    turns = range(1, len(values) + 1)
    drawn = line_chart("a < b & c", turns, {'x"<': values})
    assert "nan" not in drawn
    ElementTree.fromstring(drawn)
    ElementTree.fromstring(bar_chart("t", [str(t) for t in turns], {"x": values}))


def test_a_name_takes_the_lines_that_it_needs_and_the_chart_has_room_for_them() -> None:
    names = ["instruction_following", "a", "one two", "goals retired held", "b", "c"]
    drawn = bar_chart("t", names, {"s": [1.0] * len(names)})
    lines = re.findall(r'<tspan x="([\d.]+)" y="([\d.]+)">([^<]*)</tspan>', drawn)
    found = [said for _, _, said in lines]
    assert found == [
        "instruction",
        "following",
        "a",
        "one two",
        "goals",
        "retired",
        "held",
        "b",
        "c",
    ]
    height = re.search(r'viewBox="0 0 \d+ (\d+)" *>', drawn)
    assert height is not None
    assert BASE < max(float(y) for _, y, _ in lines) < int(height[1])
    assert len({x for x, _, _ in lines}) == len(names)
