"""One retry layer, which waits as the server asks, and never beyond the deadline."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asking import GOOD, Slept, always, asking, retries, stepped

from acc.testing import Fault, FixedClock, ModelServer


def test_a_fault_that_passes_is_retried_and_told_of() -> None:
    slept = Slept()
    with ModelServer(lambda _: GOOD, faults=[Fault("503"), Fault("reset_mid_body")]) as server:
        step = stepped(asking(server.base_url, retries=retries(slept)))
    assert step.outcome == "ok"
    assert step.account is not None
    assert step.account.calls == ("server_error", "connection_reset", "ok")
    assert slept == [0.5, 1.0]


NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("fault", "waited"),
    [
        (Fault("429", retry_after=2), 2.0),
        (Fault("429", retry_after_ms=250), 0.25),
        (Fault("503", retry_after=NOW + timedelta(seconds=7)), 7.0),
        (Fault("503", retry_after=NOW - timedelta(seconds=7)), 0.0),
        (Fault("429", retry_after="soon"), 0.5),
        (Fault("429", retry_after="-3"), 0.5),
        (Fault("429", retry_after="nan"), 0.5),
    ],
)
def test_the_wait_is_what_the_server_asks_for(fault: Fault, waited: float) -> None:
    slept = Slept()
    again = retries(slept, clock=FixedClock(NOW))
    with ModelServer(lambda _: GOOD, faults=[fault]) as server:
        assert stepped(asking(server.base_url, retries=again)).outcome == "ok"
    assert slept == [waited]


@pytest.mark.parametrize("asked", [121, 10**12, "inf"])
def test_a_wait_beyond_the_deadline_is_not_begun(asked: Any) -> None:
    slept = Slept()
    with ModelServer(lambda _: GOOD, faults=[Fault("429", retry_after=asked)]) as server:
        step = stepped(asking(server.base_url, retries=retries(slept), deadline=120))
    assert (step.outcome, slept, len(server.requests)) == ("rate_limited", [], 1)


def test_what_money_does_not_buy_is_not_retried() -> None:
    with ModelServer(faults=[Fault("429", code="insufficient_quota")]) as server:
        assert stepped(asking(server.base_url)).outcome == "rate_limited"
    assert len(server.requests) == 1


class Ticking(FixedClock):
    """Two seconds pass with each look at it."""

    def seconds(self) -> float:
        self.advance(timedelta(seconds=2))
        return super().seconds()


def test_nothing_is_begun_after_the_deadline() -> None:
    with always("500") as server:
        again = retries(clock=Ticking())
        step = stepped(asking(server.base_url, retries=again, deadline=5))
    assert step.account is not None
    assert step.account.calls == ("server_error", "deadline")
    assert len(server.requests) == 1
