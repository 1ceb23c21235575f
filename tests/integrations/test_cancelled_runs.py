"""Cancelled runs of a graph: a new message cancels the one before, and nothing that was said is lost."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from cancelling import Slow
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from acc import AsyncMemoryController, MemoryController
from acc.background import AsyncBackgroundMemory, BackgroundMemory
from acc.integrations.background_node import BackgroundMemoryNode
from acc.integrations.graph_channels import MemoryState
from acc.integrations.langgraph import MemoryNode
from graphs import CONFIG, RULE, evidence

FIRST, NEXT = "Checkout is slow. Why?", "Are you there?"


KINDS = ["sync", "async", "sync behind", "async behind"]


def graph_of(store: Slow, kind: str) -> tuple[Any, Any, Any]:
    """A graph with the memory in front of a model; the memory; and what commits behind, if anything."""
    memory: Any = (AsyncMemoryController if "async" in kind else MemoryController)(store)
    behind: Any = None
    if "behind" in kind:
        behind = (AsyncBackgroundMemory if "async" in kind else BackgroundMemory)(memory)
    node = BackgroundMemoryNode(behind, wait=None) if behind else MemoryNode(memory)

    async def model(_: Any) -> dict[str, Any]:
        return {"messages": [AIMessage("Noted.")]}

    node.prompt()  # the schema has the memory's channels, and the model does not read them
    builder = StateGraph(MemoryState)
    builder.add_node("memory", node)
    builder.add_node("model", model)
    builder.add_edge(START, "memory")
    builder.add_edge("memory", "model")
    return builder.compile(checkpointer=InMemorySaver()), memory, behind


async def say(graph: Any, words: str) -> Any:
    return await graph.ainvoke({"messages": [("user", words)]}, CONFIG)


async def close(behind: Any) -> None:
    if isinstance(behind, AsyncBackgroundMemory):
        assert await behind.close()
    elif behind is not None:
        assert await asyncio.to_thread(behind.close)


async def calls_of(kind: str) -> int:
    store = Slow()
    graph, _, behind = graph_of(store, kind)
    await say(graph, FIRST)
    store.hold(None)
    await say(graph, RULE)
    await close(behind)
    return store.calls


async def a_run(kind: str, at: int, streams: bool) -> None:
    store = Slow()
    graph, memory, behind = graph_of(store, kind)
    await say(graph, FIRST)
    store.hold(at)

    async def stream() -> None:
        async with aclosing(graph.astream({"messages": [("user", RULE)]}, CONFIG)) as parts:
            async for _ in parts:
                pass

    task = asyncio.create_task(stream() if streams else say(graph, RULE))
    while not (store.waits.is_set() or task.done()):
        await asyncio.sleep(0.001)
    task.cancel()
    store.let_go()
    await asyncio.wait([task])
    out = await say(graph, NEXT)
    if behind is not None:  # its turns are pending in the state
        out = await say(graph, "Thanks.")
    await close(behind)
    held = [a.text for a in evidence(memory, memory.load(out["ccs"]))]
    assert [text for text in held if text == RULE] == [RULE], (at, held)
    assert [text for text in held if text == NEXT] == [NEXT], (at, held)
    assert RULE.rstrip(".") in out["ccs"]["constraints"][0]["text"]
    assert not memory._off_loop.left()
    assert not memory._threads._under_way


@pytest.mark.parametrize(
    "streams",
    [pytest.param(False, id="ainvoke"), pytest.param(True, id="astream", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_cancelled_at_any_call_of_the_store_is_heard(
    kind: str, streams: bool
) -> None:
    count = asyncio.run(calls_of(kind))
    assert count
    for at in range(count):
        asyncio.run(a_run(kind, at, streams))
