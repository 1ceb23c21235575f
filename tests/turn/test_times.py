"""`acc.clock`: each form in which programs write a time is read, and none is dropped in silence."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from acc.errors import InputError
from acc.turn.chat_messages import read_message, time_in
from acc.turn.turn import Turn

TEN = datetime(2026, 11, 25, 10, tzinfo=UTC)
SECONDS = 1_795_600_800


@pytest.mark.parametrize(
    "given",
    [
        TEN, TEN.replace(tzinfo=None), SECONDS, float(SECONDS), SECONDS * 1_000, SECONDS * 10**6, SECONDS * 10**9,
        Decimal(SECONDS), str(SECONDS), f"{SECONDS}.000", str(SECONDS * 1_000), "2026-11-25T10:00:00.000Z",
        "2026-11-25T11:00:00+01:00", " 2026-11-25 10:00 ", "Wed, 25 Nov 2026 10:00:00 +0000",
        "Wed, 25 Nov 2026 10:00:00 GMT", "25 Nov 2026 02:30 -0730", "Wed Nov 25 2026 11:00:00 GMT+0100 (CET)",
        "Wed Nov 25 2026 02:30:00 GMT-0730 (Sometime)",
    ],
)  # fmt: skip
def test_a_time_is_read_in_each_form(given: Any) -> None:
    assert datetime.fromisoformat(time_in(given, "m")) == TEN


def test_digits_are_milliseconds_also_where_they_look_like_a_day_and_an_hour() -> None:
    assert time_in("1712050100000", "m") == "2024-04-02T09:28:20+00:00"
    assert time_in("20261125", "m") == "2026-11-25T00:00:00+00:00"


@pytest.mark.parametrize("given", [None, ""])
def test_nothing_is_no_time(given: Any) -> None:
    assert time_in(given, "m") == ""


@pytest.mark.parametrize(
    "given", ["yesterday", "10:05", "25/11/2026, 10:00", 12.5, 0, True, "nan", 10**30, {"$date": 1}]
)
def test_what_is_no_time_is_refused_with_the_way_to_write_it(given: Any) -> None:
    with pytest.raises(InputError, match=r"is no time \(message 3\). To fix: write it in ISO 8601"):
        time_in(given, "message 3")


def test_it_is_found_in_a_message_and_beside_it() -> None:
    for given in (
        {"role": "user", "content": "Hi.", "createdAt": SECONDS * 1_000},
        {"role": "user", "content": [{"type": "text", "text": "Hi."}], "metadata": {"timestamp": str(SECONDS)}},
        HumanMessage("Hi.", additional_kwargs={"created_at": "Wed Nov 25 2026 11:00:00 GMT+0100 (CET)"}),
        AIMessage("Hi.", response_metadata={"created": SECONDS}),
    ):  # fmt: skip
        assert datetime.fromisoformat(read_message(given, "m").at) == TEN
    assert Turn.said("Hi.", at=SECONDS).at == "2026-11-25T10:00:00+00:00"


def test_what_a_provider_tells_beside_an_answer_stops_no_run() -> None:
    assert read_message(AIMessage("Hi.", response_metadata={"created": "soon"}), "m").at == ""
