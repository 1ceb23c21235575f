"""Groups a chat transcript into turns.

A turn begins with a user message and ends before the next one. A system message at the beginning is the
agent's role and belongs to no turn. Any other system message is a document, because an application inserted
it; `channels={"system": ...}` overrides that. `acc.turn.chat_messages` lists the supported messages.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from acc.errors import ConfigurationError
from acc.turn.chat_messages import ChatMessage, read_message
from acc.turn.content_parts import Part
from acc.turn.observations import Channel, Observation, storable, user_observations


class Calls:
    """The tool calls of a conversation so far, by step and id; ``channels`` names the channel of each tool."""

    def __init__(self, channels: Mapping[str, Channel]) -> None:
        self._channels = channels
        self._steps: list[dict[str, set[str]]] = []
        self.is_over = True  # the next call starts a new step

    def made(self, call_id: str, name: str) -> None:
        """Record a tool call of the agent."""
        if self.is_over:
            self._steps.append({})
            self.is_over = False
        self._steps[-1].setdefault(call_id, set()).add(name)

    def answered(self, call_id: str, own: str) -> tuple[str, Channel]:
        """Match a result to its call and return the tool's name and channel.

        An id names its latest call. If it tells no single tool, the channel is the least trusted one of the tools that
        it may be, the result's ``own`` name among them.
        """
        self.is_over = True
        steps = self._steps if call_id else self._steps[-1:]
        names = next((step[call_id] for step in reversed(steps) if call_id in step), set[str]())
        if len(names) == 1 and (call_id or own in ("", *names)):
            (name,) = names
            return name, self._channel(name)
        names = names or {
            name for step in self._steps[-1:] for some in step.values() for name in some
        }
        possible = names | {own} - {""} or {*self._channels, ""}
        least = min(sorted(possible), key=lambda name: self._channel(name).trust)
        return own if own in names or not names else least, self._channel(least)

    def _channel(self, name: str) -> Channel:
        return self._channels.get(name, Channel.TOOL)


ATTACHED = "[attached]"
"""The user's words in a message that only attaches files."""


_THOUGHTS = re.compile(r"\A\s*<(think|thinking|thought|reasoning)\b[^<>]*>.*?</\1>\s*", re.S)
"""Reasoning that a model writes before its answer, if its server leaves it in the text.

It is left out, like the separate parts in which other servers return reasoning.
"""


class ReadMessage(NamedTuple):
    """A message with its observations in order; ``opens`` says whether a turn begins with it."""

    message: ChatMessage
    observations: tuple[Observation, ...]
    opens: bool


def named_channels(channels: Mapping[str, Channel] | None) -> dict[str, Channel]:
    """Return ``channels`` by tool name as `Channel` values, or raise `ConfigurationError`."""
    try:
        return {name: Channel(channel) for name, channel in (channels or {}).items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise ConfigurationError(
            f"channels has an invalid value: {error}", where="channels",
            hint='write {"web_search": Channel.DOCUMENT}; the channels are ' + ", ".join(Channel),
        ) from error  # fmt: skip


def speaker_channel(
    name: str | None, speakers: Collection[str] | None, channels: Mapping[str, Channel]
) -> Channel:
    """Return the channel of a message with the user role and this name; an entry in ``channels`` wins.

    ``speakers`` are the names that speak for the user; None means all names.
    """
    if name and name in channels:
        return channels[name]
    trusted = not name or speakers is None or name in speakers
    return Channel.USER if trusted else Channel.DOCUMENT


def checked_speakers(speakers: Collection[str] | None) -> Collection[str] | None:
    """Return ``speakers`` if it is a collection of names.

    Raises:
        ConfigurationError: It is one string, whose substrings would all count as names, or another type.
    """
    if isinstance(speakers, str | bytes) or not isinstance(speakers, Collection | None):
        raise ConfigurationError(
            f"speakers is {type(speakers).__name__}, not a collection of names",
            where="speakers",
            hint='list the names that speak for the user: speakers=["alice"]',
        )
    return speakers


def read_transcript(
    messages: Iterable[Any],
    *,
    channels: Mapping[str, Channel],
    speakers: Collection[str] | None = None,
    places: Sequence[str] = (),
) -> Iterator[ReadMessage]:
    """Yield each message, including system messages, with its observations.

    ``channels`` names the channel of tools, and of user messages by other authors; ``speakers`` are the names
    that speak for the user, None for all. ``places`` say in errors where each message stands.

    Raises:
        InputError: A message cannot be read.
    """
    calls = Calls(channels)
    for index, raw in enumerate(messages):
        message = read_message(raw, places[index] if places else f"message {index + 1}")
        if not message.is_item and message.role != "tool":
            calls.is_over = True
        channel = speaker_channel(message.name, speakers, channels)
        if message.role == "system":
            channel = channels.get("system", Channel.DOCUMENT)
        found = tuple(_observations(message, channel, calls))
        if message.id or message.at:
            origin = {"message": storable(message.id), "at": message.at}
            found = tuple(o.model_copy(update=origin) for o in found)
        opens = message.role == "user" and message.speaks and channel is Channel.USER
        yield ReadMessage(message, found, opens)


def exchanges(read: Iterable[ReadMessage]) -> Iterator[tuple[ReadMessage, ...]]:
    """Group a transcript by the messages that open a turn; without one there is no group.

    Earlier messages belong to the first group. A system message at the very beginning brings no observations.
    """
    group: list[ReadMessage] = []
    is_open = False
    for place, each in enumerate(read):
        if each.opens and is_open:
            yield tuple(group)
            group = []
        is_open = is_open or each.opens
        is_role = not place and each.message.role == "system"
        group.append(each._replace(observations=()) if is_role else each)
    if is_open:
        yield tuple(group)


def seen_in(exchange: Iterable[ReadMessage]) -> tuple[Observation, ...]:
    """Return the observations of all messages."""
    return tuple(o for each in exchange for o in each.observations)


def _observations(message: ChatMessage, channel: Channel, calls: Calls) -> Iterator[Observation]:
    """Yield a message's observations; ``channel`` is the channel of a user or system message."""
    for results, some in groupby(message.parts, lambda part: part.kind == "result"):
        parts = list(some)
        if results or message.role == "tool":
            yield from (_result(part, calls) for part in parts)
        elif message.role == "assistant":
            yield from _agents(parts, calls)
        else:
            yield from _users(message, channel, parts)
    if not message.parts and message.role in ("user", "system"):
        yield from _users(message, channel, ())


def _result(part: Part, calls: Calls) -> Observation:
    name, channel = calls.answered(part.call_id, part.name)
    return Observation(channel=channel, text=part.text, name=name, call_id=part.call_id)


def _agents(parts: Sequence[Part], calls: Calls) -> Iterator[Observation]:
    if text := _THOUGHTS.sub("", _speech(parts), count=1):
        yield Observation(channel=Channel.AGENT, text=text)
    yield from _documents(parts)
    for part in parts:
        if part.kind == "call":
            calls.made(part.call_id, part.name)
            said = f"{part.name}({part.text})"
            yield Observation(
                channel=Channel.AGENT, text=said, name=part.name, call_id=part.call_id
            )


def _users(message: ChatMessage, channel: Channel, parts: Sequence[Part]) -> Iterator[Observation]:
    yield from _documents(parts)
    text = _speech(parts)
    if parts and all(part.kind == "document" for part in parts):
        text = ATTACHED
    if channel is Channel.USER:
        yield from user_observations(text)
    elif message.role == "system":
        yield Observation(channel=channel, text=text, name=message.name or "system")
    else:
        yield Observation(channel=channel, text=text, name=message.name)


def _speech(parts: Sequence[Part]) -> str:
    return "\n".join(part.text for part in parts if part.kind in ("speech", "mark"))


def _documents(parts: Sequence[Part]) -> Iterator[Observation]:
    for part in parts:
        if part.kind == "document":
            yield Observation(channel=Channel.DOCUMENT, text=part.text, name=part.name)
