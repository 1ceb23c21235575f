"""Charts: where values stand, and what is left out."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from acc.report.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, bar_chart, line_chart


def paths(drawn: str) -> list[str]:
    return re.findall(r'<path class="series [^"]*" d="([^"]*)"><title>', drawn)


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+),([\d.]+)", path)]


def test_a_line_goes_from_the_first_turn_to_the_last_and_from_zero_to_the_top() -> None:
    (path,) = paths(line_chart("t", [1, 2, 3], {"a": [0, 50, 100]}))
    assert points(path) == [
        (LEFT, HEIGHT - BOTTOM),
        ((LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2),
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
    assert heights == [pytest.approx((HEIGHT - TOP - BOTTOM) / 2), HEIGHT - TOP - BOTTOM]
    assert drawn.count("whisker") == 1
    assert "a, g: 5" in drawn


@pytest.mark.parametrize("values", [[], [0], [0, 0], [None], [1e9, 3], [1e-7]])
def test_whatever_the_values_the_drawing_is_well_formed(values: list[float | None]) -> None:
    turns = range(1, len(values) + 1)
    drawn = line_chart("a < b & c", turns, {'x"<': values})
    assert "nan" not in drawn
    ElementTree.fromstring(drawn)
    ElementTree.fromstring(bar_chart("t", [str(t) for t in turns], {"x": values}))
