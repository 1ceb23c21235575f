"""Whose memory a run works on, by its configuration, and which words another agent wrote for it.

An agent that runs inside another graph has its own memory: a sub-agent called by a tool, a worker started by `Send`,
an agent of a swarm or a supervisor. A sub-agent reads its task as a human message; in its memory a task is an agent's
words, and binds nobody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from langchain_core.messages import BaseMessage, HumanMessage

from acc.errors import ConfigurationError, InputError
from acc.journal import ThreadKey

Config = Mapping[str, Any]
"""A `RunnableConfig`."""

Identify = Callable[[Config], ThreadKey | str]
"""Returns a run's thread for its configuration. It may call `langgraph.runtime.get_runtime()`."""

USER_KEYS = ("langgraph_auth_user_id", "user_id")
"""Keys of the user in a run's ``configurable``: set by an authenticating server, then by the caller."""

ANEW = "~"
"""Stands in an agent's name before the mark of a conversation that went back to before its first turn."""

TOOLS = "tools"
"""Name of the node that runs tools: in `create_agent`, and by default in `ToolNode`."""

CHECKPOINTER = "__pregel_checkpointer"
"""LangGraph's key of a run's checkpointer in its ``configurable``; absent in a graph without one."""

UNKNOWN = ""
"""The user or agent of a thread for which none is known."""


@dataclass(frozen=True)
class Identity:
    """Reads a run's thread from its ``configurable``, which the graph's caller writes.

    The defaults trust the caller to name the conversation and the user. A key set by an authenticating server takes
    precedence. To trust only that key, pass a function of the configuration instead.

    Attributes:
        thread: Key of the conversation.
        user: Key of the person or service that the agent works for. None reads `USER_KEYS`; a run with neither key has
            an unknown user. A key named here is required. The empty string reads no key.
        tenant: Key of the customer; empty for a single tenant.
        agent: Key of the agent; empty to derive it from the run's place in the graph.
        default: Thread of a run that names none; empty makes that an error.
    """

    thread: str = "thread_id"
    user: str | None = None
    tenant: str = ""
    agent: str = ""
    default: str = ""

    def __call__(self, config: Config) -> ThreadKey:
        """Return the thread of a run.

        Raises:
            ConfigurationError: A required key is missing, and there is no default.
            InputError: An id is not text, a number or a UUID.
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
        return ThreadKey(**named)


def thread_of(config: Config, identify: Identify) -> ThreadKey:
    """Return the thread that ``identify`` finds."""
    found: Any = identify(config)
    if isinstance(found, ThreadKey | str) and found:
        return found if isinstance(found, ThreadKey) else ThreadKey(found)
    raise ConfigurationError(
        f"identity told {found!r}, which is no thread",
        where=f"identity={getattr(identify, '__name__', type(identify).__name__)}",
        hint="return a ThreadKey, or the conversation's name",
    )


class Owner(NamedTuple):
    """Whose memory a run works on.

    Attributes:
        thread: The thread.
        is_own: Whether the state and the notes in the run's channels are this thread's; not if a parent graph handed
            its own down.
        user: The run's user; empty if unknown. A guest's is another than the thread's.
    """

    thread: ThreadKey
    is_own: bool = True
    user: str = ""

    @property
    def is_guest(self) -> bool:
        """Whether somebody else than the thread's user speaks."""
        return self.user != self.thread.user


def owner(
    config: Config,
    identify: Identify,
    noted: ThreadKey | None,
    messages: Sequence[BaseMessage] = (),
) -> Owner:
    """Return whose memory a run works on.

    Args:
        config: The run's configuration.
        identify: Finds the conversation, the user, and the agent if the deployer names one.
        noted: The thread that an earlier pass noted. A conversation stays on it if another user joins, or if its user
            becomes known later.
        messages: The run's input, which distinguishes a nested run from other runs of the same agent.
    """
    base = thread_of(config, identify)
    name = base.agent or nested_agent(config, messages)
    thread = replace(base, agent=name)
    if noted is None:
        return Owner(thread, user=base.user)
    is_same = (noted.thread, noted.tenant) == (base.thread, base.tenant)
    if is_same and _agent_of(noted.agent) == _agent_of(name):
        return Owner(noted, user=base.user)
    return Owner(thread, is_own=not enclosing_nodes(config), user=base.user)


def _agent_of(name: str) -> str:
    """Return an agent's name without its run and without `ANEW`."""
    return name.partition("#")[0].partition(ANEW)[0]


def nested_agent(config: Config, messages: Sequence[BaseMessage]) -> str:
    """Return the agent of a run inside another graph; empty for a top-level graph.

    The name is that of the agent (`create_agent(name=...)`) or of the node that runs it. A subgraph with its own
    checkpoints is one agent for the whole conversation.
    """
    path, names = _enclosing(config), enclosing_nodes(config)
    if not path:
        return ""
    name = str((config.get("metadata") or {}).get("lc_agent_name") or "/".join(names))
    if ":" not in path[-1] and not path[-1].isdigit():
        return name
    heard = [m.id for m in messages if isinstance(m, HumanMessage) and m.id]
    # A tool's run ends with its task; the messages before it may be the caller's, as in a fork of it.
    entry = next(iter(heard[-1:] if TOOLS in names else heard), "|".join(path))
    return f"{name}#{hashlib.sha256(entry.encode()).hexdigest()[:12]}"


def saver_of(config: Config) -> Any:
    """Return a run's checkpointer; None if it has none."""
    found = (config.get("configurable") or {}).get(CHECKPOINTER)
    return None if isinstance(found, bool) else found


def enclosing_nodes(config: Config) -> list[str]:
    """Return the nodes that a run is nested in, outermost first; none at the top."""
    names = (part.partition(":")[0] for part in _enclosing(config))
    return [name for name in names if not name.isdigit()]


def _enclosing(config: Config) -> list[str]:
    around, _, _ = namespace(config).rpartition("|")
    return around.split("|") if around else []


def namespace(config: Config) -> str:
    """Return a run's place in its graph, as its checkpoints name it: the outer tasks first, "|" between."""
    return str((config.get("configurable") or {}).get("checkpoint_ns") or "")


def _id(value: Any, key: str) -> str:
    """Convert an id to text: 7 and "7" are the same id, as are a UUID and its text."""
    if value is None:
        return ""
    if isinstance(value, str | UUID) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise InputError(
        f"{key} is {type(value).__name__}",
        where="config['configurable']",
        hint="give text, a number or a UUID",
    )


class Caller(NamedTuple):
    """The agent whose tool is running: the thread at the top, its own thread and branch, and the ids of the user's
    messages that it holds."""

    root: ThreadKey
    thread: ThreadKey
    branch: str
    users: frozenset[str]


_CALLER: ContextVar[Caller | None] = ContextVar("acc_caller", default=None)


@contextmanager
def calling(above: Caller) -> Iterator[None]:
    """Run a tool for ``above``: what starts in the block is its sub-agent."""
    token = _CALLER.set(above)
    try:
        yield
    finally:
        _CALLER.reset(token)


def caller() -> Caller | None:
    """Return the agent whose tool started this run, if that agent has the middleware."""
    return _CALLER.get()


def misplaced(messages: Sequence[BaseMessage]) -> frozenset[str]:
    """Return the ids of human messages that no run can have been given last: they do not stand at the end.

    What the user writes stands there when it is first seen, unless it takes the place of other words. A tool writes
    anywhere.
    """
    last = max((i for i, m in enumerate(messages) if m.type in ("ai", "tool")), default=-1)
    return frozenset(str(m.id) for m in messages[: last + 1] if isinstance(m, HumanMessage))
