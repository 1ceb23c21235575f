"""Workers of a `Send`: a graph deals out tasks, and all workers obey the user's rules; offline.

The memory's node has ``share="rules"``. Workers with the memory read the board; for a worker without one,
`MemoryNode.shared` returns what its task has to say. What the graph writes as a task is no user's word.
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
from typing_extensions import TypedDict

from acc import MemoryController, MemoryMiddleware, MemoryNode
from acc.integrations.langgraph import MemoryState
from acc.testing.chat_model import ScriptedChatModel

ASKED = ("Never quote a price. I plan three products.", "Write a line on each.")
PRODUCTS = ("lamp", "desk", "chair")


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


def main() -> None:
    """Two turns; three workers run at once in the second, one of them without a memory."""
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(folder) as memory:
        node = MemoryNode(memory, share="rules")
        shares = [MemoryMiddleware(memory, share="rules")]
        knowing = create_agent(ScriptedChatModel(script=obey), [], middleware=shares)
        plain = create_agent(ScriptedChatModel(script=obey), [])

        def deal(state: State) -> list[Send] | str:
            if "each" not in str(state["messages"][-1].text):
                return "answer"
            asked = [f"Write a line on the {name}." for name in PRODUCTS]
            asked[-1] += f"\n\n{node.shared(state)}"  # for the plain worker
            return [Send("work", {"task": task}) for task in asked]

        def work(state: Task) -> dict[str, Any]:
            worker = plain if "shared memory" in state["task"] else knowing
            out = worker.invoke({"messages": [HumanMessage(state["task"])]})
            return {"lines": [f"{state['task'].splitlines()[0]} {out['messages'][-1].text}"]}

        builder = StateGraph(State, input_schema=MessagesState)
        builder.add_node("memory", node)
        builder.add_node("work", work)
        builder.add_node("answer", lambda _: {"messages": [AIMessage("Done.")]})
        builder.add_edge(START, "memory")
        builder.add_conditional_edges("memory", deal, ["work", "answer"])
        builder.add_edge("work", "answer")
        graph = builder.compile(checkpointer=InMemorySaver())
        config: RunnableConfig = {"configurable": {"thread_id": "catalogue"}}
        for said in ASKED:
            out = graph.invoke({"messages": [HumanMessage(said)]}, config)
        print("\n".join(out["lines"]))


if __name__ == "__main__":
    main()
