"""What a process of a test does with an agent of `create_agent` and the memory in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from runs import Killer, Texts, config_of, given, observed

from acc.controller.controller import MemoryController
from acc.integrations.langchain import MemoryMiddleware
from acc.state.render import render
from acc.testing.chat_model import ScriptedChatModel, call
from acc_graphs.deployment import deployed

SAID = ("Never restart the database. Look at shard 1.", "Look at shard 2.", "And shard 3?")


@tool
def read_shard(n: str) -> str:
    """The log of a shard."""
    return f"shard {n}: pool exhausted"


def looking(prompt: list[BaseMessage]) -> AIMessage:
    """A script that reads the log of the shard it was asked about, then answers."""
    last = prompt[-1]
    if isinstance(last, ToolMessage):
        return AIMessage(f"It is the pool: {last.text}")
    shard = str(last.text).split("shard ")[-1].strip(".?")
    return AIMessage("", tool_calls=[call("read_shard", f"c{shard}", n=shard)])


@contextmanager
def opened(where: tuple[str, str]) -> Iterator[tuple[Any, MemoryController[Any]]]:
    """The agent, on the memory and the checkpoints of a folder."""
    with deployed(*where) as parts:
        memory, model = parts["memory"], ScriptedChatModel(script=looking)
        options: Any = {
            "middleware": [MemoryMiddleware(memory)],
            "checkpointer": parts["checkpointer"],
        }
        yield create_agent(model, [read_shard], **options), memory


def die_in(where: tuple[str, str], node: str, skip: int, durability: Any) -> None:
    """A turn, and another one that is killed in ``node``, once it was passed ``skip`` times."""
    with opened(where) as (agent, _):
        agent.invoke(given(SAID[0]), config_of("t"), durability=durability)
        config = config_of("t")
        config["callbacks"] = [Killer(node, skip)]
        agent.invoke(given(SAID[1]), config, durability=durability)


def go_on(where: tuple[str, str], durability: Any) -> tuple[Texts, str, str]:
    """Resume what can be resumed, send again what cannot, and go on for a turn."""
    with opened(where) as (agent, memory):
        config = config_of("t")
        lost = not agent.get_state(config).tasks
        agent.invoke(given(SAID[1]) if lost else None, config, durability=durability)
        return _told(memory, agent.invoke(given(SAID[2]), config, durability=durability))


def go_on_with_new_input(where: tuple[str, str], durability: Any) -> tuple[Texts, str, str]:
    """Resume nothing: the user says something else, as in a chat window that was reloaded."""
    with opened(where) as (agent, memory):
        return _told(memory, agent.invoke(given(SAID[2]), config_of("t"), durability=durability))


def uninterrupted(where: tuple[str, str]) -> tuple[Texts, str, str]:
    """The same three turns, and nobody killed."""
    with opened(where) as (agent, memory):
        for said in SAID:
            out = agent.invoke(given(said), config_of("t"))
        return _told(memory, out)


def _told(memory: MemoryController[Any], out: dict[str, Any]) -> tuple[Texts, str, str]:
    state = memory.policy.schema.load(out["ccs"])
    return observed(memory, out["ccs"], "t"), render(state), state.branch
