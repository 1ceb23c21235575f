"""Tools that ran beside one that failed: LangGraph drops their results, and the next run says what is known."""

from __future__ import annotations

from typing import Any

import pytest
from helpers_integrations import CONFIG, patient, spoken, stored
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent

from acc.integrations.langchain import MemoryMiddleware
from acc.integrations.langgraph import MemoryNode, MemoryState
from acc.integrations.messages import NO_RESULT
from acc.testing.chat_model import ScriptedChatModel, call


@tool
def pay(invoice: int) -> str:
    """Pay an invoice."""
    if invoice == 2:
        raise RuntimeError("the bank is away")
    return f"paid {invoice}: receipt R-{invoice}77"


def _model() -> ScriptedChatModel:
    calls = [call("pay", f"p{n}", invoice=n) for n in (1, 2)]

    def script(prompt: Any) -> AIMessage:
        return (
            AIMessage("", tool_calls=calls) if prompt[-1].text == "Pay both." else AIMessage("OK.")
        )

    return ScriptedChatModel(script=script)


def _agent(memory: Any, model: Any, saver: Any) -> Any:
    return create_agent(model, [pay], middleware=[MemoryMiddleware(memory)], checkpointer=saver)


def _prebuilt(memory: Any, model: Any, saver: Any) -> Any:
    node = MemoryNode(memory, output_messages_key="llm_input_messages")
    return create_react_agent(
        model, [pay], pre_model_hook=node, state_schema=State, checkpointer=saver,
    )  # fmt: skip


class State(MemoryState):
    remaining_steps: int


@pytest.mark.parametrize("build", [_agent, _prebuilt])
def test_of_tools_beside_one_that_failed_the_model_reads_that_they_may_have_run(build: Any) -> None:
    memory, model = patient(), _model()
    graph = build(memory, model, InMemorySaver())
    with pytest.raises(RuntimeError):
        graph.invoke({"messages": [("user", "Pay both.")]}, CONFIG)
    for _ in range(2):
        graph.invoke({"messages": [("user", "Go on.")]}, CONFIG)
        results = [text for kind, text in spoken(model.prompts[-1]) if kind == "tool"]
        assert results == [NO_RESULT] * 2
    assert len([text for _, text in stored(memory) if text.startswith("pay(")]) == 2
