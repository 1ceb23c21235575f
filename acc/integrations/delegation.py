"""Tell the user's words from the tasks that agents give to sub-agents.

A sub-agent reads its task as a human message, like the words of a user. In its memory a task is an agent's words: it
binds nobody as a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import NamedTuple

from langchain_core.messages import BaseMessage, HumanMessage

from acc.integrations.identity import TOOLS, Config, enclosing_nodes, within
from acc.journal import ThreadKey


class Caller(NamedTuple):
    """The agent whose tool is running.

    Attributes:
        root: The thread of the conversation at the top.
        thread: Its own thread.
        branch: The branch of its state.
        users: Ids of the user's messages that it holds.
    """

    root: ThreadKey
    thread: ThreadKey
    branch: str
    users: frozenset[str]


_CALLER: ContextVar[Caller | None] = ContextVar("acc_caller", default=None)


def calling(caller: Caller) -> AbstractContextManager[Caller]:
    """Run a tool for ``caller``: what starts in the block is its sub-agent."""
    return within(_CALLER, caller)


def caller() -> Caller | None:
    """Return the agent whose tool started this run, if that agent has the middleware."""
    return _CALLER.get()


def is_nested(config: Config) -> bool:
    """Return whether another graph or a tool started this run."""
    return caller() is not None or bool(enclosing_nodes(config))


def tasks_of(
    heard: Sequence[BaseMessage],
    config: Config,
    knows: Callable[[Sequence[BaseMessage]], bool | None],
    told: Callable[[Collection[str]], set[str]] | None = None,
) -> frozenset[str]:
    """Return the ids of the human messages that another agent wrote for this run.

    Args:
        heard: The run's human messages whose writer is not known yet.
        config: The run's configuration.
        knows: Whether the conversation at the top has taken one of them; None if it has no memory.
        told: Which of them other agents have put on the board: they are no news from the user.
    """
    if not heard or not is_nested(config):
        return frozenset()
    users = {str(m.id) for m in heard}
    above = caller()
    if above is not None or TOOLS in enclosing_nodes(config):
        users &= above.users if above is not None else frozenset()
    elif knows(heard) is False:  # a node of the graph wrote them, as for a worker of `Send`
        users = set()
    if users and told is not None:
        users -= told(users)
    return frozenset(str(m.id) for m in heard) - users


def misplaced(messages: Sequence[BaseMessage]) -> frozenset[str]:
    """Return the ids of human messages that no run can have been given last: they do not stand at the end.

    What the user writes stands there when it is first seen, unless it takes the place of other words. A tool writes
    anywhere.
    """
    last = max((i for i, m in enumerate(messages) if m.type in ("ai", "tool")), default=-1)
    return frozenset(str(m.id) for m in messages[: last + 1] if isinstance(m, HumanMessage))
