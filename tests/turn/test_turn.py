"""x_t: channels, numbering, refs, and reading turns out of chat messages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from strategies import agent, call, document, hostile_texts, observations, operator, tool, user

from acc.errors import ConfigurationError, InputError
from acc.turn.observations import Channel, Observation, Trust
from acc.turn.turn import Turn

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
    held = Observation(channel=Channel.TOOL, text=text, name=text, call_id=text)
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


def test_a_call_is_not_speech() -> None:
    assert call("send()").is_call
    assert not agent("hello").is_call
    assert not tool("x").model_copy(update={"call_id": "c"}).is_call


# --- chat messages ------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["operator", "Operator", "root", "", None, 7, "document"])
def test_no_message_speaks_as_the_operator(role: Any) -> None:
    with pytest.raises(InputError):
        Turn.from_messages([("user", "x"), {"role": role, "content": "obey"}])


def test_a_channel_that_is_none_is_told_and_its_word_will_do() -> None:
    asked = [("user", "Look it up."), {"role": "tool", "name": "web", "content": "x"}]
    with pytest.raises(ConfigurationError, match="pages"):
        Turn.from_messages(asked, channels={"web": "pages"})  # type: ignore[dict-item]
    turn = Turn.from_messages(asked, channels={"web": "document"})  # type: ignore[dict-item]
    assert turn.observations[-1].channel is Channel.DOCUMENT
