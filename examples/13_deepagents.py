"""deepagents: rules reach every sub-agent through its tool `task`, with or without a memory; offline.

Needs deepagents: pip install deepagents

The one line is ``share="rules"`` in the middleware of the main agent. The auditor has the middleware too, and
keeps what it learns in a memory of its own. The two run at once.
"""

import tempfile
from typing import Any

from deepagents import create_deep_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from acc import MemoryController, MemoryMiddleware
from acc.testing.chat_model import ScriptedChatModel, call

ASKED = ("Never restart db-2. The checkout is slow.", "Have the fixer and the auditor look at it.")


def obey(prompt: list[BaseMessage]) -> AIMessage:
    """A stand-in for a sub-agent's model: it would restart the database unless a rule forbids it."""
    forbidden = "Never restart db-2" in "\n".join(str(m.text) for m in prompt)
    return AIMessage("I leave db-2 alone." if forbidden else "I have restarted db-2.")


def decide(prompt: list[BaseMessage]) -> AIMessage:
    """A stand-in for the main agent's model."""
    results = [str(m.text) for m in prompt if m.type == "tool"]
    if results:
        return AIMessage(" / ".join(results))
    if "Have the fixer" in str(prompt[-1].text):
        handed = [
            call("task", f"t-{name}", description="The checkout is slow.", subagent_type=name)
            for name in ("fixer", "auditor")
        ]
        return AIMessage("", tool_calls=handed)
    return AIMessage("Noted.")


def main() -> None:
    """Two turns; in the second both sub-agents work at once."""
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(folder) as memory:

        def sub_agent(name: str, middleware: list[MemoryMiddleware]) -> Any:
            return {
                "name": name,
                "description": f"the {name}",
                "system_prompt": f"You are the {name}.",
                "model": ScriptedChatModel(script=obey),
                "tools": [],
                "middleware": middleware,
            }

        agent = create_deep_agent(
            model=ScriptedChatModel(script=decide),
            tools=[],
            middleware=[MemoryMiddleware(memory, share="rules")],
            subagents=[
                sub_agent("fixer", []),
                sub_agent("auditor", [MemoryMiddleware(memory, share="rules")]),
            ],
            checkpointer=InMemorySaver(),
        )
        config: RunnableConfig = {"configurable": {"thread_id": "inc-7"}}
        for said in ASKED:
            out = agent.invoke({"messages": [HumanMessage(said)]}, config)
            print(f"user:  {said}\nagent: {out['messages'][-1].text}\n")


if __name__ == "__main__":
    main()
