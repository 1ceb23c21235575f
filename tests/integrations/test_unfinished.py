"""Tools that ran beside one that failed: their results are known in the next run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from helpers_integrations import CONFIG, patient, spoken, stored
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.prebuilt import create_react_agent

from acc.integrations.langchain import MemoryMiddleware
from acc.integrations.langgraph import MemoryNode, MemoryState
from acc.testing.chat_model import ScriptedChatModel, call

PAID = "paid 1: receipt R-177"
NEXT: Any = {"messages": [("user", "Go on.")]}


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
def test_the_result_of_the_tool_that_ran_is_read(build: Any) -> None:
    memory, model = patient(), _model()
    graph = build(memory, model, InMemorySaver())
    with pytest.raises(RuntimeError):
        graph.invoke({"messages": [("user", "Pay both.")]}, CONFIG)
    for _ in range(2):
        out = graph.invoke(NEXT, CONFIG)
        results = [text for kind, text in spoken(model.prompts[-1]) if kind == "tool"]
        assert results == [PAID, "No result is known: the call may have run."]
    assert [m.text for m in out["messages"]].count(PAID) == 1
    assert [text for _, text in stored(memory)].count(PAID) == 1


def test_the_same_with_an_asynchronous_checkpointer(tmp_path: Path) -> None:
    async def talk() -> list[tuple[str, str]]:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "c.sqlite")) as saver:
            model = _model()
            graph = _agent(patient(), model, saver)
            with pytest.raises(RuntimeError):
                await graph.ainvoke({"messages": [("user", "Pay both.")]}, CONFIG)
            await graph.ainvoke(NEXT, CONFIG)
            return spoken(model.prompts[-1])

    assert ("tool", PAID) in asyncio.run(talk())
