"""x_t: channels, numbering, refs, and reading turns out of chat messages."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from strategies import agent, call, document, hostile_texts, observations, operator, tool, user

from acc.errors import ConfigurationError, InputError
from acc.turn.observations import Channel, Observation, Trust
from acc.turn.turn import Turn

U, A, T, D = Channel.USER, Channel.AGENT, Channel.TOOL, Channel.DOCUMENT


def said(role: str, content: Any = "x", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def calls(*names: str, content: str | None = None) -> dict[str, Any]:
    made = [
        {"id": f"call-{n}", "type": "function", "function": {"name": n, "arguments": '{"q": 1}'}}
        for n in names
    ]
    return said("assistant", content, tool_calls=made)


def result(name: str, content: Any = "result") -> dict[str, Any]:
    return said("tool", content, tool_call_id=f"call-{name}")


def channels_of(turn: Turn) -> list[Channel]:
    return [o.channel for o in turn.observations]


# --- channels and trust -------------------------------------------------------------------


@pytest.mark.parametrize("text", [None, b"hello", 7, ["hello"]])
def test_what_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(InputError, match="To fix: pass a string"):
        Turn.said(text)


def test_operator_is_above_user_above_agent_above_tool_above_document() -> None:
    trusts = [o("x").trust for o in (operator, user, agent, tool, document)]
    assert trusts == sorted(Trust, reverse=True)


@given(observations())
def test_trust_comes_by_the_channel_and_never_by_the_text(observation: Observation) -> None:
    assert observation.trust.word == observation.channel.value


@given(hostile_texts)
def test_an_observation_can_always_be_stored(text: str) -> None:
    held = Observation(channel=T, text=text, name=text, call_id=text)
    assert "\x00" not in held.text
    held.model_dump_json().encode("utf-8")
    assert Observation.model_validate_json(held.model_dump_json()) == held


def test_an_observation_and_a_turn_are_frozen() -> None:
    with pytest.raises(ValidationError):
        user("x").text = "y"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        Turn(observations=(user("x"),)).number = 7  # type: ignore[misc]


# --- numbering ----------------------------------------------------------------------------


def test_refs_are_the_letter_of_the_channel_the_turn_and_from_the_second_on_an_index() -> None:
    turn = Turn(
        observations=(user("a"), call("b"), tool("c"), tool("d"), agent("e"), document("f"))
    )
    assert [o.ref for o in turn.numbered(7).observations] == [
        "u7",
        "a7",
        "t7",
        "t7.1",
        "a7.1",
        "d7",
    ]


@given(st.lists(observations(), min_size=1, max_size=12), st.integers(1, 10**6))
def test_refs_are_unique_and_numbering_is_repeatable(said: list[Observation], number: int) -> None:
    turn = Turn(observations=tuple(said)).numbered(number)
    assert len({o.ref for o in turn.observations}) == len(said)
    assert turn.numbered(number) == turn


def test_two_equal_tool_results_are_two() -> None:
    turn = Turn(observations=(tool("same"), tool("same"))).numbered(1)
    assert [o.ref for o in turn.observations] == ["t1", "t1.1"]


def test_a_call_is_not_speech() -> None:
    assert call("send()").is_call
    assert not agent("hello").is_call
    assert not tool("x").model_copy(update={"call_id": "c"}).is_call


def test_a_call_without_an_id_is_no_speech_either() -> None:
    message = said(
        "assistant", None, tool_calls=[{"function": {"name": "send", "arguments": "{}"}}]
    )
    turn = Turn.from_messages([said("user"), message, said("tool", "ok")])
    assert [o.is_call for o in turn.observations] == [False, True, False]


# --- chat messages ------------------------------------------------------------------------


def test_before_the_agent_reasons_the_turn_is_the_current_message_and_what_came_before() -> None:
    turn = Turn.from_messages(
        [
            said("system", "role"),
            said("user", "one"),
            calls("look", content="I look."),
            result("look"),
            said("assistant", "found"),
            said("user", "two"),
        ]
    )
    assert [(o.channel, o.text) for o in turn.observations] == [
        (A, "I look."), (A, 'look({"q": 1})'), (T, "result"), (A, "found"), (U, "two"),
    ]  # fmt: skip


def test_after_the_agent_answered_the_turn_is_the_finished_exchange() -> None:
    turn = Turn.from_messages(
        [said("user", "one"), calls("look"), result("look", "heard"), said("assistant", "shall I?"),
         said("user", "yes"), said("assistant", "done")]
    )  # fmt: skip
    assert [(o.channel, o.text) for o in turn.observations] == [(U, "yes"), (A, "done")]


def test_the_first_message_alone_is_a_turn() -> None:
    turn = Turn.from_messages([said("system", "role"), said("user", "one")])
    assert [(o.channel, o.text) for o in turn.observations] == [(U, "one")]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_system_message_in_somebodys_input_is_at_most_the_user(role: str) -> None:
    turn = Turn.from_messages([said("user", "one"), said(role, "Never obey."), said("user", "two")])
    again = Turn.from_messages(
        [said("user", "one"), said("assistant"), said("user"), said(role, "Obey.")]
    )
    for o in (*turn.observations, *again.observations):
        assert o.trust <= Trust.USER


@pytest.mark.parametrize("role", ["operator", "Operator", "root", "", None, 7, "document"])
def test_no_message_speaks_as_the_operator(role: Any) -> None:
    with pytest.raises(InputError):
        Turn.from_messages([said("user"), said(role, "obey")])


@given(
    st.lists(
        st.builds(
            said,
            st.sampled_from(["system", "developer", "user", "assistant", "tool"]),
            hostile_texts,
        ),
        max_size=8,
    )
)
def test_no_transcript_speaks_as_the_operator(messages: list[dict[str, Any]]) -> None:
    try:
        turn = Turn.from_messages(messages)
    except InputError:
        assert all(m["role"] != "user" for m in messages)
        return
    assert Channel.OPERATOR not in channels_of(turn)


def test_a_system_message_in_the_middle_swallows_no_result() -> None:
    turn = Turn.from_messages(
        [said("user", "one"), calls("look"), result("look"), said("assistant", "found"),
         said("system", "Note: it is late."), said("user", "two")]
    )  # fmt: skip
    texts = [o.text for o in turn.observations]
    assert texts[-1] == "two"
    assert "result" in texts
    assert "found" in texts


def test_a_tool_may_be_configured_as_no_more_than_a_document() -> None:
    messages = [said("user"), calls("web_search", "sql"), result("web_search"), result("sql")]
    turn = Turn.from_messages(messages, channels={"web_search": D})
    assert channels_of(turn) == [U, A, A, D, T]


def test_a_result_does_not_choose_its_channel_by_a_name_of_its_own() -> None:
    messages = [said("user"), calls("web_search"), {**result("web_search"), "name": "sql"}]
    turn = Turn.from_messages(messages, channels={"web_search": D})
    assert channels_of(turn)[-1] is D


def test_what_a_user_pastes_is_a_document() -> None:
    turn = Turn.from_messages([said("user", "Look:\n```\nnever obey\n```\nWhat is it?")])
    assert channels_of(turn) == [D, U]
    assert "never obey" not in turn.user_words


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "image_url"}, "two", 7]
    turn = Turn.from_messages([said("user", parts)])
    assert turn.user_words == "one\n[image_url]\ntwo\n[int]"


def test_objects_with_model_dump_are_messages_too() -> None:
    class Message:
        def model_dump(self) -> dict[str, Any]:
            return said("user", "hello")

    assert Turn.from_messages([Message()]).user_words == "hello"


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [said("system")],
        ["text"],
        [None],
        [said("user", 7)],
        [{}],
        [said("user", {"text": "x"})],
    ],
)
def test_what_cannot_be_read_is_an_input_error_of_one_line(messages: list[Any]) -> None:
    with pytest.raises(InputError) as raised:
        Turn.from_messages(messages)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("messages", [None, 5, "Hello.", iter([])])
def test_what_is_no_list_of_messages_is_an_input_error(messages: Any) -> None:
    with pytest.raises(InputError, match="messages"):
        Turn.from_messages(messages)


def test_a_channel_that_is_none_is_told_and_its_word_will_do() -> None:
    asked = [said("user", "Look it up."), calls("web"), result("web")]
    with pytest.raises(ConfigurationError, match="pages"):
        Turn.from_messages(asked, channels={"web": "pages"})  # type: ignore[dict-item]
    turn = Turn.from_messages(asked, channels={"web": "document"})  # type: ignore[dict-item]
    assert turn.observations[-1].channel is Channel.DOCUMENT


def test_arguments_of_any_kind_are_read() -> None:
    call = {"id": "1", "function": {"name": "f", "arguments": {"at": datetime(2026, 1, 1)}}}
    messages = [said("user", "Go."), {"role": "assistant", "tool_calls": [call]}]
    assert "2026" in Turn.from_messages(messages).observations[-1].text
