"""Graphs with the memory in them, as the tests of the nodes use them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from acc import InMemoryStore, MemoryController, Proposal, Settings, Thread
from acc.integrations.graph_channels import MemoryState
from acc.integrations.langgraph import MemoryNode
from acc.integrations.recording import RecordNode
from acc.integrations.stepping import Controller
from acc.memory import whose
from acc.stores import Artifact
from acc.testing.chat_model import ScriptedChatModel, call

CONFIG: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 10_000}

RULE = "Never restart the database without my word."


class Viewed(MemoryState, total=False):
    """A state with a channel for the view."""

    view: list[Any]


class Slow:
    """A compressor that lets others go first."""

    def __call__(self, turn: Any, state: Any, evidence: Any) -> Proposal:
        return Proposal(author="slow")

    async def acompress(self, turn: Any, state: Any, evidence: Any) -> Proposal:
        await asyncio.sleep(0.01)
        return Proposal(author="slow")


@tool
def read_logs(service: str) -> str:
    """The last lines of a service's log."""
    return f"{service}: pool exhausted, 60 of 60 connections in use"


def looping(calls: int, parallel: int = 1) -> Callable[[list[BaseMessage]], AIMessage]:
    """A script that makes ``calls`` steps of calls in each turn, then answers."""
    made = 0

    def script(_: list[BaseMessage]) -> AIMessage:
        nonlocal made
        made += 1
        if made % (calls + 1) == 0:
            return AIMessage(f"answer {made}")
        asked = [call("read_logs", f"c{made}.{n}", service=f"s{made}-{n}") for n in range(parallel)]
        return AIMessage("", tool_calls=asked)

    return script


def memory_of(**settings: Any) -> MemoryController:
    """A memory in a store of its own."""
    return MemoryController(InMemoryStore(), settings=Settings(**settings))


def agent(
    memory: Controller,
    model: ScriptedChatModel,
    tools: Sequence[BaseTool] = (read_logs,),
    *,
    checkpointer: Any = None,
    schema: type[Any] = MemoryState,
    record: bool = False,
    **options: Any,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """A ReAct agent with the memory in front of the model, on the way from the tools too."""
    node = MemoryNode(memory, **options)
    prompt = node.prompt("You are on call.")
    graph = StateGraph(schema)
    graph.add_node("memory", node)
    graph.add_node("reason", lambda state: {"messages": [model.invoke(prompt(state))]})
    graph.add_node("act", ToolNode(list(tools)))
    graph.add_edge(START, "memory")
    graph.add_edge("memory", "reason")
    graph.add_edge("act", "memory")
    ends = {"tools": "act", "__end__": "__end__"}
    if record:
        graph.add_node("record", RecordNode(node))
        graph.add_edge("reason", "record")
    graph.add_conditional_edges("record" if record else "reason", tools_condition, ends)
    return graph.compile(checkpointer=checkpointer)


def evidence(memory: Controller, state: Any, thread: str | Thread = "t") -> list[Artifact]:
    """Every observation on the state's branch."""
    with memory._lock:
        branch = memory._log_of(whose(thread)).branch(memory.load(state).branch)
        return [a for a in branch.artifacts if a.kind == "observation"]


def said(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    """Kind and text of each message."""
    return [(m.type, str(m.text)) for m in messages]
