"""A ReAct agent with the memory in front of its reasoning node (paper, Figure 4a).

The model reads the role, the Compressed Cognitive State and the current turn, never the
transcript: earlier turns are taken out of the channel when the next one is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.messages import (
    AnyMessage,
    RemoveMessage,
    SystemMessage,
    convert_to_openai_messages,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from acc.controller import MemoryController
from acc.turn import Turn

Model = Callable[[list[AnyMessage]], AnyMessage]


class ReactState(TypedDict, total=False):
    """The graph's channels: this turn's messages, and the state as plain JSON."""

    messages: Annotated[list[AnyMessage], add_messages]
    ccs: dict[str, Any]


def build(
    model: Model,
    tools: Sequence[BaseTool],
    memory: MemoryController,
    *,
    role: str,
    checkpointer: Any = None,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Compile the graph.

    Args:
        model: Answers a list of messages; a chat model's ``invoke`` with its tools bound.
        tools: The agent's tools.
        memory: The memory in front.
        role: The agent's role, which stands before the state in every prompt.
        checkpointer: Any LangGraph checkpointer. Its ``thread_id`` names the memory's thread.
    """

    def remember(state: ReactState, config: RunnableConfig) -> dict[str, Any]:
        messages = state["messages"]
        thread = str(config.get("configurable", {}).get("thread_id", "default"))
        turn = Turn.from_messages(convert_to_openai_messages(messages))
        done = memory.step(state.get("ccs"), turn, thread=thread)
        current = max(i for i, message in enumerate(messages) if message.type == "human")
        kept = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *messages[current:]]
        return {"ccs": done.state.canonical(), "messages": kept}

    def reason(state: ReactState) -> dict[str, Any]:
        carried = memory.load(state["ccs"]).render()
        prompt = [SystemMessage(f"{role}\n\n{carried}"), *state["messages"]]
        return {"messages": [model(prompt)]}

    graph = StateGraph(ReactState)
    graph.add_node("remember", remember)
    graph.add_node("reason", reason)
    graph.add_node("act", ToolNode(list(tools)))
    graph.add_edge(START, "remember")
    graph.add_edge("remember", "reason")
    graph.add_conditional_edges("reason", tools_condition, {"tools": "act", END: END})
    graph.add_edge("act", "reason")
    return graph.compile(checkpointer=checkpointer)
