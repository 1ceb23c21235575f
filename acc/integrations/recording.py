"""Nodes that keep the agent's words and acts as soon as they exist."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from inspect import signature
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.base import coerce_to_runnable
from langchain_core.runnables.config import ensure_config
from langgraph.graph.message import add_messages
from langgraph.runtime import get_runtime
from langgraph.types import Command

from acc.errors import ConflictError, StoreError
from acc.integrations.graph_channels import declare, read, state_channels
from acc.integrations.langgraph import MemoryNode
from acc.integrations.leaving import Looked
from acc.integrations.messages import is_answer


class RecordNode(Runnable[Any, dict[str, Any]]):
    """Keeps the agent's answer: the memory's journal then has it before the user's next turn.

    Use it as the last node of a graph, or as the ``post_model_hook`` of `create_react_agent`. Without it the pass of
    the next turn keeps the answer. Repeated runs keep nothing twice. `RecordedNode` saves the graph's step.
    """

    def __init__(self, memory: MemoryNode, *, name: str = "record") -> None:
        """Record to the memory of ``memory``, from the same channels."""
        self.memory = memory
        self.name = name
        typed: dict[str, Any] = {memory.input_messages_key: list[Any]}
        declare(self, typed | state_channels(memory.state_key, memory.run_key))

    def __call__(self, state: Any, config: RunnableConfig | None = None) -> dict[str, Any]:
        """Like `invoke`; LangGraph reads the node's channels from this method's hints."""
        return self.invoke(state, config)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:
        """Record what no commit has taken, once the agent makes no call; update no channel.

        Raises:
            ConfigurationError: The memory is an `AsyncMemoryController`.
            StoreError: The journal cannot be written.
        """
        self.memory._performed(self.memory._keeping(partial(self._due, input, config)))
        return {}

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **_: Any
    ) -> dict[str, Any]:
        """Like `invoke`, without blocking the event loop."""
        await self.memory._awaited(self.memory._keeping(partial(self._due, input, config)))
        return {}

    def _due(self, state: Any, config: RunnableConfig | None) -> Looked | None:
        """Return what is to be recorded; None while the agent still calls, and before its first pass."""
        messages = read(state, self.memory.input_messages_key) or ()
        if not (is_answer(messages) and read(state, self.memory.state_key)):
            return None
        looked = self.memory.looked(state, ensure_config(config))
        return looked if looked.new else None


class RecordedNode(Runnable[Any, Any]):
    """Wraps the model's node, and records the answer that ends the turn in the same step.

        builder.add_node("model", RecordedNode(remember, model))

    It replaces a `RecordNode` after the model, and saves one graph step and its checkpoint. If the journal fails, the
    answer stands with a warning, and the pass of the next turn keeps it.
    """

    def __init__(
        self, memory: MemoryNode, node: Runnable[Any, Any] | Callable[..., Any], *, name: str = ""
    ) -> None:
        """Record to the memory of ``memory``.

        Args:
            memory: The memory's node; the graph must pass through it before this node.
            node: Returns the update of the messages; a function receives the runtime, store or writer that it asks
                LangGraph for. The graph's schema must declare the memory's channels, as `MemoryState` does.
            name: Name in traces; by default the name of ``node``.
        """
        self.node: Runnable[Any, Any] = coerce_to_runnable(node)
        self._takes = () if isinstance(node, Runnable) else (*signature(node).parameters,)
        self.record = RecordNode(memory)
        self.name = name or self.node.get_name()

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Return the result of ``node`` after recording the answer in it.

        Raises:
            ConfigurationError: The memory is an `AsyncMemoryController`.
        """
        update = self.node.invoke(input, config, **self._injected())
        if after := self._answered(input, update):
            with _left_to_the_next_turn():
                self.record.invoke(after, config)
        return update

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Like `invoke`, without blocking the event loop."""
        update = await self.node.ainvoke(input, config, **self._injected())
        if after := self._answered(input, update):
            with _left_to_the_next_turn():
                await self.record.ainvoke(after, config)
        return update

    def _injected(self) -> dict[str, Any]:
        """Return the arguments that LangGraph injects into a node's function, by name."""
        if not {*self._takes} & {"runtime", "store", "writer", "previous"}:
            return {}
        runtime = get_runtime()
        offered = {
            "runtime": runtime, "store": runtime.store, "writer": runtime.stream_writer,
            "previous": runtime.previous,
        }  # fmt: skip
        return {name: value for name, value in offered.items() if name in self._takes}

    def _answered(self, state: Any, update: Any) -> dict[str, Any] | None:
        """Return the memory's channels after ``update``, if the update ends the turn.

        The answer gets its id here: the channel and the journal then have the same.
        """
        memory = self.record.memory
        key = memory.input_messages_key
        given = read(update.update if isinstance(update, Command) else update, key)
        if not given:
            return None
        messages: Any = add_messages(read(state, key) or [], given)
        if not is_answer(messages):
            return None
        others = (memory.state_key, memory.run_key)
        return {key: messages, **{name: read(state, name) for name in others}}


@contextmanager
def _left_to_the_next_turn() -> Iterator[None]:
    try:
        yield
    except (StoreError, ConflictError) as error:
        said = f"the answer is not recorded before the next turn's commit: {error}"
        warnings.warn(said, RuntimeWarning, stacklevel=4)
