"""What of a memory's work reaches the user's stream: progress, and nothing that it reads or writes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
)
from langgraph.checkpoint.memory import InMemorySaver

from acc import (
    AsyncMemoryController,
    InMemoryStore,
    MemoryController,
    Proposal,
)
from acc.testing.chat_model import ScriptedChatModel
from graphs import CONFIG, RULE, Slow, Viewed, agent, memory_of


def test_trap_the_compressors_tokens_and_the_state_leak_into_the_stream_of_messages() -> None:
    inner = ScriptedChatModel(script=lambda _: "SECRET TOKENS")

    def compressor(*_: Any) -> Proposal:
        assert "".join(str(c.text) for c in inner.stream("compress")) == "SECRET TOKENS"
        return Proposal(author="inner")

    memory = MemoryController(InMemoryStore(), compressor)
    model = ScriptedChatModel(script=lambda _: "hello user")
    graph = agent(
        memory, model, schema=Viewed, checkpointer=InMemorySaver(), output_messages_key="view"
    )
    streamed: list[BaseMessage] = []
    for n in range(2):
        given = {"messages": [HumanMessage(f"{RULE} {n}")]}
        for message, _ in graph.stream(given, CONFIG, stream_mode="messages"):
            streamed.append(message)
    assert inner.prompts
    assert all(isinstance(m, AIMessageChunk) for m in streamed)  # no removal of what was committed
    assert "".join(str(m.text) for m in streamed) == "hello user" * 2


@pytest.mark.filterwarnings("ignore::langchain_core._api.beta_decorator.LangChainBetaWarning")
def test_trap_the_newest_streaming_protocol_shows_the_same() -> None:
    inner = ScriptedChatModel(script=lambda _: "SECRET TOKENS")

    def compressor(*_: Any) -> Proposal:
        inner.invoke("compress")
        return Proposal(author="inner")

    memory = MemoryController(InMemoryStore(), compressor)
    graph = agent(memory, ScriptedChatModel(script=lambda _: "hello"), checkpointer=InMemorySaver())
    for n in range(2):
        given = {"messages": [HumanMessage(f"{RULE} {n}")]}
        run: Any = graph.stream_events(given, CONFIG, version="v3")
        assert [str(message.text) for message in run.messages] == ["hello"]
    assert inner.prompts


def test_the_compressors_tokens_leak_in_no_asynchronous_stream_either() -> None:
    inner = ScriptedChatModel(script=lambda _: "SECRET TOKENS")

    class Compressor(Slow):
        async def acompress(self, turn: Any, state: Any, evidence: Any) -> Proposal:
            await inner.ainvoke("compress")
            return Proposal(author="inner")

    memory = AsyncMemoryController(InMemoryStore(), Compressor())
    graph = agent(memory, ScriptedChatModel(script=lambda _: "hello user"))

    async def streamed() -> str:
        given = {"messages": [HumanMessage(RULE)]}
        events = graph.astream(given, CONFIG, stream_mode="messages")
        return "".join([str(m.text) async for m, _ in events])

    assert asyncio.run(streamed()) == "hello user"
    assert inner.prompts


def test_progress_comes_on_the_custom_stream_in_order_and_without_text() -> None:
    memory = memory_of()
    graph = agent(memory, ScriptedChatModel(script=lambda _: "ok"), checkpointer=InMemorySaver())
    graph.invoke({"messages": [f"{RULE} The pool of checkout is exhausted."]}, CONFIG)
    given = {"messages": ["What of the pool of checkout?"]}
    events: list[Any] = list(graph.stream(given, CONFIG, stream_mode="custom"))
    stages = [event["memory"] for event in events]
    assert stages == ["recalled", "admitted", "committed", "evicted", "tokens"]
    assert {event["turn"] for event in events} == {2}
    assert events[2]["hash"] == graph.get_state(CONFIG).values["ccs"]["hash"]
    assert 0 < events[4]["state"] <= events[4]["bound"] == 800
    assert "checkout" not in json.dumps(events)
