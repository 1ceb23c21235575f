"""The memory as a server of the Model Context Protocol (MCP), for any client that speaks it.

It needs the extra ``mcp``. ``acc mcp`` starts it; docs/mcp.md says how to set it up. What stands here is what the
deployer decides: no argument of a tool changes any of it.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from acc.errors import ConfigurationError, InputError
from acc.journal import ThreadKey
from acc.journal.names import is_home
from acc.turn.observations import Channel

LONGEST_NAME = 200
"""Maximum characters of a thread's name that a client gives."""

_FIX = f"use 1 to {LONGEST_NAME} characters on one line, such as project-x"


@dataclass(frozen=True)
class Serving:
    """Whose memory a server serves, and what its client may do.

    Attributes:
        speaks_for: The channel of everything that the client stores. Only ``Channel.USER`` can make rules.
        user, agent, tenant: Whose threads are served; empty for threads without one.
        thread: The only thread that is served; empty lets the client name the thread.

    Raises:
        ConfigurationError: The channel is the operator's, or a name is malformed.
    """

    speaks_for: Channel = Channel.AGENT
    user: str = ""
    agent: str = ""
    tenant: str = ""
    thread: str = ""

    def __post_init__(self) -> None:
        if self.speaks_for is Channel.OPERATOR:
            what = "no client speaks for the operator"
            hint = "choose user, agent, tool or document; operators use acc"
            raise ConfigurationError(what, where="speaks_for", hint=hint)
        for name in ("user", "agent", "tenant", "thread"):
            given = getattr(self, name)
            if given and (fault := _fault(given)):
                raise ConfigurationError(f"the name {fault}", where=name, hint=_FIX)

    def whose(self, name: str) -> ThreadKey:
        """Return the thread that a client names.

        Raises:
            InputError: The name is empty or malformed, or another thread than the served one.
        """
        if fault := _fault(name):
            raise InputError(f"the thread's name {fault}", where="thread", hint=_FIX)
        if self.thread and name != self.thread:
            what = "this server serves one thread only"
            raise InputError(what, where="thread", hint=f"use {self.thread!r}")
        return ThreadKey(name, self.tenant, self.user, self.agent)


def _fault(name: str) -> str:
    """Say what is wrong with a name; empty if nothing."""
    if not name.strip():
        return "is empty"
    if len(name) > LONGEST_NAME:
        return f"has {len(name):,} characters"
    if any(unicodedata.category(each) in ("Cc", "Cs") for each in name):
        return "has control characters"
    return "is that of the documents" if is_home(ThreadKey(name)) else ""
