"""Graphs and agents with the memory in them, and what the memory kept."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from acc.controller.controller import AsyncMemoryController, MemoryController
from acc.integrations.graph_channels import MemoryState
from acc.integrations.langgraph import MemoryNode
from acc.integrations.recording import RecordedNode
from acc.journal import ThreadKey
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Policy
from acc.testing.chat_model import ScriptedChatModel, call

CONFIG: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 10_000}
RULE = "Never restart the database without my word."
PATIENT = Policy(cadence=Cadence(compress_over=2_000))
"""The policy with the cadence of a memory with a model: the newest messages stay messages."""

Graph = CompiledStateGraph[Any, Any, Any, Any]


def memory_of(**settings: Any) -> MemoryController[Any]:
    """A memory in a folder of its own, without an index of vectors."""
    return MemoryController.open(tempfile.mkdtemp(), **{"store": "none", **settings})


def amemory_of(**settings: Any) -> AsyncMemoryController[Any]:
    """The same for event loops."""
    return AsyncMemoryController.open(tempfile.mkdtemp(), **{"store": "none", **settings})


def patient(**policy: Any) -> MemoryController[Any]:
    """A memory without a model that compresses as seldom as one with a model."""
    return memory_of(policy=replace(PATIENT, **policy))


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


def fine() -> ScriptedChatModel:
    """A model that says the same all the time."""
    return ScriptedChatModel(script=lambda _: "Fine.")


def graph_of(
    memory: Any,
    model: ScriptedChatModel,
    tools: Sequence[BaseTool] = (read_logs,),
    *,
    checkpointer: Any = "memory",
    schema: type[Any] = MemoryState,
    record: bool = False,
    node: MemoryNode | None = None,
    **options: Any,
) -> Graph:
    """A ReAct agent with the memory in front of the model, on the way from the tools too."""
    node = node or MemoryNode(memory, **options)
    prompt = node.prompt("You are on call.")
    graph = StateGraph(schema)
    graph.add_node("memory", node)
    reason: Any = lambda state: {"messages": [model.invoke(prompt(state))]}  # noqa: E731
    graph.add_node("reason", RecordedNode(node, reason) if record else reason)
    graph.add_node("act", ToolNode(list(tools)))
    graph.add_edge(START, "memory")
    graph.add_edge("memory", "reason")
    graph.add_edge("act", "memory")
    ends = {"tools": "act", "__end__": "__end__"}
    graph.add_conditional_edges("reason", tools_condition, ends)
    return graph.compile(checkpointer=InMemorySaver() if checkpointer == "memory" else checkpointer)


def say(graph: Graph, text: Any, config: Any = None) -> dict[str, Any]:
    """One turn of the user."""
    message = text if isinstance(text, BaseMessage) else ("user", text)
    return graph.invoke({"messages": [message]}, config or CONFIG)


def asay(graph: Graph, text: Any, config: Any = None) -> dict[str, Any]:
    """The same with an event loop."""
    return asyncio.run(graph.ainvoke({"messages": [("user", text)]}, config or CONFIG))


def state_of(out: Any) -> CompressedCognitiveState:
    """The state in a result."""
    return CompressedCognitiveState.load(out["ccs"])


def rules(out: Any) -> list[str]:
    """The rules of the state in a result."""
    return [rule.text_of for rule in state_of(out).constraints]


def said(messages: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    """Kind and text of each message."""
    return [(m.type, str(m.text)) for m in messages]


def spoken(prompt: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    """Kind and text of a prompt's messages after the system message."""
    return [(m.type, str(m.text)) for m in prompt if m.type != "system"]


def system(prompt: Sequence[BaseMessage]) -> str:
    """The text of a prompt's system message."""
    return str(prompt[0].text) if prompt[0].type == "system" else ""


def whole(prompt: Sequence[BaseMessage]) -> str:
    """All that a model read."""
    return "\n".join(str(m.text) for m in prompt)


def stored(memory: Any, thread: Any = "t", branch: str = "main") -> list[tuple[str, str]]:
    """Channel and text of every message that a branch has committed, in order."""
    found = memory.journal.messages(thread, branch=branch)
    return [(m.message.channel.value, m.message.text) for m in found]


def threads(memory: Any) -> list[ThreadKey]:
    """The threads of a memory."""
    return list(memory.threads())
