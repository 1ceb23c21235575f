"""A node that keeps the agent's answer as soon as it exists."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import signature
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.base import coerce_to_runnable
from langchain_core.runnables.config import ensure_config
from langgraph.graph.message import add_messages
from langgraph.runtime import get_runtime
from langgraph.types import Command

from acc.errors import ConflictError, StoreError
from acc.integrations.graph_channels import read
from acc.integrations.langgraph import MemoryNode
from acc.integrations.messages import is_answer


class RecordedNode(Runnable[Any, Any]):
    """Wraps the model's node, and records the answer that ends the turn in the same step.

        builder.add_node("model", RecordedNode(remember, model))

    Without it the pass of the next turn keeps the answer. If the journal fails, the answer stands with a warning, and
    the pass of the next turn keeps it. Repeated runs keep nothing twice.
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
        self.memory = memory
        self.node: Runnable[Any, Any] = coerce_to_runnable(node)
        self._takes = () if isinstance(node, Runnable) else (*signature(node).parameters,)
        self.name = name or self.node.get_name()

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Return the result of ``node`` after recording the answer in it.

        Raises:
            ConfigurationError: The memory is an `AsyncMemoryController`.
        """
        update = self.node.invoke(input, config, **self._injected())
        if after := self._answered(input, update):
            with _left_to_the_next_turn():
                self.memory._performed(self.memory.keeping(after, ensure_config(config)))
        return update

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Like `invoke`, without blocking the event loop."""
        update = await self.node.ainvoke(input, config, **self._injected())
        if after := self._answered(input, update):
            with _left_to_the_next_turn():
                await self.memory._awaited(self.memory.keeping(after, ensure_config(config)))
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
        """Return the memory's channels after ``update``, if the update ends the turn and the memory has passed.

        The answer gets its id here: the channel and the journal then have the same.
        """
        key = self.memory.input_messages_key
        given = read(update.update if isinstance(update, Command) else update, key)
        if not given or not read(state, self.memory.state_key):
            return None
        messages: Any = add_messages(read(state, key) or [], given)
        if not is_answer(messages):
            return None
        others = (self.memory.state_key, self.memory.run_key)
        return {key: messages, **{name: read(state, name) for name in others}}


@contextmanager
def _left_to_the_next_turn() -> Iterator[None]:
    try:
        yield
    except (StoreError, ConflictError) as error:
        said = f"the answer is not recorded before the next turn's commit: {error}"
        warnings.warn(said, RuntimeWarning, stacklevel=4)
