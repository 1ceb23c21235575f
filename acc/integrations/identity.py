"""Whose memory a run works on: a `Thread` from what the run was configured with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from acc.errors import ConfigurationError, InputError
from acc.memory import whose
from acc.store import Thread

Config = Mapping[str, Any]
"""A `RunnableConfig`."""

Identify = Callable[[Config], Thread | str]
"""Tells a run's thread from its configuration. `langgraph.runtime.get_runtime()` works inside."""


@dataclass(frozen=True)
class Identity:
    """Reads a run's thread from its ``configurable``, which whoever calls the graph writes.

    So only the conversation is read from there by default. Name more keys where the caller is
    trusted to say who the user is; where a server authenticates them, pass a function of the
    configuration that looks there instead.

    Attributes:
        thread: Key of the conversation.
        user: Key of the person or service the agent works for; empty for one alone.
        tenant: Key of the customer; empty for one alone.
        agent: Key of the agent; empty for one alone.
        default: Thread of a run that names none; empty makes that an error.
    """

    thread: str = "thread_id"
    user: str = ""
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
                mend=f'invoke with {{"configurable": {{"{key}": ...}}}}, or pass identity=Identity(default=...)',
            )
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
        mend="return a Thread, or the conversation's name",
    )


def _id(value: Any, key: str) -> str:
    """An id as text: 7 and "7" are the same, and so are a UUID and its text."""
    if value is None:
        return ""
    if isinstance(value, str | UUID) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise InputError(
        f"{key} is {type(value).__name__}",
        where="config['configurable']",
        mend="give text, a number or a UUID",
    )
