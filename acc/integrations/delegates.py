"""What an agent's tool hands to a sub-agent: the task with the board, and none of the caller's state."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from acc.integrations.delegation import Caller, caller
from acc.integrations.identity import Identify, thread_of
from acc.integrations.messages import Voices, as_messages, is_users, task_for
from acc.integrations.sharing import Sharing
from acc.stores.protocol import Thread

OWN_CHANNELS = frozenset({"ccs", "ccs_run"})
"""Channels that are not handed to a sub-agent."""

DELEGATES: Mapping[str, str] = {"task": "description"}
"""Tools that run a sub-agent, with the argument that holds its task: the one of deepagents."""


class Delegates:
    """The tools of an agent that run a sub-agent."""

    def __init__(
        self, tools: Mapping[str, str], voices: Voices, identity: Identify, sharing: Sharing | None
    ) -> None:
        """Know ``tools``: the argument that holds the task, by the tool's name."""
        self._tools = dict(tools)
        self._voices = voices
        self._identity = identity
        self._sharing = sharing

    def caller(self, request: Any, thread: Thread, written: Collection[str]) -> Caller:
        """Return who calls, for the sub-agent; a middleware has ``written`` the messages of these ids.

        Raises:
            StoreError: The board cannot be read.
        """
        config, above = request.runtime.config, caller()
        messages = as_messages(request.state["messages"])
        users = (m.id for m in messages if is_users(m, self._voices) and not task_for(m))
        return Caller(
            above.root if above is not None else thread_of(config, self._identity),
            frozenset(str(i) for i in users if i not in written),
            self._added(request, thread),
        )

    def handed(self, request: Any, who: Caller) -> Any:
        """Return the request of a sub-agent's tool: with the board, without the caller's own channels."""
        call, key = request.tool_call, self._task_key(request)
        if not key:
            return request
        task, args = call["args"].get(key), call["args"]
        if isinstance(task, str) and who.added:
            args = {**args, key: task + who.added}
        state = {k: v for k, v in request.state.items() if k not in OWN_CHANNELS}
        runtime = replace(request.runtime, state=state)  # not every version of LangChain's does so
        return request.override(state=state, runtime=runtime, tool_call={**call, "args": args})

    def _added(self, request: Any, thread: Thread) -> str:
        """Return what the task says of the board."""
        if self._sharing is None or not self._task_key(request):
            return ""
        return self._sharing.of_run(request.runtime.config, self._identity, thread).for_task()

    def _task_key(self, request: Any) -> str:
        """Return the argument that holds a sub-agent's task; empty for another tool."""
        return self._tools.get(request.tool_call["name"], "")
