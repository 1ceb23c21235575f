"""Tell the user's words from the tasks that agents give to sub-agents.

A sub-agent reads its task as a human message, like the words of a user. The memory marks such a
message with the agent that it is for. A marked message is the words of an agent: in the sub-agent's
memory, where it opens a turn, and in any other memory that the message comes to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage

from acc.integrations.identity import TOOLS, Config, enclosing_nodes, within
from acc.integrations.messages import Voices, is_users, task_for, with_task_mark
from acc.memory import Memory
from acc.state.model import ROOT
from acc.stores.protocol import Thread


class Caller(NamedTuple):
    """The agent whose tool is running.

    Attributes:
        root: The thread of the conversation at the top.
        users: Ids of the user's messages that it holds.
        added: What the memory added to the task. An agent that reads it from the board does not
            read it in the task as well.
    """

    root: Thread
    users: frozenset[str]
    added: str = ""


_CALLER: ContextVar[Caller | None] = ContextVar("acc_caller", default=None)


def calling(caller: Caller) -> AbstractContextManager[Caller]:
    """Run a tool for ``caller``: what starts in the block is its sub-agent."""
    return within(_CALLER, caller)


def caller() -> Caller | None:
    """Return the agent whose tool started this run, if that agent has the middleware."""
    return _CALLER.get()


def is_called(config: Config) -> bool:
    """Return whether the tool of an agent started this run."""
    return caller() is not None or TOOLS in enclosing_nodes(config)


def with_tasks_marked(
    memory: Memory, config: Config, base: Thread, messages: Sequence[BaseMessage], voices: Voices,
    told: Callable[[Collection[str]], set[str]] | None = None,
) -> list[BaseMessage]:  # fmt: skip
    """Return ``messages`` with a mark on each task that another agent wrote for this run.

    ``base`` is the thread of the conversation, without the run's agent. ``told`` returns the ids of messages
    that other agents put on the conversation's board; None if the agent shares none.

    Raises:
        StoreError: The store cannot be read.
    """
    heard = [m for m in messages if isinstance(m, HumanMessage) and not task_for(m)]
    above = caller()
    if not heard or (above is None and not enclosing_nodes(config)):
        return list(messages)
    users = {m.id for m in heard if is_users(m, voices)}
    added = above.added if above is not None and told is not None else ""
    if is_called(config):
        users &= above.users if above is not None else frozenset()
    elif _is_apart(memory, base, messages):
        users = set()
    if users and told is not None:
        users -= told({str(i) for i in users})
    # The user's words open a turn. Without any, the other words addressed to the agent do.
    others = {m.id for m in heard if m.id not in users and (not users or is_users(m, voices))}
    return [
        with_task_mark(_without(m, added), voices.agent) if m.id in others else m for m in messages
    ]


def _is_apart(memory: Memory, base: Thread, messages: Sequence[BaseMessage]) -> bool:
    """Return whether the conversation has a memory of its own that knows none of ``messages``.

    Then a node of its graph wrote them, as for a worker of `Send`.
    """
    last = memory.last_state(base)
    names = dict.fromkeys((ROOT, last.branch) if last is not None else (ROOT,))
    with memory._locked_log(base) as log:
        known: list[Mapping[str, int]] = [log.branch(name).messages for name in names]
    return any(known) and not any(m.id in ids for m in messages for ids in known)


def _without(message: BaseMessage, added: str) -> BaseMessage:
    """Return a task without what the caller's memory added to it."""
    if not (added and isinstance(message.content, str)):
        return message
    return message.model_copy(update={"content": message.content.removesuffix(added)})
