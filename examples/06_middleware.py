"""`create_agent` with the memory as a middleware, beside LangChain's own; offline, model scripted.

The scripted model decides from the prompt it is given: it refuses to restart the database
because the rule of turn 1 stands in its prompt, although that turn has left it.
"""

import tempfile

from langchain.agents import create_agent
from langchain.agents.middleware import PIIMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from acc.controller.controller import MemoryController
from acc.integrations.langchain import MemoryMiddleware
from acc.state.render import render
from acc.testing.chat_model import ScriptedChatModel, call

ASKED = (
    "Never restart the database without my word. Why is checkout slow? Write to ann@example.com.",
    "And what does the pool say?",
    "Would restarting the database help?",
)


@tool
def read_logs(service: str) -> str:
    """The last lines of a service's log."""
    return f"{service}: pool exhausted at 12:04, 60 of 60 connections in use"


def decide(prompt: list[BaseMessage]) -> AIMessage:
    """A stand-in for a chat model: calls a tool, then answers from what its prompt says."""
    system, last = str(prompt[0].text), prompt[-1]
    if "restarting" in str(last.text):
        forbidden = "Never restart the database" in system
        return AIMessage(
            "Not without your word, as you said." if forbidden else "Restarting it now."
        )
    if isinstance(last, ToolMessage):
        return AIMessage(f"The log says: {last.text}")
    return AIMessage("", tool_calls=[call("read_logs", service="checkout")])


def main() -> None:
    """Three turns on one thread."""
    model = ScriptedChatModel(script=decide)
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(folder) as memory:
        agent = create_agent(
            model,
            [read_logs],
            system_prompt="You are the on-call agent.",
            middleware=[
                PIIMiddleware("email"),  # what redacts stands before the memory
                MemoryMiddleware(memory),
            ],
            checkpointer=InMemorySaver(),
        )
        config: RunnableConfig = {"configurable": {"thread_id": "inc-4211"}}
        for said in ASKED:
            out = agent.invoke({"messages": [HumanMessage(said)]}, config)
            print(f"user:  {said}\nagent: {out['messages'][-1].text}\n")
        state = memory.last_state("inc-4211")
        assert state is not None
        print(render(state))
        print(f"\nmessages in the last prompt: {len(model.prompts[-1])}")
        print("stored of turn 1:", memory.open_evidence("u1", thread="inc-4211").text)


if __name__ == "__main__":
    main()
