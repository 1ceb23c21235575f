"""The channels that the memory's nodes need, declared to LangGraph by the nodes themselves.

A graph drops what a node writes to a channel that no schema declares, without a word. So a
node carries its input schema with it: `StateGraph.add_node` reads it off the node, and adds
what the graph's own schema lacks as private channels, which are checkpointed, and which no
caller can write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MethodType, new_class
from typing import Annotated, Any, TypeVar

from langchain_core.messages import AnyMessage, RemoveMessage
from langgraph.channels import LastValue
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from acc.errors import ConfigurationError

Value = TypeVar("Value")


class Unread(dict[str, Any]):
    """A state in a channel that the graph's own schema does not declare: its nodes cannot read it."""


class PrivateState(LastValue[dict[str, Any]]):
    """The state's channel where the memory's node alone declares it.

    LangGraph keeps the channel that was declared first, so a graph whose schema has the state
    never uses this one. What is read from it says so (`Unread`).
    """

    __slots__ = ()

    def get(self) -> dict[str, Any]:
        """The value, as `Unread`."""
        return Unread(super().get())


class OwnState(LastValue[dict[str, Any]]):
    """The state's channel, where nested agents hand theirs up with their results, several at once.

    The state of another agent's thread does not replace this one.
    """

    __slots__ = ()

    def update(self, values: Sequence[Any]) -> bool:
        """Take the values one after the other; True where there are any."""
        for value in values:
            if not (self.is_available() and self._is_anothers(self.get(), value)):
                super().update([value])
        return bool(values)

    def _is_anothers(self, own: Any, value: Any) -> bool:
        bound = value.get("bound_to") if isinstance(value, Mapping) else None
        mine = own.get("bound_to") if isinstance(own, Mapping) else None
        return bool(mine and bound and bound != mine)


class OwnMark(OwnState):
    """The mark's channel: the mark of another agent does not replace this one."""

    __slots__ = ()

    def _is_anothers(self, own: Any, value: Any) -> bool:
        if not (isinstance(own, Mapping) and own and isinstance(value, Mapping)):
            return False
        return bool(own.get("agent", "") != value.get("agent", ""))


class MemoryState(TypedDict, total=False):
    """A graph's state with the memory's channels in it, for graphs whose nodes read them.

    What a schema names, whoever calls the graph may hand in, a state of their own making too.
    Where callers are not trusted with that, keep it to the messages::

        StateGraph(MemoryState, input_schema=MessagesState)

    Attributes:
        messages: The current turn's messages; all of them where nothing is pruned.
        ccs: The Compressed Cognitive State as plain JSON: what `canonical` returned.
        ccs_turn: How far the commits have come; see `acc.integrations.compaction.Mark`.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    ccs: Annotated[dict[str, Any], OwnState]
    ccs_turn: Annotated[dict[str, Any], OwnMark]


def declare(node: Any, channels: Mapping[str, Any], *, paths: Sequence[str] = ()) -> None:
    """Have ``node`` tell LangGraph that it reads and writes ``channels``.

    Args:
        node: An object with ``__call__(self, state, config)``; its hints become this node's own.
        channels: Type by name; one that the graph declares too keeps the graph's reducer.
        paths: Names of methods ``(self, state)`` that a conditional edge calls.
    """
    schema = new_class("MemoryChannels", (TypedDict,), {"total": False}, _annotated(channels))

    def called(node: Any, state: Any, config: Any = None) -> Any:
        return type(node).__call__(node, state, config)

    _bind(node, "__call__", called, schema)
    for name in paths:

        def chosen(node: Any, state: Any, *, name: str = name) -> Any:
            return getattr(type(node), name)(node, state)

        _bind(node, name, chosen, schema)


def _bind(node: Any, name: str, method: Callable[..., Any], schema: type[Any]) -> None:
    method.__annotations__ = {"state": schema}
    # LangGraph looks for hints on the bound method; each instance has keys of its own.
    node.__dict__[name] = MethodType(method, node)


def state_channels(state_key: str, turn_key: str) -> dict[str, Any]:
    """The types of the memory's own channels, by name, for `declare`."""
    return {state_key: Annotated[dict[str, Any], PrivateState], turn_key: dict[str, Any]}


def read(state: Any, channel: str | None) -> Any:
    """What stands in a channel, whichever form a graph's state has; None where nothing does."""
    if channel is None:
        return None
    return state.get(channel) if isinstance(state, Mapping) else getattr(state, channel, None)


def check_messages(messages: Any, channel: str) -> None:
    """See that the channel of the messages has LangGraph's reducer.

    Raises:
        ConfigurationError: It keeps the removals that the memory wrote as if they were messages.
    """
    if any(isinstance(m, RemoveMessage) for m in messages or ()):
        raise ConfigurationError(
            f"the channel {channel!r} has no reducer that removes messages",
            where="the graph's state schema",
            hint="declare it as MemoryState does, messages: Annotated[list[AnyMessage], add_messages], "
            "and begin a new thread",
        )


def needed(channel: str, value: Value | None, *, where: str | None, what: str) -> Value:
    """``value``, which stands in ``channel``.

    Raises:
        ConfigurationError: Nothing does.
    """
    if value is not None:
        return value
    raise ConfigurationError(
        f"nothing in {channel!r}, {what}",
        where=f"node {where!r}",
        hint=f"declare {channel} in the schema of the graph, and lead to the model through "
        "the memory's node",
    )


def _annotated(channels: Mapping[str, Any]) -> Callable[[dict[str, Any]], None]:
    return lambda namespace: namespace.update(__annotations__=dict(channels))
