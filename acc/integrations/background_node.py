"""A `MemoryNode` that commits in the background (``after``, paper section 3.3).

    with MemoryController.open("./memory", model="openai:NAME") as memory:
        with BackgroundMemory(memory) as background:
            builder.add_node("memory", BackgroundMemoryNode(background))

The node stores the turn and the model answers at once. The next pass joins the finished commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

from acc.background import AsyncBackgroundMemory, BackgroundMemory
from acc.background.entries import shown
from acc.errors import ConfigurationError
from acc.integrations.langgraph import MemoryNode, MemoryNodeOptions
from acc.integrations.sharing import Sharing
from acc.integrations.stepping import HeldStates
from acc.pipeline.turn_pipeline import Step
from acc.state.model import CompressedCognitiveState
from acc.stores.protocol import Thread


class BackgroundMemoryNode(MemoryNode):
    """A `MemoryNode` that does not wait for compression.

    The state in its channel is the newest committed state, with later turns as pending. The model
    reads pending turns verbatim; they use ``pending_tokens`` in addition to ``max_tokens``. A run
    that continues from a checkpoint, in any process, still has them. Close the background memory
    before the memory: closing it commits the pending turns.

    Do not combine it with a `RecordNode`: the next turn stores the answer.
    """

    def __init__(
        self,
        background: BackgroundMemory | AsyncBackgroundMemory,
        *,
        wait: float | None = 0.0,
        **options: Unpack[MemoryNodeOptions],
    ) -> None:
        """Set up the node.

        Args:
            background: The background memory; use the asynchronous one only in graphs that always
                run asynchronously.
            wait: Seconds that a pass waits for running commits; None waits until they finish.
            options: Keyword arguments of `MemoryNode`.

        Raises:
            ConfigurationError: The settings contradict each other.
        """
        super().__init__(background.memory, **options)
        if self.sharing is not None:
            raise ConfigurationError(
                "a background memory does not choose a board for each conversation",
                where=f"node {self.name!r}",
                hint="share with a MemoryNode, or one board for all: BackgroundMemory(memory, board=...)",
            )
        if (board := background.entrance.board) is not None:
            self.sharing = Sharing(background.memory, board)
        self.background = background
        self.wait = wait
        self.held = _Unread(background.memory.settings.policy, self.adopt)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Store due turns and join finished commits; return the channel updates.

        Raises:
            ConfigurationError: The memory is asynchronous, or the run names no thread.
            StateError: The state in its channel was edited, and ``adopt`` is None.
            AccError: A background commit raised it; the turns stay stored and pending.
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
        return self._left(input, looked, steps, self._view(looked, ()))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Like `invoke`, without blocking the event loop."""
        config, steps = ensure_config(config), list[Step]()
        looked = await self._alook(input, config)
        for turn in looked.plan.turns:
            entry = await self.background._abegin(looked.prior, turn, looked.thread, self.wait)
            looked = looked._replace(prior=await self.background._afinish(entry))
            steps += entry.steps
        view = await self.controller._beside(looked.thread, self._view, looked, ())
        return self._left(input, looked, steps, view)

    def _last_state(self, thread: Thread) -> CompressedCognitiveState | None:
        # Include finished but uncommitted turns: a turn that starts before them would fork.
        return self.background.entrance.resumed(thread, None)

    def _left(self, input: Any, looked: Any, steps: Sequence[Step], view: str) -> Any:
        self._tell(steps)
        return self._update(input, looked, (), view)


class _Unread(HeldStates):
    """Renders states with pending turns, which no commit has seen, for the agent."""

    def text_of(self, state: CompressedCognitiveState) -> str:
        """Return the state as rendered under the policy, with its pending turns."""
        return shown(state, self._policy) if state.pending else super().text_of(state)
