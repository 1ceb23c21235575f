"""A ReAct agent with the memory in front of its reasoning (paper, Figure 4a).

    memory -> reason -> act -> (memory ->) reason -> ...

The memory commits before REASON, and again after ACT once what waits is over its limit. The model reads the role, the
Compressed Cognitive State and the messages since the last compression, never the whole transcript: what a compression
has read leaves the channel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import RetryPolicy

from acc.board.memory import Controller
from acc.integrations.langgraph import MemoryNode, MemoryState, worth_retrying
from acc.integrations.recording import RecordedNode
from acc_graphs.deployment import chat_model, opening_evidence, served_memory, served_model

Graph = CompiledStateGraph[Any, Any, Any, Any]


def build(
    model: BaseChatModel | str,
    tools: Sequence[BaseTool],
    memory: Controller,
    *,
    role: str,
    checkpointer: Any = None,
    **options: Any,
) -> Graph:
    """Compile the graph; it runs with ``invoke`` and ``ainvoke``.

    Args:
        model: A chat model, or its name: ``provider:model``.
        tools: The agent's tools, beside the one that opens the evidence behind a ref of the state.
        memory: The memory in front.
        role: The agent's role, which stands before the state in every prompt.
        checkpointer: Any LangGraph checkpointer. Its ``thread_id`` names the memory's thread.
        options: As `MemoryNode` takes them: ``channels``, ``identity``, ``speakers`` and so on.

    Raises:
        ConfigurationError: No such model, or options that do not fit together.
    """
    remember = MemoryNode(memory, **options)
    chat = chat_model(model)
    tools = [*tools, opening_evidence(remember)]

    # Callers hand in messages alone: a state of their own making would pass for the memory's.
    graph = StateGraph(MemoryState, input_schema=MessagesState)
    graph.add_node("memory", remember, retry_policy=RetryPolicy(retry_on=worth_retrying))
    graph.add_node(
        "reason", RecordedNode(remember, _reasoning(chat.bind_tools(tools), remember.prompt(role)))
    )
    graph.add_node("act", ToolNode(tools))
    graph.add_edge(START, "memory")
    graph.add_edge("memory", "reason")
    graph.add_conditional_edges("reason", tools_condition, {"tools": "act", END: END})
    graph.add_conditional_edges("act", remember.due, {True: "memory", False: "reason"})
    return graph.compile(checkpointer=checkpointer)


def _reasoning(
    model: Runnable[Any, BaseMessage], prompt: Callable[[MemoryState], list[BaseMessage]]
) -> Runnable[MemoryState, dict[str, Any]]:
    """The model's answer to its prompt, with ``invoke`` and ``ainvoke``."""

    def reasoned(state: MemoryState) -> dict[str, Any]:
        return {"messages": [model.invoke(prompt(state))]}

    async def areasoned(state: MemoryState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(prompt(state))]}

    return RunnableLambda(reasoned, areasoned)


async def make_graph() -> Graph:
    """What ``langgraph.json`` serves: triage of a clinic's pipelines; settings in `deployment`."""
    from acc_graphs import triage

    clinic = triage.Clinic()
    memory = await served_memory("react")
    return build(
        served_model(triage.decide), clinic.tools(), memory, role=triage.ROLE,
        channels=triage.CHANNELS,
    )  # fmt: skip
