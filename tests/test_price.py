"""What tokens cost."""

from __future__ import annotations

from typing import Any

import pytest

from acc.compress.protocol import Price
from acc.errors import ConfigurationError


def test_money_is_counted_per_million_by_kind() -> None:
    usage = {"input": 3_000_000, "output": 500_000, "cached": 1_000_000}
    assert Price(2.0, 8.0, 0.5).of(usage) == 2 * 2.0 + 0.5 + 0.5 * 8.0
    assert Price(2.0, 8.0).of(usage) == 3 * 2.0 + 0.5 * 8.0
    assert Price(2.0, 8.0, 0.0).of(usage) == 2 * 2.0 + 0.5 * 8.0
    assert Price(2.0, 8.0).of({}) == 0


def test_no_more_is_cached_than_was_read() -> None:
    assert Price(1.0, 1.0, 0.5).of({"input": 1_000_000, "cached": 9_000_000}) == 0.5


def test_a_count_that_cannot_be_is_no_error() -> None:
    assert Price(1.0, 1.0).of({"input": -5, "output": -1}) == 0
    assert Price(1.0, 1.0).of({"input": 10**400}) > 0


@pytest.mark.parametrize(
    "price",
    [
        (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0, -1.0), (float("nan"), 1.0), (float("inf"), 1.0),
        ("2", 8.0), (1.0, None), (1.0, 2.0, "free"),
    ],
)  # fmt: skip
def test_what_is_no_price_is_a_configuration_error(price: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigurationError):
        Price(*price)
