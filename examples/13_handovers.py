"""Handovers in a swarm, and workers of a `Send`: the user's rules go with them; offline, models scripted.

Needs langgraph-swarm: pip install langgraph-swarm

Each agent has ``share="rules"`` and a memory of its own beside the board. ``to="all"`` puts the user's rules there.
"""

import operator
import tempfile
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send
from langgraph_swarm import create_handoff_tool, create_swarm
from typing_extensions import TypedDict

from acc.controller.controller import MemoryController
from acc.integrations.langchain import MemoryMiddleware
from acc.integrations.langgraph import MemoryNode, MemoryState
from acc.testing.chat_model import ScriptedChatModel, call

TRIP = (
    "Never book a flight before noon.",
    "Let me speak to the booker.",
    "Book me a flight on Monday.",
)
CATALOGUE = ("Never quote a price. I plan three products.", "Write a line on each.")
PRODUCTS = ("lamp", "desk", "chair")


def decide(name: str) -> ScriptedChatModel:
    """A stand-in for an agent's model: it hands over when asked, and books by its rules."""

    def script(prompt: list[BaseMessage]) -> AIMessage:
        asked = str(next(m for m in reversed(prompt) if m.type == "human").text)
        if "speak to the booker" in asked and name == "planner":
            return AIMessage("", tool_calls=[call("transfer_to_booker", f"h{len(prompt)}")])
        if "Book me" in asked:
            late = "Never book a flight before noon" in str(prompt[0].text)
            return AIMessage("Booked for 14:10." if late else "Booked for 06:30.")
        return AIMessage(f"This is the {name}.")

    return ScriptedChatModel(script=script)


def swarm(memory: MemoryController[Any]) -> None:
    """Three turns; the booker works in the last two."""
    agents: list[Any] = [
        create_agent(
            decide(name),
            [create_handoff_tool(agent_name=other)],
            name=name,
            middleware=[MemoryMiddleware(memory, share="rules", to="all")],
        )
        for name, other in (("planner", "booker"), ("booker", "planner"))
    ]
    graph = create_swarm(agents, default_active_agent="planner").compile(
        checkpointer=InMemorySaver()
    )
    config: RunnableConfig = {"configurable": {"thread_id": "trip"}}
    for said in TRIP:
        out = graph.invoke({"messages": [HumanMessage(said)]}, config)
        print(f"user:  {said}\nagent: {out['messages'][-1].text}\n")


class State(MemoryState, total=False):
    """What the graph carries beside the memory's channels."""

    lines: Annotated[list[str], operator.add]


class Task(TypedDict):
    """What a worker receives."""

    task: str


def obey(prompt: list[BaseMessage]) -> AIMessage:
    """A stand-in for a worker's model: it quotes a price unless a rule forbids it."""
    forbidden = "Never quote a price" in "\n".join(str(m.text) for m in prompt)
    return AIMessage("A fine piece." if forbidden else "A fine piece, for 99 euros.")


def send(memory: MemoryController[Any]) -> None:
    """Two turns; three workers run at once in the second."""
    node = MemoryNode(memory, share="rules", to="all", force=True)  # at once: before a `Send`
    worker = create_agent(
        ScriptedChatModel(script=obey), [], middleware=[MemoryMiddleware(memory, share="rules")]
    )

    def deal(state: State) -> list[Send] | str:
        if "each" not in str(state["messages"][-1].text):
            return "answer"
        return [Send("work", {"task": f"Write a line on the {name}."}) for name in PRODUCTS]

    def work(state: Task) -> dict[str, Any]:
        out = worker.invoke({"messages": [HumanMessage(state["task"])]})
        return {"lines": [f"{state['task']} {out['messages'][-1].text}"]}

    builder = StateGraph(State, input_schema=MessagesState)
    builder.add_node("memory", node)
    builder.add_node("work", work)
    builder.add_node("answer", lambda _: {"messages": [AIMessage("Done.")]})
    builder.add_edge(START, "memory")
    builder.add_conditional_edges("memory", deal, ["work", "answer"])
    builder.add_edge("work", "answer")
    graph = builder.compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "catalogue"}}
    for said in CATALOGUE:
        out = graph.invoke({"messages": [HumanMessage(said)]}, config)
    print("\n".join(out["lines"]))


def main() -> None:
    """The swarm, then the workers."""
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(folder) as memory:
        swarm(memory)
        send(memory)


if __name__ == "__main__":
    main()
