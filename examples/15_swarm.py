"""langgraph-swarm: agents hand over to each other, and the user's rules go with them; offline.

Needs langgraph-swarm: pip install langgraph-swarm

Each agent of the swarm has ``share="rules"`` and a memory of its own beside the board.
"""

import tempfile
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_swarm import create_handoff_tool, create_swarm

from acc import MemoryController, MemoryMiddleware
from acc.testing.chat_model import ScriptedChatModel, call

ASKED = (
    "Never book a flight before noon.",
    "Let me speak to the booker.",
    "Book me a flight on Monday.",
)


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


def main() -> None:
    """Three turns; the booker works in the last two."""
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(folder) as memory:
        agents: list[Any] = [
            create_agent(
                decide(name),
                [create_handoff_tool(agent_name=other)],
                name=name,
                middleware=[MemoryMiddleware(memory, share="rules")],
            )
            for name, other in (("planner", "booker"), ("booker", "planner"))
        ]
        swarm = create_swarm(agents, default_active_agent="planner")
        graph = swarm.compile(checkpointer=InMemorySaver())
        config: RunnableConfig = {"configurable": {"thread_id": "trip"}}
        for said in ASKED:
            out = graph.invoke({"messages": [HumanMessage(said)]}, config)
            print(f"user:  {said}\nagent: {out['messages'][-1].text}\n")


if __name__ == "__main__":
    main()
