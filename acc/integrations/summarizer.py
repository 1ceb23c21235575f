"""The memory as the ``summarizer=`` of LangChain's own `SummarizationMiddleware`.

    SummarizationMiddleware(
        model,
        trigger=("tokens", 8_000),
        summarizer=MemorySummarizer(memory),
        trim_tokens_to_summarize=None,
    )

This is the smallest adoption step: the middleware still decides when to summarize, and which
messages. The summary is the Compressed Cognitive State. Replaced messages become evidence, rules
stay verbatim, and the next summary is the next state, not a summary of a summary. Without
``trim_tokens_to_summarize=None`` the middleware passes only the last 4,000 tokens, and the memory
never sees the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config

from acc.errors import ConfigurationError
from acc.integrations.delegation import with_tasks_marked
from acc.integrations.identity import Identify, Identity, owner, thread_of
from acc.integrations.messages import Voices, as_messages, is_summary, is_users, observed
from acc.integrations.stepping import Controller, astepped, check_controller, stepped, tell
from acc.pipeline.turn_pipeline import Step
from acc.state.model import ROOT, CompressedCognitiveState
from acc.state.render import with_legend
from acc.stores.protocol import Thread
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

SUMMARY = "summary"
"""Evidence name of a summary that this memory did not write; such a summary is a document."""


NOTHING = "Nothing to carry on."
"""The summary of an empty state."""


class MemorySummarizer(Runnable[list[AnyMessage], str]):
    """Commits the messages to summarize, turn by turn; the state is the summary."""

    def __init__(
        self,
        controller: Controller,
        *,
        identity: Identify | None = None,
        channels: Mapping[str, Channel] | None = None,
    ) -> None:
        """Set up the summarizer.

        Args:
            controller: The memory. It needs audit logs to find the state of the previous summary.
            identity: Finds the thread of a run; by default from its ``thread_id``.
            channels: Channel by tool name; a tool is a document by default.

        Raises:
            ConfigurationError: ``controller`` is not a memory, or keeps no audit logs.
        """
        check_controller(controller)
        if controller.settings.audit is None:
            raise ConfigurationError(
                "a memory without audit logs cannot summarise",
                where="MemorySummarizer",
                hint="open it with MemoryController.open(path), or give it audit=FOLDER",
            )
        self.controller = controller
        self.identity = identity or Identity()
        self.voices = replace(Voices.of(channels, None), redact=controller._redact)

    def invoke(
        self, input: list[AnyMessage], config: RunnableConfig | None = None, **_: Any
    ) -> str:
        """Return the summary of ``input``: the agent's view of the state after it.

        Raises:
            ConfigurationError: The run names no thread, or the memory is asynchronous.
            PinnedOverflow: Rules and goals alone exceed the limits.
            StoreError: The messages cannot be stored; nothing is summarized.
        """
        thread = owner(ensure_config(config), self.identity, agent=None)
        state, turns = self._plan(as_messages(input), thread, ensure_config(config))
        return self._summary(state, stepped(self.controller, state, turns, thread, config))

    async def ainvoke(
        self, input: list[AnyMessage], config: RunnableConfig | None = None, **_: Any
    ) -> str:
        """Like `invoke`, without blocking the event loop."""
        thread = owner(ensure_config(config), self.identity, agent=None)
        given = (as_messages(input), thread, ensure_config(config))
        state, turns = await self.controller._beside(thread, self._plan, *given)
        return self._summary(state, await astepped(self.controller, state, turns, thread, config))

    def _summary(self, state: CompressedCognitiveState | None, steps: Sequence[Step]) -> str:
        for step in steps:
            tell(step, self.controller.settings.policy)
        text = self._rendered(steps[-1].state if steps else state)
        return text if text == NOTHING else with_legend(text)

    def _rendered(self, state: CompressedCognitiveState | None) -> str:
        shown = self.controller.settings.policy.rendered(state) if state else ""
        return shown or NOTHING

    def _plan(
        self, messages: Sequence[BaseMessage], thread: Thread, config: RunnableConfig
    ) -> tuple[CompressedCognitiveState | None, list[Turn]]:
        """Return the state to continue from, and the turns to commit."""
        voices = replace(self.voices, agent=thread.agent)
        base = thread_of(config, self.identity)
        messages = with_tasks_marked(self.controller, config, base, messages, voices)
        summaries = [m for m in messages if is_summary(m)]
        turns = list(self._turns(messages))
        if not summaries:
            return self._unsummarised(turns, thread), turns
        text = str(summaries[-1].text)
        state = self._state_of(text, thread)
        if state is None:
            seen = Observation(channel=Channel.DOCUMENT, text=text, name=SUMMARY)
            turns.insert(0, Turn(observations=(seen,)))
        return state, turns

    def _turns(self, messages: Sequence[BaseMessage]) -> Iterator[Turn]:
        """Yield a turn per user message with the messages after it; earlier ones form another."""
        groups: list[list[BaseMessage]] = []
        for message in messages:
            if not groups or is_users(message, self.voices):
                groups.append([])
            groups[-1].append(message)
        for group in groups:
            if observations := observed(group, self.voices):
                yield Turn(observations=observations)

    def _state_of(self, summary: str, thread: Thread) -> CompressedCognitiveState | None:
        """Return the state that ``summary`` shows: usually the last; an older one after a fork."""
        last = self.controller.last_state(thread)
        if last is None or self._rendered(last) in summary:
            return last
        audit = self.controller._audit_of(thread)
        records = reversed([*audit.records()]) if audit is not None else ()
        states = map(self.controller._from_log, records)
        return next((s for s in states if self._rendered(s) in summary), None)

    def _unsummarised(
        self, turns: Sequence[Turn], thread: Thread
    ) -> CompressedCognitiveState | None:
        """Return None if these messages begin the thread, for the first time or again.

        Otherwise the previous summary was trimmed away, and the thread continues.
        """
        last = self.controller.last_state(thread)
        if last is None or not turns:
            return last
        first = turns[0].observations[0].identity[:32]
        with self.controller._locked_log(thread) as log:
            begun = log.branch(ROOT).at_turn(1)
        return None if any(a.identity[:32] == first for a in begun) else last
