"""What the node and the middleware share: the memory of a run's agent, and the state that a run goes on from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage

from acc.board import Board
from acc.integrations.compaction import Compaction
from acc.integrations.delegation import with_tasks_marked
from acc.integrations.identity import Config, Identify, Identity, thread_of
from acc.integrations.messages import Voices
from acc.integrations.past import state_after
from acc.integrations.sharing import Share, Shared, Sharing
from acc.integrations.stepping import (
    Controller,
    HeldStates,
    Prior,
    check_controller,
    check_own,
    hash_of,
    last_committed,
    tell,
)
from acc.operators import with_operator_acts
from acc.pipeline.turn_pipeline import Step
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Thread
from acc.turn.observations import Trust


class AgentMemory:
    """The memory of an agent in a graph: its controller, its identity, its states and its board."""

    def __init__(
        self,
        controller: Controller,
        voices: Voices,
        *,
        identity: Identify | None,
        fold_over: int | None,
        reply_chars: int = 0,
        adopt: Trust | None,
        resume: bool,
        tell_time: bool,
        share: Share | Board | None,
    ) -> None:
        check_controller(controller)
        settings = controller.settings
        self.controller = controller
        self.identity = identity or Identity()
        self.adopt = adopt
        self.resume = resume
        self.sharing = Sharing(controller, share) if share is not None else None
        voices = replace(voices, redact=controller._redact)
        self.compaction = Compaction(voices, fold_over, settings.policy.counter, reply_chars)
        self.held = HeldStates(settings.policy, adopt, settings.clock if tell_time else None)

    def _shared(self, config: Config, thread: Thread) -> Shared | None:
        """Return the board of a run; None if the agent shares none."""
        if self.sharing is None:
            return None
        return self.sharing.of_run(config, self.identity, thread)

    def _rendered(self, own: CompressedCognitiveState, shared: Shared | None) -> str:
        """Return what the model reads: the board, then its ``own`` state."""
        if shared is None:
            return self.held.rendered(own)
        return self.held.rendered(own, shared.beside)

    def _marked(
        self, config: Config, messages: Sequence[BaseMessage], voices: Voices, shared: Shared | None
    ) -> list[BaseMessage]:
        """Return a run's messages with a mark on each task that another agent wrote for it."""
        base, told = thread_of(config, self.identity), shared and shared.told
        return with_tasks_marked(self.controller, config, base, messages, voices, told)

    def _prior(
        self, raw: Any, progress: Any, thread: Thread, messages: Sequence[Any], channel: str
    ) -> Prior:
        """Return the state to go on from: ``raw``, that of the ``channel``, or the thread's; with operators' acts.

        The commit ``progress`` was written with the state in the channel.
        """
        check_own(raw, progress, thread, channel)
        committed = last_committed(self.controller, thread)
        prior = self.held.load(raw, progress, committed=committed)
        if prior is None and progress is None:
            prior = state_after(self.controller, self.held, thread, messages, resume=self.resume)
        if prior is None and self.resume:
            prior = self._last_state(thread)
        self.held.check_left(prior, progress)
        return with_operator_acts(self.controller, prior, thread) if prior is not None else None

    def _last_state(self, thread: Thread) -> Prior:
        return self.controller.last_state(thread)

    def _news(self, raw: Any, after: Prior, steps: Sequence[Step]) -> dict[str, Any] | None:
        """Return the state ``after`` the steps for its channel; None if ``raw`` in the channel is that state."""
        if after is None or hash_of(raw) == after.hash:
            return None
        return self.held.canonical(after, steps[-1].commit if steps else None)

    def _tell(self, steps: Sequence[Step]) -> None:
        """Send the events of the steps to the stream."""
        for step in steps:
            tell(step, self.controller.settings.policy)
