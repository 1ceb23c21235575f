"""Subgraphs with and without checkpoints of their own, which obey rules from before they ran; offline.

The outer graph and the two desks have ``share="rules"``. The back office is compiled with
``checkpointer=True``: it goes on from its own last turn. The front desk begins anew each time.
"""

import tempfile
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from acc import MemoryController, MemoryNode
from acc.integrations.langgraph import MemoryState
from acc.testing.chat_model import ScriptedChatModel

ASKED = (
    "Never ship to a post box. We open on Monday.",
    "front: where do we ship the first parcel?",
    "back: where do we ship the second one?",
)


def obey(prompt: list[BaseMessage]) -> AIMessage:
    """A stand-in for a desk's model: it takes the post box unless its memory forbids it."""
    forbidden = "Never ship to a post box" in str(prompt[0].text)
    return AIMessage("To the street address." if forbidden else "To the post box.")


def desk(memory: MemoryController, name: str, checkpointer: bool | None) -> Any:
    """A graph with a memory of its own that shares the rules."""
    node, model = MemoryNode(memory, share="rules"), ScriptedChatModel(script=obey)
    prompt = node.prompt(f"You are the {name}.")
    builder = StateGraph(MemoryState, input_schema=MessagesState)
    builder.add_node("memory", node)
    builder.add_node("model", lambda state: {"messages": [model.invoke(prompt(state))]})
    builder.add_edge(START, "memory")
    builder.add_edge("memory", "model")
    return builder.compile(checkpointer=checkpointer)


def main() -> None:
    """Three turns: one is the outer graph's, two are the desks'."""
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(folder) as memory:
        builder = StateGraph(MemoryState, input_schema=MessagesState)
        builder.add_node("memory", MemoryNode(memory, share="rules", role="You lead."))
        builder.add_node("lead", lambda _: {"messages": [AIMessage("Noted.")]})
        builder.add_node("front", desk(memory, "front desk", None))
        builder.add_node("back", desk(memory, "back office", True))

        def chosen(state: dict[str, Any]) -> str:
            name = str(state["messages"][-1].text).partition(":")[0]
            return name if name in ("front", "back") else "lead"

        builder.add_edge(START, "memory")
        builder.add_conditional_edges("memory", chosen, ["lead", "front", "back"])
        graph = builder.compile(checkpointer=InMemorySaver())
        config: RunnableConfig = {"configurable": {"thread_id": "shop"}}
        for said in ASKED:
            out = graph.invoke({"messages": [HumanMessage(said)]}, config)
            print(f"user: {said}\ndesk: {out['messages'][-1].text}\n")


if __name__ == "__main__":
    main()
