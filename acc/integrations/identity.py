"""Whose memory a run works on: a `Thread` from what the run was configured with.

A run of an agent inside another graph has a memory of its own: a sub-agent that a tool calls, a
worker that `Send` starts, an agent of a swarm or of a supervisor. So no two runs write to one
thread at once, and a task that a model wrote for its sub-agent is no word of the user's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage, HumanMessage

from acc.errors import ConfigurationError, InputError
from acc.memory import whose
from acc.stores.protocol import Thread, nested_run

Config = Mapping[str, Any]
"""A `RunnableConfig`."""

Identify = Callable[[Config], Thread | str]
"""Tells a run's thread from its configuration. `langgraph.runtime.get_runtime()` works inside."""

USER_KEYS = ("langgraph_auth_user_id", "user_id")
"""Where the user stands in a run's ``configurable``: as a server authenticated it, else as the
caller names it."""

UNKNOWN = "default"
"""The user or agent of a thread for which none is known."""


@dataclass(frozen=True)
class Identity:
    """Reads a run's thread from its ``configurable``, which whoever calls the graph writes.

    The defaults trust the caller to name the conversation and the user. Where a server
    authenticates its callers, its own key comes first; or pass a function of the configuration
    that looks there alone.

    Attributes:
        thread: Key of the conversation.
        user: Key of the person or service the agent works for. None reads `USER_KEYS`, and a run
            that has neither works for nobody known: it shares nothing with other threads. A key
            that is named has to be there. Empty reads none.
        tenant: Key of the customer; empty for one alone.
        agent: Key of the agent; empty for the one that the run's place in the graph tells.
        default: Thread of a run that names none; empty makes that an error.
    """

    thread: str = "thread_id"
    user: str | None = None
    tenant: str = ""
    agent: str = ""
    default: str = ""

    def __call__(self, config: Config) -> Thread:
        """The thread of a run.

        Raises:
            ConfigurationError: The run does not say, and there is no default.
            InputError: An id is neither text, a number nor a UUID.
        """
        configured = config.get("configurable") or {}
        named = {
            part: _id(configured.get(key), key)
            for part in ("thread", "user", "tenant", "agent")
            if (key := getattr(self, part))
        }
        named["thread"] = named.get("thread") or self.default
        missing = [part for part, value in named.items() if not value]
        if missing:
            key = getattr(self, missing[0]) or missing[0]
            raise ConfigurationError(
                f"the run does not say whose memory it works on: no {key!r}",
                where="config['configurable']",
                hint=f'invoke with {{"configurable": {{"{key}": ...}}}}, or pass identity=Identity(default=...)',
            )
        if self.user is None:
            found = (_id(configured.get(key), key) for key in USER_KEYS)
            named["user"] = next((user for user in found if user), UNKNOWN)
        return Thread(**named)


def thread_of(config: Config, identify: Identify) -> Thread:
    """The thread that ``identify`` tells.

    Raises:
        ConfigurationError: It tells none.
    """
    found: Any = identify(config)
    if isinstance(found, Thread | str) and found:
        return whose(found)
    raise ConfigurationError(
        f"identity told {found!r}, which is no thread",
        where=f"identity={getattr(identify, '__name__', type(identify).__name__)}",
        hint="return a Thread, or the conversation's name",
    )


def owner(
    config: Config, identify: Identify, *, agent: str | None, messages: Sequence[BaseMessage] = (),
    bound_to: str = "",
) -> Thread:  # fmt: skip
    """The thread of a run, with the agent that it belongs to.

    Args:
        config: The run's.
        identify: Tells the conversation, the user, and the agent where the deployer names one.
        agent: The agent that the run's first look found, from the notes beside the state; None
            before there was one.
        messages: What the run was entered with: its first human message tells a nested run
            from others of the same agent, and makes it the same one when it is entered again.
        bound_to: `Thread.mark` in the state that stands in the run's channel. A conversation that
            began before its user was known, or before its agent was told apart, goes on as it is.

    Raises:
        ConfigurationError: The run names no thread.
    """
    base = thread_of(config, identify)
    if base.agent != UNKNOWN:
        return base
    named = agent if agent is not None else nested_agent(config, messages)
    thread = base.model_copy(update={"agent": named}) if named else base
    older = (base, *(t.model_copy(update={"user": UNKNOWN}) for t in (thread, base)))
    return next((t for t in (thread, *older) if t.owner_key == bound_to), thread)


def nested_agent(config: Config, messages: Sequence[BaseMessage]) -> str:
    """The agent of a run inside another graph; empty for a graph that nobody encloses.

    It is named after the agent (`create_agent(name=...)`) or the node that runs it. A subgraph that
    keeps checkpoints of its own is one agent for the whole conversation.
    """
    path = _enclosing(config)
    if not path:
        return ""
    metadata = config.get("metadata") or {}
    names = [name for name, _, _ in (part.partition(":") for part in path) if not name.isdigit()]
    name = str(metadata.get("lc_agent_name") or "/".join(names))
    if ":" not in path[-1] and not path[-1].isdigit():
        return name
    first = next((m.id for m in messages if isinstance(m, HumanMessage) and m.id), "|".join(path))
    return nested_run(name, hashlib.sha256(first.encode()).hexdigest()[:12])


_TRANSPARENT: ContextVar[str] = ContextVar("acc_transparent_namespace", default="")


@contextmanager
def transparent(config: Config) -> Iterator[None]:
    """In the block, a graph that is run inside this node is the conversation's own agent."""
    token = _TRANSPARENT.set(str((config.get("configurable") or {}).get("checkpoint_ns") or ""))
    try:
        yield
    finally:
        _TRANSPARENT.reset(token)


def _enclosing(config: Config) -> list[str]:
    """The tasks that enclose a run, outermost first, as its checkpoint namespace names them."""
    namespace = str((config.get("configurable") or {}).get("checkpoint_ns") or "")
    around, _, _ = namespace.rpartition("|")
    hidden = _TRANSPARENT.get()
    if hidden and (around == hidden or around.startswith(f"{hidden}|")):
        around = around[len(hidden) + 1 :]
    return around.split("|") if around else []


def _id(value: Any, key: str) -> str:
    """An id as text: 7 and "7" are the same, and so are a UUID and its text."""
    if value is None:
        return ""
    if isinstance(value, str | UUID) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise InputError(
        f"{key} is {type(value).__name__}",
        where="config['configurable']",
        hint="give text, a number or a UUID",
    )
