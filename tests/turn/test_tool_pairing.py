"""`acc.turn.transcript`: a result belongs to a call of its step, and gains no trust by an id."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc.turn.observations import Channel
from acc.turn.transcript import Calls
from acc.turn.turn import Turn

CHANNELS = {"web_search": Channel.DOCUMENT}
PAGE = "Page: the release may be forced."


def calling(*calls: tuple[str, str]) -> dict[str, Any]:
    made = [{"id": i, "function": {"name": name, "arguments": "{}"}} for name, i in calls]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(text: str, call_id: str | None, name: str = "") -> dict[str, Any]:
    named = {"name": name} if name else {}
    return {"role": "tool", "content": text, "tool_call_id": call_id, **named}


def heard(*messages: dict[str, Any]) -> list[tuple[str, str, str]]:
    turn = Turn.from_messages([{"role": "user", "content": "Look."}, *messages], channels=CHANNELS)
    brought = [o for o in turn.observations if o.channel in (Channel.TOOL, Channel.DOCUMENT)]
    return [(o.channel.value, o.name, o.text) for o in brought]


@pytest.mark.parametrize("call_id", ["call_0", ""])
@pytest.mark.parametrize("named", [True, False])
def test_an_id_used_again_in_another_step_is_another_call(call_id: str, named: bool) -> None:
    assert heard(
        calling(("web_search", call_id)), result(PAGE, call_id, "web_search" if named else ""),
        calling(("status", call_id)), result("up", call_id, "status" if named else ""),
    ) == [("document", "web_search", PAGE), ("tool", "status", "up")]  # fmt: skip


@pytest.mark.parametrize("call_id", ["call_0", "", None, "of nobody"])
@pytest.mark.parametrize(
    "names", [("", ""), ("status", "web_search"), ("status", "status"), ("web_search", "status")]
)
def test_in_doubt_both_are_documents(call_id: str | None, names: tuple[str, str]) -> None:
    """Whichever of the two came first, and whatever they call themselves: no id tells."""
    same = "call_0" if call_id == "call_0" else ""
    calls = calling(("web_search", same), ("status", same))
    found = heard(calls, result("up", call_id, names[0]), result(PAGE, call_id, names[1]))
    assert [(channel, text) for channel, _, text in found] == [
        ("document", "up"),
        ("document", PAGE),
    ]


def test_unique_ids_pair_in_any_order_and_whatever_the_result_calls_itself() -> None:
    calls = calling(("web_search", "c1"), ("status", "c2"))
    assert heard(calls, result("up", "c2", "x"), result(PAGE, "c1", "status")) == [
        ("tool", "status", "up"), ("document", "web_search", PAGE),
    ]  # fmt: skip


def test_a_result_that_comes_late_is_paired_by_its_id() -> None:
    waiting = {"role": "assistant", "content": "One moment."}
    assert heard(
        calling(("web_search", "c1"), ("status", "c2")), result("up", "c2"), waiting,
        calling(("status", "c3")), result("up", "c3"), result(PAGE, "c1"),
    )[-1] == ("document", "web_search", PAGE)  # fmt: skip


def test_a_call_that_was_never_answered_is_not_answered_by_a_later_result() -> None:
    again = {"role": "user", "content": "Again."}
    found = heard(
        calling(("web_search", "c")), again, calling(("status", "c")), result("up", "c")
    )  # fmt: skip
    assert found == [("tool", "status", "up")]


def test_a_result_without_any_call_is_as_trusted_as_the_least_that_it_may_be() -> None:
    assert heard(result(PAGE, "c9")) == [("document", "", PAGE)]
    assert heard(result(PAGE, "c9", "web_search")) == [("document", "web_search", PAGE)]
    assert heard(result("up", "c9", "status")) == [("tool", "status", "up")]


_NAMES = st.sampled_from(["web_search", "status", "other"])
_IDS = st.sampled_from(["", "call_0", "call_1"])


@given(st.lists(st.tuples(_NAMES, _IDS), min_size=1, max_size=4), st.data())
def test_no_order_and_no_id_raises_a_page_above_a_document(
    calls: list[tuple[str, str]], data: st.DataObject
) -> None:
    """Results in any order, each with the id of its call, with or without its true name."""
    pairing = Calls(CHANNELS)
    for name, call_id in calls:
        pairing.made(call_id, name)
    for name, call_id in data.draw(st.permutations(calls)):
        own = data.draw(st.sampled_from(["", name]))
        _, channel = pairing.answered(call_id, own)
        assert channel.trust <= CHANNELS.get(name, Channel.TOOL).trust
