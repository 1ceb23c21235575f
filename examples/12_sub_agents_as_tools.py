"""Sub-agents that a tool calls, and one line that lets the user's rules reach them; offline, models scripted.

The boss has the memory with ``share="rules"``. The searcher has it too. The writer has no memory at all: its
task carries the rules, because the boss names the tool's argument in ``delegates``.
"""

import tempfile

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from acc import MemoryController, MemoryMiddleware, Thread
from acc.board import Board
from acc.testing.chat_model import ScriptedChatModel, call

ASKED = ("Never name a customer. We look at churn.", "Find out why they leave.", "Write the memo.")


def obey(prompt: list[BaseMessage]) -> AIMessage:
    """A stand-in for a sub-agent's model: it knows a name, and says it unless a rule forbids it."""
    forbidden = "Never name a customer" in "\n".join(str(m.text) for m in prompt)
    return AIMessage("A customer left over prices." if forbidden else "Acme left over prices.")


def decide(prompt: list[BaseMessage]) -> AIMessage:
    """A stand-in for the boss's model: it hands over what the user asks for."""
    last = prompt[-1]
    if last.type == "tool":
        return AIMessage(f"I was told: {last.text}")
    if "Find out" in str(last.text):
        return AIMessage(
            "", tool_calls=[call("search", task="Always name sources. Why do they leave?")]
        )
    if "Write" in str(last.text):
        return AIMessage("", tool_calls=[call("write", task="A memo on churn.")])
    return AIMessage("Noted.")


def main() -> None:
    """Three turns; the sub-agents run in the second and the third."""
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(folder) as memory:
        searcher = create_agent(
            ScriptedChatModel(script=obey), [], middleware=[MemoryMiddleware(memory, share="rules")]
        )
        writer = create_agent(ScriptedChatModel(script=obey), [])  # without a memory

        @tool
        def search(task: str) -> str:
            """Ask the searcher."""
            return str(searcher.invoke({"messages": [HumanMessage(task)]})["messages"][-1].text)

        @tool
        def write(task: str) -> str:
            """Ask the writer."""
            return str(writer.invoke({"messages": [HumanMessage(task)]})["messages"][-1].text)

        boss = create_agent(
            ScriptedChatModel(script=decide),
            [search, write],
            middleware=[MemoryMiddleware(memory, share="rules", delegates={"write": "task"})],
            checkpointer=InMemorySaver(),
        )
        config: RunnableConfig = {"configurable": {"thread_id": "churn"}}
        for said in ASKED:
            out = boss.invoke({"messages": [HumanMessage(said)]}, config)
            print(f"user: {said}\nboss: {out['messages'][-1].text}\n")
        print("on the board, and no word of the boss's task:")
        board = memory.read_board(Board("churn"), thread=Thread(thread="churn"))
        print([rule.text for rule in board.constraints])


if __name__ == "__main__":
    main()
