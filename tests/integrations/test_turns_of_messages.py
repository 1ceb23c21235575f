"""Which messages become turns: sent again, unanswered, refused, without ids, of old threads."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from acc import Channel, Turn
from acc.integrations.compaction import UNANSWERED_TOKENS, Compaction, Past, overlap, spoken
from acc.testing.chat_model import call


def human(text: str, id_: str = "") -> HumanMessage:
    return HumanMessage(text, id=id_ or text)


def ai(text: str) -> AIMessage:
    return AIMessage(text, id=text)


def texts(turns: Sequence[Turn]) -> list[list[str]]:
    return [[o.text for o in turn.observations] for turn in turns]


LONG_AGO = [human("u0"), ai("a0"), human("u1"), ai("a1")]


def test_each_message_of_the_user_is_a_turn_of_its_own() -> None:
    plan = Compaction().plan([*LONG_AGO, human("u2")], None)
    assert texts(plan.turns) == [["u0", "a0"], ["u1", "a1"], ["u2"]]
    assert [m.text for m in plan.kept] == ["u2"]


def test_messages_that_nobody_answered_stay_in_front_of_the_model() -> None:
    context = SystemMessage("The wiki says: ...", id="s")
    given = [*LONG_AGO, human("u2"), context, human("u3")]
    plan = Compaction(reply_chars=100).plan(given, None)
    assert [m.text for m in plan.kept] == ["a1", "u2", "The wiki says: ...", "u3"]
    assert texts(plan.turns)[-2:] == [["u2", "The wiki says: ..."], ["u3"]]
    again = Compaction(reply_chars=100).plan([*plan.kept, human("u4")], plan.progress)
    assert [m.text for m in again.kept] == ["a1", "u2", "The wiki says: ...", "u3", "u4"]
    answered = Compaction().plan([*again.kept, ai("a4"), human("u5")], again.progress)
    assert [m.text for m in answered.kept] == ["u5"]


def test_steps_of_a_turn_that_was_given_up_are_committed_and_not_shown() -> None:
    step = [
        AIMessage("", tool_calls=[call("logs", "c")], id="call"),
        ToolMessage("60 of 60", tool_call_id="c", id="r"),
    ]
    plan = Compaction().plan([human("u0"), *step, human("u1")], None)
    assert [m.text for m in plan.kept] == ["u0", "u1"]
    assert texts(plan.turns) == [["u0", "logs({})", "60 of 60"], ["u1"]]


def test_unanswered_messages_have_a_limit_that_the_log_tells(
    caplog: pytest.LogCaptureFixture,
) -> None:
    many = [human(f"{n} " + "x" * UNANSWERED_TOKENS, f"h{n}") for n in range(9)]
    with caplog.at_level(logging.WARNING):
        plan = Compaction().plan([*many, human("now")], None)
    assert [m.id for m in plan.kept] == ["h6", "h7", "h8", "now"]
    assert len(plan.turns) == 10
    assert "messages=h0," in caplog.text


@pytest.mark.parametrize("window", range(1, 6))
def test_what_a_client_sends_again_is_taken_in_once(window: int) -> None:
    history = [*LONG_AGO, human("u2")]
    first = Compaction().plan(history[:3], None)
    committed = {"u0", "a0", "u1"}
    channel = {m.id: m for m in (*first.kept, ai("a1"), *history[-window:])}
    plan = Compaction().plan([*channel.values()], first.progress, Past(True, committed))
    assert texts(plan.turns) == [["a1", "u2"]]
    assert [m.text for m in plan.kept] == ["u2"]


def test_a_history_without_a_new_message_changes_nothing() -> None:
    first = Compaction().plan(LONG_AGO[:3], None)
    channel = [*first.kept, *LONG_AGO[:2]]
    plan = Compaction().plan(channel, first.progress, Past(True, {"u0", "a0", "u1"}))
    assert plan.turns == ()
    assert [m.text for m in plan.kept] == ["u1"]


def test_a_run_whose_graph_kept_no_state_goes_on_by_the_ids() -> None:
    plan = Compaction().plan([*LONG_AGO, human("u2")], None, Past(True, {"u0", "a0", "u1"}))
    assert texts(plan.turns) == [["a1", "u2"]]
    rerun = Compaction().plan(LONG_AGO[:3], None, Past(True, {"u0", "a0", "u1"}))
    assert rerun.turns == ()
    assert [m.text for m in rerun.kept] == ["u1"]


def said(*pairs: tuple[Channel, str]) -> list[str]:
    from acc.turn.observations import Observation

    return spoken([Observation(channel=channel, text=text) for channel, text in pairs])


USER, AGENT = Channel.USER, Channel.AGENT


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        (["u0", "a0", "u1", "a1", "u2"], [["a1", "u2"]]),
        (["u1", "a1", "u2"], [["a1", "u2"]]),
        (["u2"], [["u2"]]),
        (["u1"], [["u1"]]),  # said again: it may be meant
        (["u0", "A0, shortened", "u1", "a1", "u2"], [["a1", "u2"]]),
        (["u0", "a0", "u1", "a1", "u2", "u3"], [["a1", "u2"], ["u3"]]),
    ],
)
def test_a_transcript_without_known_ids_is_laid_beside_the_log(
    sent: list[str], taken: list[list[str]]
) -> None:
    log = said((USER, "u0"), (AGENT, "a0"), (USER, "u1"))
    messages: list[BaseMessage] = [
        human(text, f"new-{n}") if text[0] == "u" else AIMessage(text, id=f"new-{n}")
        for n, text in enumerate(sent)
    ]
    plan = Compaction().plan(messages, None, Past(begun=True, spoken=lambda: log))
    assert texts(plan.turns) == taken


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")), st.integers(0, 9))
def test_the_overlap_is_found_whatever_a_window_begins_with(
    log: list[str], new: list[str], window: int
) -> None:
    told = [*log[-window:], *new] if window else new
    found = overlap(told, log)
    assert found <= len(told)
    assert found >= (min(window, len(log)) if window else 0)


def test_a_message_that_was_refused_is_not_dragged_along(caplog: pytest.LogCaptureFixture) -> None:
    def refused(turn: Turn) -> bool:
        return any("rule" in o.text for o in turn.observations)

    past = Past(refused=refused)
    with caplog.at_level(logging.WARNING):
        plan = Compaction().plan([human("a rule too many"), human("weather?")], None, past)
    assert texts(plan.turns) == [["weather?"]]
    assert [m.text for m in plan.kept] == ["weather?"]
    assert "a rule too many" in caplog.text  # its id
    # The user's last message is tried each time.
    assert texts(Compaction().plan([human("a rule too many")], None, past).turns)


def test_what_was_recorded_together_is_one_turn() -> None:
    given: list[Any] = [human("u0"), ai("a0"), human("u1")]
    plan = Compaction().plan(given, None, Past(recorded={"u0", "a0"}))
    assert texts(plan.turns) == [["u0", "a0"], ["u1"]]
