"""The memory as the ``summarizer=`` of LangChain's own `SummarizationMiddleware`.

    SummarizationMiddleware(
        model,
        trigger=("tokens", 8_000),
        summarizer=MemorySummarizer(memory),
        trim_tokens_to_summarize=None,
    )

The middleware decides when to summarize, and which messages. The summary is the rendered state. What it replaces is in
the journal, rules stay word for word, and the next summary is the next state, not a summary of a summary. Without
``trim_tokens_to_summarize=None`` the middleware passes only the last 4,000 tokens, and the memory never sees the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AnyMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config

from acc.integrations.agent_memory import AgentMemory
from acc.integrations.identity import Identify, Owner, owner
from acc.integrations.leaving import ChannelValues, Passed
from acc.integrations.messages import as_messages
from acc.integrations.notes import Notes
from acc.integrations.prompting import LEGEND
from acc.integrations.stepping import Controller
from acc.state.render import render
from acc.turn.observations import Channel

NOTHING = "Nothing to carry on."
"""The summary of an empty state."""


class MemorySummarizer(AgentMemory, Runnable[list[AnyMessage], str]):
    """Commits the messages to summarize, and compresses them; the state is the summary."""

    def __init__(
        self,
        controller: Controller,
        *,
        identity: Identify | None = None,
        channels: Mapping[str, Channel] | None = None,
    ) -> None:
        """Set up the summarizer.

        Args:
            controller: The memory.
            identity: Finds the thread of a run; by default from its ``thread_id``.
            channels: Channel by tool name; a tool's result is a tool's by default.

        Raises:
            ConfigurationError: ``controller`` is not a memory.
        """
        super().__init__(
            controller, identity=identity, channels=channels, resume=True, state_key=""
        )

    def invoke(
        self, input: list[AnyMessage], config: RunnableConfig | None = None, **_: Any
    ) -> str:
        """Return the summary of ``input``: the state after it.

        Raises:
            ConfigurationError: The run names no thread, or the memory is asynchronous.
            PinnedOverflow: Rules and goals exceed their room. Everything else was committed.
            StoreError: The messages cannot be kept; nothing is summarized.
        """
        return self._summary(self._passed(*self._of(input, config), force=True))

    async def ainvoke(
        self, input: list[AnyMessage], config: RunnableConfig | None = None, **_: Any
    ) -> str:
        """Like `invoke`, without blocking the event loop."""
        return self._summary(await self._apassed(*self._of(input, config), force=True))

    def _of(
        self, messages: list[AnyMessage], config: RunnableConfig | None
    ) -> tuple[ChannelValues, Owner]:
        whole = ensure_config(config)
        given = ChannelValues(messages, None, Notes(key=self.key), whole)
        return given, owner(whole, self.identity, None, as_messages(messages))

    def _summary(self, passed: Passed | None) -> str:
        state = passed.state if passed is not None else None
        text = render(state, self.controller.policy.style) if state is not None else ""
        return f"{LEGEND}\n\n{text}" if text else NOTHING
