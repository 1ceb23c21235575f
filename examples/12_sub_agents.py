"""Sub-agents, called by tools and by deepagents, which obey the user's rules; offline, models scripted.

The main agent has the memory with ``share="rules"``, and ``to="all"``: what the user says is said to all agents. Each
sub-agent has it too, and so reads the rules (pip install deepagents).
"""

import tempfile
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from acc.controller.controller import MemoryController
from acc.integrations.langchain import MemoryMiddleware
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
        return AIMessage("", tool_calls=[call("search", task="Why do they leave?")])
    if "Write" in str(last.text):
        return AIMessage("", tool_calls=[call("write", task="A memo on churn.")])
    return AIMessage("Noted.")


def called_by_tools(memory: MemoryController[Any]) -> None:
    """Three turns; the sub-agents run in the second and the third."""
    searcher, writer = (
        create_agent(
            ScriptedChatModel(script=obey), [], middleware=[MemoryMiddleware(memory, share="rules")]
        )
        for _ in range(2)
    )

    @tool
    def search(task: str) -> str:
        """Ask the searcher."""
        return str(searcher.invoke({"messages": [HumanMessage(task)]})["messages"][-1].text)

    @tool
    def write(task: str) -> str:
        """Ask the writer."""
        return str(writer.invoke({"messages": [HumanMessage(task)]})["messages"][-1].text)

    sharing = MemoryMiddleware(memory, share="rules", to="all")
    boss = create_agent(
        ScriptedChatModel(script=decide), [search, write], middleware=[sharing],
        checkpointer=InMemorySaver(),
    )  # fmt: skip
    converse(boss, "churn", ASKED)


def deal(prompt: list[BaseMessage]) -> AIMessage:
    """A stand-in for a deep agent's model: it hands the same task to two sub-agents at once."""
    results = [str(m.text) for m in prompt if m.type == "tool"]
    if results:
        return AIMessage(" / ".join(results))
    if "Have both" in str(prompt[-1].text):
        handed = [
            call("task", f"t-{name}", description="Why do they leave?", subagent_type=name)
            for name in ("analyst", "auditor")
        ]
        return AIMessage("", tool_calls=handed)
    return AIMessage("Noted.")


def of_deepagents(memory: MemoryController[Any]) -> None:
    """Two turns; in the second both sub-agents work at once."""
    from deepagents import create_deep_agent

    def sub_agent(name: str) -> Any:
        return {
            "name": name, "description": f"the {name}", "system_prompt": f"You are the {name}.",
            "model": ScriptedChatModel(script=obey), "tools": [],
            "middleware": [MemoryMiddleware(memory, share="rules")],
        }  # fmt: skip

    agent = create_deep_agent(
        model=ScriptedChatModel(script=deal),
        tools=[],
        middleware=[MemoryMiddleware(memory, share="rules", to="all")],
        subagents=[sub_agent("analyst"), sub_agent("auditor")],
        checkpointer=InMemorySaver(),
    )
    converse(agent, "churn-2", (ASKED[0], "Have both look at it."))


def converse(agent: Any, thread: str, asked: tuple[str, ...]) -> None:
    """Say one thing after the other, and print the answers."""
    config: RunnableConfig = {"configurable": {"thread_id": thread}}
    for said in asked:
        out = agent.invoke({"messages": [HumanMessage(said)]}, config)
        print(f"user:  {said}\nagent: {out['messages'][-1].text}\n")


def main() -> None:
    """Sub-agents that tools call, then those of deepagents."""
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(folder) as memory:
        called_by_tools(memory)
        of_deepagents(memory)


if __name__ == "__main__":
    main()
