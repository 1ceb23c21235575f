"""A `MemoryNode` that commits behind the model: ``after``, the order of the paper's section 3.3.

    with MemoryController.open("./memory", model="openai:NAME") as memory:
        with BackgroundMemory(memory) as background:
            builder.add_node("memory", BackgroundMemoryNode(background))

The turn is stored, and the model answers at once; what a compressor makes of it is joined at the
next pass.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

from acc.background import AsyncBackgroundMemory, BackgroundMemory
from acc.background.entries import shown
from acc.errors import ConfigurationError
from acc.integrations.langgraph import MemoryNode
from acc.integrations.stepping import HeldStates, tell
from acc.pipeline.turn_pipeline import Step
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Thread


class BackgroundMemoryNode(MemoryNode):
    """As `MemoryNode`, and nobody waits for a compression.

    The state in its channel is the newest that is committed, in which the turns after it are
    pending: the model reads these as they were said, in ``pending_tokens`` beside ``max_tokens``.
    Whoever goes on from a checkpoint, in whatever process, has them. Close the background
    memory before the memory: what waits is committed then.

    A `RecordNode` has no place beside it: the answer is stored with the next turn.
    """

    def __init__(
        self,
        background: BackgroundMemory | AsyncBackgroundMemory,
        *,
        wait: float | None = 0.0,
        **settings: Any,
    ) -> None:
        """Set up the node.

        Args:
            background: What commits; the asynchronous one for graphs that are only run so.
            wait: Seconds that a pass waits for commits under way; None until they are made.
            settings: What `MemoryNode` takes beside its controller.

        Raises:
            ConfigurationError: The settings do not fit together.
        """
        super().__init__(background.memory, **settings)
        self.background = background
        self.wait = wait
        self.held = _Unread(background.memory.settings.policy, self.adopt)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:
        """Store what is due, join what was committed; returns what changes in the channels.

        Raises:
            ConfigurationError: The memory is asynchronous, or the run names no thread.
            StateError: The state in its channel was edited, and ``adopt`` is None.
            AccError: A commit behind raised this; the turns are stored, and wait.
        """
        if not isinstance(self.background, BackgroundMemory):
            raise ConfigurationError(
                "an AsyncBackgroundMemory in a graph that is run with invoke",
                where=f"node {self.name!r}",
                hint="run the graph with ainvoke or astream, or give a BackgroundMemory",
            )
        looked, steps = self._look(input, ensure_config(config)), list[Step]()
        for turn in looked.plan.turns:
            entry = self.background.begin(looked.prior, turn, thread=looked.thread, wait=self.wait)
            looked = looked._replace(prior=self.background.finish(entry))
            steps += entry.steps
        return self._left(input, looked, steps)

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **_: Any
    ) -> dict[str, Any]:
        """As `invoke`; nothing blocks the event loop."""
        if isinstance(self.background, BackgroundMemory):
            return await asyncio.to_thread(self.invoke, input, ensure_config(config))
        looked, steps = (
            await asyncio.to_thread(self._look, input, ensure_config(config)),
            list[Step](),
        )
        for turn in looked.plan.turns:
            entry = await self.background.begin(
                looked.prior, turn, thread=looked.thread, wait=self.wait
            )
            looked = looked._replace(prior=await self.background.finish(entry))
            steps += entry.steps
        return self._left(input, looked, steps)

    def _last_state(self, thread: Thread) -> CompressedCognitiveState | None:
        # What is finished and not committed yet counts: from behind it the turn would be a fork.
        return self.background.entrance.resumed(thread, None)

    def _left(self, input: Any, looked: Any, steps: Sequence[Step]) -> dict[str, Any]:
        for step in steps:
            tell(step, self.controller.settings.policy)
        return self._update(input, looked, ())


class _Unread(HeldStates):
    """States in which turns are pending that no commit has read: the agent reads them."""

    def rendered(self, state: CompressedCognitiveState) -> str:
        """What the agent reads of ``state``."""
        return shown(state, self._policy) if state.pending else super().rendered(state)
