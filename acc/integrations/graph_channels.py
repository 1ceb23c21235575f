"""The channels of the memory's nodes, which the nodes declare to LangGraph themselves.

LangGraph silently drops a write to a channel that no schema declares. Each node therefore carries its input schema:
`StateGraph.add_node` reads it and adds missing channels as private ones, which callers cannot write.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from types import MethodType, new_class
from typing import Annotated, Any, Self

from langchain_core.messages import AnyMessage
from langgraph.channels import LastValue
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from acc.errors import StateError
from acc.journal import ThreadKey
from acc.state.model import OWNER
from acc.text.lines import canonical_json

PACKED = "zlib"
"""Key of a state's compressed JSON in a checkpoint."""

MOST_BYTES = 64 * 2**20
"""Maximum size of a state: a forged checkpoint cannot fill the memory."""


def owner_key(thread: ThreadKey) -> str:
    """Return what names a thread beside a value in a channel."""
    return thread.digest(b"")


def owner_of(raw: Any) -> str:
    """Return whose memory the value in a channel is (`owner_key`); empty if it does not say."""
    return _owners(raw)[0]


def owned(value: Mapping[str, Any], thread: ThreadKey, before: Any = None) -> dict[str, Any]:
    """Return a value for a channel that says whose it is, and whose it replaces, if it is not the same's."""
    mine, old = owner_key(thread), owner_of(before)
    return {**value, OWNER: mine if old in ("", mine) else f"{mine} {old}"}


def _owners(raw: Any) -> list[str]:
    named = raw.get(OWNER) if isinstance(raw, Mapping) else ""
    return str(named or "").split() or [""]


def packed(value: Any) -> Any:
    """Return a state with its body compressed; another value as it is."""
    if not isinstance(value, Mapping) or "hash" not in value:
        return value
    named = {key: value[key] for key in ("hash", OWNER) if key in value}
    return {**named, PACKED: zlib.compress(canonical_json(value).encode(), 1)}


def unpacked(value: Any) -> Any:
    """Return what `packed` packed; another value as it is."""
    if not isinstance(value, Mapping) or PACKED not in value:
        return value
    try:
        whole = zlib.decompressobj().decompress(value[PACKED], MOST_BYTES)
        return json.loads(whole)
    except (zlib.error, TypeError, ValueError) as error:
        raise StateError(
            "the state in the checkpoint is damaged",
            where=PACKED,
            hint="restore the checkpoint as the memory wrote it, or begin a new thread",
        ) from error


class Unread(dict[str, Any]):
    """A state from a channel that the graph's schema does not declare: its nodes cannot read it."""


class OwnState(LastValue[dict[str, Any]]):
    """The memory's channel for graphs with nested agents, which may write it concurrently.

    A value of another agent's memory does not replace this one, unless it says that it does (`owned`). In checkpoints
    a state is compressed: some checkpointers store it anew at each step of the graph.
    """

    __slots__ = ("held",)

    def checkpoint(self) -> Any:
        """Return the value as a checkpoint holds it."""
        value = super().checkpoint()
        held = getattr(self, "held", None)
        if held is None or held[0] is not value:  # it is asked for at each step of the graph
            self.held = held = (value, packed(value))
        return held[1]

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """Return a channel with the value that a checkpoint holds."""
        value = unpacked(checkpoint)
        channel = super().from_checkpoint(value)
        channel.held = (value, checkpoint)
        return channel

    def update(self, values: Sequence[Any]) -> bool:
        """Apply the values in order; return whether there are any."""
        for value in values:
            mine = owner_of(self.get()) if self.is_available() else ""
            theirs = _owners(value)
            if mine and theirs[0] and mine not in theirs:
                continue
            super().update([{**value, OWNER: theirs[0]} if theirs[0] else value])
        return bool(values)


class PrivateState(OwnState):
    """The state's channel if only the memory's node declares it.

    LangGraph keeps the first declaration of a channel, so a graph whose schema declares the state never uses this one.
    """

    __slots__ = ()

    def get(self) -> dict[str, Any]:
        """Return the value as `Unread`."""
        return Unread(super().get())


class MemoryState(TypedDict, total=False):
    """A graph's state with the memory's channels, for graphs with nodes that read them.

    A caller may pass a value for any channel that a schema names, also a forged state. For untrusted callers, limit the
    input to the messages::

        StateGraph(MemoryState, input_schema=MessagesState)

    Attributes:
        messages: The messages since the last compression.
        ccs: The Compressed Cognitive State as plain JSON, as `canonical` returns it.
        ccs_run: What a run noted of its messages (`acc.integrations.notes`).
    """

    messages: Annotated[list[AnyMessage], add_messages]
    ccs: Annotated[dict[str, Any], OwnState]
    ccs_run: Annotated[dict[str, Any], OwnState]


def declare(node: Any, channels: Mapping[str, Any], *, paths: Sequence[str] = ()) -> None:
    """Declare to LangGraph that a node reads and writes channels. Those that the graph declares stay as they are.

    ``paths``: names of methods ``(self, state)`` that a conditional edge calls.
    """
    named = {"__annotations__": dict(channels)}
    schema = new_class(
        "MemoryChannels", (TypedDict,), {"total": False}, lambda ns: ns.update(named)
    )

    def called(node: Any, state: Any, config: Any = None) -> Any:
        return type(node).__call__(node, state, config)

    _bind(node, "__call__", called, schema)
    for name in paths:

        def chosen(node: Any, state: Any, *, name: str = name) -> Any:
            return getattr(type(node), name)(node, state)

        _bind(node, name, chosen, schema)


def _bind(node: Any, name: str, method: Callable[..., Any], schema: Any) -> None:
    method.__annotations__ = {"state": schema}
    # LangGraph reads the hints of the bound method, and each instance has its own channel names.
    node.__dict__[name] = MethodType(method, node)


def read(state: Any, channel: str) -> Any:
    """Return the value of a channel from a mapping or an object; None if there is none."""
    return state.get(channel) if isinstance(state, Mapping) else getattr(state, channel, None)
