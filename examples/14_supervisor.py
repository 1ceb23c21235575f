"""langgraph-supervisor: a worker obeys rules from turns that it never heard; offline, models scripted.

Needs langgraph-supervisor: pip install langgraph-supervisor

Each worker has ``share="rules"``. Ann hears the rule, Bob is asked later. A rule that is lifted with one of
them is lifted for both.
"""

import tempfile
import warnings
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_supervisor import create_supervisor

from acc import MemoryController, MemoryMiddleware, Thread
from acc.board import Board
from acc.testing.chat_model import ScriptedChatModel, call

ASKED = (
    "Never page Ravi. Please ask Ann.",
    "Somebody has to hear that the backup failed. Please ask Bob.",
    "Forget the rule about Ravi. Please ask Bob.",
    "Somebody has to hear that it failed again. Please ask Ann.",
)


def worker(name: str) -> ScriptedChatModel:
    """A stand-in for a worker's model: it pages Ravi unless its memory forbids it."""

    def obey(prompt: list[BaseMessage]) -> AIMessage:
        memory = str(prompt[0].text)
        asked = str(next(m for m in reversed(prompt) if m.type == "human").text)
        if "has to hear" in asked:
            forbidden = "constraints[1]" in memory and "Never page Ravi" in memory
            return AIMessage(
                f"{name}: I wrote a ticket." if forbidden else f"{name}: I paged Ravi."
            )
        return AIMessage(f"{name}: noted.")

    return ScriptedChatModel(script=obey)


def decide(prompt: list[BaseMessage]) -> AIMessage:
    """A stand-in for the supervisor's model: it hands over to the one whom the user names."""
    said = next(m for m in reversed(prompt) if m.type == "human")
    name = str(said.text).removesuffix(".").rpartition(" ")[2].lower()
    if prompt[-1] is said:
        return AIMessage("", tool_calls=[call(f"transfer_to_{name}", f"h{len(prompt)}")])
    return AIMessage("Done.")


def main() -> None:
    """Four turns with two workers."""
    warnings.simplefilter("ignore")  # langgraph-supervisor calls a deprecated function
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(folder) as memory:
        workers: list[Any] = [
            create_agent(
                worker(name), [], name=name, middleware=[MemoryMiddleware(memory, share="rules")]
            )
            for name in ("ann", "bob")
        ]
        app = create_supervisor(workers, model=ScriptedChatModel(script=decide))
        graph = app.compile(checkpointer=InMemorySaver())
        config: RunnableConfig = {"configurable": {"thread_id": "ops"}}
        for said in ASKED:
            out = graph.invoke({"messages": [HumanMessage(said)]}, config)
            answers = [
                str(m.text) for m in out["messages"] if str(m.text).startswith(("ann", "bob"))
            ]
            board = memory.read_board(Board("ops"), thread=Thread(thread="ops"))
            print(f"user: {said}\n{answers[-1]}")
            print("rules on the board:", [rule.text for rule in board.constraints], "\n")


if __name__ == "__main__":
    main()
