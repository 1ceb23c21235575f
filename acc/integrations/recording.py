"""A node behind the model that stores what the agent said and did as soon as it exists."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig

from acc.controller import AsyncMemoryController
from acc.integrations.graph_channels import declare, read
from acc.integrations.langgraph import MemoryNode
from acc.integrations.stepping import synchronous
from acc.turn import Observation


class RecordNode(Runnable[Any, dict[str, Any]]):
    """Records the agent's answer, so that `Memory.history` has it before the user's next turn.

    The last node of a graph, or the ``post_model_hook`` of `create_react_agent`. Without it the
    answer is stored when the next turn is committed. It may run as often as it likes: nothing is
    stored twice.
    """

    def __init__(self, memory: MemoryNode, *, name: str = "record") -> None:
        """Record for the memory that ``memory`` commits to, from the same channels."""
        self.memory = memory
        self.name = name
        channels = (memory.state_key, memory.turn_key)
        typed: dict[str, Any] = {memory.input_messages_key: list[Any]}
        declare(self, typed | dict.fromkeys(channels, dict[str, Any]))

    def __call__(self, state: Any, config: RunnableConfig | None = None) -> dict[str, Any]:
        """As `invoke`; LangGraph reads off it which channels the node needs."""
        return self.invoke(state, config)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:
        """Record what is sure to belong to the next turn; changes no channel.

        Raises:
            ConfigurationError: The memory is an `AsyncMemoryController`.
            StoreError: It cannot be written.
        """
        controller = synchronous(self.memory.controller)
        if decided := self._decided(input):
            prior = self.memory.loaded(input)
            controller.record(decided, state=prior, thread=self.memory.thread(config))
        return {}

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **_: Any
    ) -> dict[str, Any]:
        """As `invoke`; nothing blocks the event loop."""
        controller = self.memory.controller
        if not isinstance(controller, AsyncMemoryController):
            return await asyncio.to_thread(self.invoke, input, config)
        if decided := self._decided(input):
            prior = self.memory.loaded(input)
            await controller.record(decided, state=prior, thread=self.memory.thread(config))
        return {}

    def _decided(self, state: Any) -> tuple[Observation, ...]:
        messages = read(state, self.memory.input_messages_key) or ()
        return self.memory.folding.decided(messages, read(state, self.memory.turn_key))
