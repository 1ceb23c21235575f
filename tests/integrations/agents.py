"""Agents of `create_agent` with the memory among their middlewares, and what the memory kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from acc import InMemoryStore, MemoryController, Settings, Thread
from acc.memory import Memory
from acc.testing.chat_model import ScriptedChatModel, call

ROLE = "You are on call."
RULES_HEAD = "Never restart the database"
THREAD = {"configurable": {"thread_id": "inc-1"}}

Agent = Any
"""A compiled agent."""

Enter = Callable[[Agent, Any], dict[str, Any]]
"""Enters an agent with input and returns its result: synchronously or not."""


@tool
def read_logs(service: str) -> str:
    """The last lines of a service's log."""
    return f"{service}: pool exhausted at 12:04, 60 of 60 in use"


def new_memory(compressor: Any = None, **changed: Any) -> MemoryController:
    """A memory in memory."""
    return MemoryController(InMemoryStore(), compressor, Settings(**changed))


def new_agent(model: Any, middleware: Sequence[Any], **given: Any) -> Agent:
    """An agent with a checkpointer, the role and one tool."""
    tools = given.pop("tools", [read_logs])
    defaults = {"system_prompt": ROLE, "checkpointer": InMemorySaver()}
    return create_agent(model, tools, middleware=list(middleware), **{**defaults, **given})


def answering(*answers: str) -> ScriptedChatModel:
    """A model that only speaks, the same again from the first."""
    return ScriptedChatModel(script=list(answers), at_end="repeat")


def looking_up(calls: int = 1) -> ScriptedChatModel:
    """A model that calls its tool ``calls`` times for each message of the user, then answers."""

    made = count(1)

    def decide(_: list[BaseMessage]) -> AIMessage:
        place = next(made)
        if place % (calls + 1) == 0:
            return AIMessage(f"Answer {place // (calls + 1)}: the pool is exhausted.")
        asked = call("read_logs", f"c{place}", service=f"shard-{place}")
        return AIMessage("", tool_calls=[asked])

    return ScriptedChatModel(script=decide)


def say(agent: Agent, text: Any, config: Any = None) -> dict[str, Any]:
    """One turn of the user."""
    return agent.invoke({"messages": [HumanMessage(text)]}, config or THREAD)


def enter_sync(agent: Agent, given: Any) -> dict[str, Any]:
    """`Enter`, synchronously."""
    return agent.invoke(given, THREAD)


def enter_async(agent: Agent, given: Any) -> dict[str, Any]:
    """`Enter`, asynchronously."""
    return asyncio.run(agent.ainvoke(given, THREAD))


BOTH = (enter_sync, enter_async)


def evidence(memory: Memory, agent: Agent, config: Any = None) -> list[tuple[str, str]]:
    """Channel and text of every observation that the agent's state sees, in order."""
    config = config or THREAD
    state = memory.load(agent.get_state(config).values["ccs"])
    return evidence_on(memory, state.branch, config["configurable"]["thread_id"])


def evidence_on(
    memory: Memory, branch: str = "main", thread: str = "inc-1"
) -> list[tuple[str, str]]:
    """As `evidence`, on a branch."""
    with memory._lock:
        seen = memory._log_of(Thread(thread=thread)).branch(branch).artifacts
        return [(a.channel.value, a.text) for a in seen if a.kind == "observation"]


def spoken(prompt: Sequence[BaseMessage]) -> list[tuple[str, str]]:
    """Kind and text of a prompt's messages after the system message."""
    return [(m.type, str(m.text)) for m in prompt if m.type != "system"]


def system(prompt: Sequence[BaseMessage]) -> str:
    """The text of a prompt's system message."""
    return str(prompt[0].text) if prompt[0].type == "system" else ""
