"""A graph with the memory, as a node of another graph.

A subgraph added directly returns its messages to the parent's reducer, which merges them by id.
Messages that left the subgraph then stay in the parent, and return to the subgraph.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import RemoveMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.graph.state import CompiledStateGraph

from acc.errors import ConfigurationError
from acc.integrations.graph_channels import declare, read, state_channels
from acc.integrations.identity import transparent
from acc.integrations.messages import as_messages


class PrunedSubgraph(Runnable[Any, dict[str, Any]]):
    """A node that runs a compiled graph, and leaves its remaining messages in the parent.

    The state and the notes travel with the messages. Interrupts, streaming and the parent's
    checkpointer work as in any graph that a node calls.
    """

    def __init__(
        self,
        graph: CompiledStateGraph[Any, Any, Any, Any],
        *,
        messages_key: str = "messages",
        state_key: str = "ccs",
        run_key: str = "ccs_run",
        name: str = "subgraph",
    ) -> None:
        """Run ``graph``; the keys are those of its memory's node.

        Raises:
            ConfigurationError: The graph's schema does not declare them as input.
        """
        self.graph = graph
        self.name = name
        self.messages_key = messages_key
        self._keys = (messages_key, state_key, run_key)
        taken = graph.get_input_jsonschema().get("properties", {})
        if missing := [key for key in self._keys if key not in taken]:
            raise ConfigurationError(
                f"the subgraph takes no {', '.join(missing)}",
                where=f"node {name!r}",
                hint="declare its state as a subclass of acc.integrations.graph_channels.MemoryState",
            )
        declare(self, {messages_key: list[Any]} | state_channels(state_key, run_key))

    def __call__(self, state: Any, config: RunnableConfig | None = None) -> dict[str, Any]:
        """Like `invoke`; LangGraph reads the node's channels from this method's hints."""
        return self.invoke(state, config)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:
        """Run the graph; return the update of the parent's channels."""
        with transparent(ensure_config(config)):
            return self._update(self.graph.invoke(self._given(input), config))

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **_: Any
    ) -> dict[str, Any]:
        """Like `invoke`."""
        with transparent(ensure_config(config)):
            return self._update(await self.graph.ainvoke(self._given(input), config))

    def _given(self, state: Any) -> dict[str, Any]:
        found = {key: read(state, key) for key in self._keys}
        return {key: value for key, value in found.items() if value is not None}

    def _update(self, out: dict[str, Any]) -> dict[str, Any]:
        kept = {key: out[key] for key in self._keys if key in out}
        return kept | {
            self.messages_key: [
                RemoveMessage(id=REMOVE_ALL_MESSAGES),
                *as_messages(out[self.messages_key]),
            ]
        }
