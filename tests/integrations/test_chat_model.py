"""The scripted chat model that the library ships."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel

from acc.testing.chat_model import ScriptedChatModel, call
from graphs import read_logs


def test_it_decides_from_the_prompt_and_keeps_it() -> None:
    model = ScriptedChatModel(script=lambda prompt: f"You said {prompt[-1].text}")
    assert model.invoke("yes").text == "You said yes"
    assert [[m.text for m in prompt] for prompt in model.prompts] == [["yes"]]


def test_lines_come_in_order_and_the_end_is_an_error_or_the_beginning() -> None:
    model = ScriptedChatModel(script=["one", OSError("two"), AIMessage("three")])
    assert model.invoke("x").text == "one"
    with pytest.raises(OSError, match="two"):
        model.invoke("x")
    assert model.invoke("x").text == "three"
    with pytest.raises(AssertionError, match="3 lines, and this is call 4"):
        model.invoke("x")
    again = ScriptedChatModel(script=["one", "two"], at_end="repeat")
    assert [again.invoke("x").text for _ in range(3)] == ["one", "two", "one"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_it_streams_words_and_calls_that_join_to_the_message(asynchronous: bool) -> None:
    whole = AIMessage("Let me look.\n", tool_calls=[call("read_logs", "c1", service="é")])
    model = ScriptedChatModel(script=lambda _: whole)

    async def collected() -> list[Any]:
        return [chunk async for chunk in model.astream("x")]

    chunks = asyncio.run(collected()) if asynchronous else list(model.stream("x"))
    assert len(chunks) > 2
    joined = chunks[0]
    for chunk in chunks[1:]:
        joined += chunk
    assert (joined.text, joined.tool_calls) == (whole.text, whole.tool_calls)


def test_it_binds_tools_and_says_which() -> None:
    model = ScriptedChatModel(script=["x"])
    assert model.bind_tools([read_logs]) is model
    assert model.tools == ["read_logs"]


def test_structured_output_comes_by_way_of_a_call() -> None:
    class Plan(BaseModel):
        """A plan."""

        steps: list[str]

    def script(_: list[BaseMessage]) -> AIMessage:
        return AIMessage("", tool_calls=[call("Plan", "c1", steps=["look"])])

    assert ScriptedChatModel(script=script).with_structured_output(Plan).invoke("x") == Plan(
        steps=["look"]
    )
