"""Reads a conversation file of any supported form as a list of chat messages.

`acc.turn.chat_messages` lists the supported messages. Each message comes with its place in the
file, for errors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from acc.errors import InputError
from acc.text.tokens import TokenCounter
from acc.turn.chat_messages import READ, is_message
from acc.turn.observations import Channel
from acc.turn.transcript import (
    ReadMessage,
    exchanges,
    named_channels,
    read_transcript,
    seen_in,
)
from acc.turn.turn import Turn

_LISTS = ("turns", "messages", "input")
"""Keys under which an object has its messages: a scenario, chat, OpenAI's Responses."""

_PROMPTS = ("system", "instructions")
"""Keys under which such an object has the system prompt if it is not among the messages."""

_FORMS = (
    'write a JSON array of chat messages, {"messages": [...]}, one message per line, or a scenario; '
    f"supported are messages in {READ} form"
)
_TURN = 'write a turn as {"user": ..., "tool_outputs": [{"tool": ..., "content": ...}], ...}'


@dataclass(frozen=True)
class Conversation:
    """A completed conversation.

    Attributes:
        role: The agent's role: the system messages at the beginning.
        turns: The turns in order.
        texts: The texts of each turn's messages. The first turn includes the messages before it.
    """

    role: str
    turns: tuple[Turn, ...]
    texts: tuple[tuple[str, ...], ...]

    def transcript_tokens(self, counter: TokenCounter) -> list[int]:
        """Return the cumulative tokens of all messages at the end of each turn: the cost of replaying them."""
        return list(accumulate(sum(counter(text) for text in texts) for texts in self.texts))


def read_conversation(
    path: str | Path, *, channels: Mapping[str, Channel] | None = None
) -> Conversation:
    """Read a conversation from a UTF-8 file.

    Args:
        path: The file.
        channels: Channel by tool name, for tools that are trusted only as documents.

    Raises:
        InputError: The file cannot be read or is malformed. The error names the place.
    """
    file = Path(path)
    try:
        given = _given(_text(file), file)
        named = named_channels(channels)
        read = list(read_transcript(given.messages, channels=named, places=given.places))
    except RecursionError as error:
        what = "a message is nested too deeply"
        raise InputError(what, where=str(file), hint="give it fewer levels") from error
    groups = list(exchanges(read))
    if not groups:
        raise InputError(
            "the conversation has no user message",
            where=str(file),
            hint="begin each turn with a message of the role 'user'",
        )
    leading = takewhile(lambda each: each.message.role == "system", read)
    return Conversation(
        "\n".join(map(_said, leading)),
        tuple(Turn(observations=seen_in(group)) for group in groups),
        tuple(tuple(map(_said, group)) for group in groups),
    )


class _Given(NamedTuple):
    """The unchecked messages of a file, and the place of each."""

    messages: list[Any]
    places: list[str]


def _text(file: Path) -> str:
    try:
        text = file.read_text("utf-8-sig")
    except OSError as error:
        what, hint = f"the file cannot be read: {error.strerror or error}", "check its permissions"
        if isinstance(error, FileNotFoundError):
            what, hint = "there is no such file", "correct the path"
        elif isinstance(error, IsADirectoryError):
            what, hint = "this is a folder, not a file", "name a file in it"
        raise InputError(what, where=str(file), hint=hint) from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"the file is not UTF-8: byte 0x{error.object[error.start]:02x}",
            where=f"{file}, line {line}",
            hint="save the file as UTF-8",
        ) from error
    if not text.strip():
        raise InputError("the file is empty", where=str(file), hint=_FORMS)
    return text


def _given(text: str, file: Path) -> _Given:
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    if _is_message(lines[0][1]):
        messages = [_decoded(line, file, n) for n, line in lines]
        return _Given(messages, [f"{file}, line {n}" for n, _ in lines])
    first = _decoded(text, file)
    whole = first if isinstance(first, Mapping) else {"messages": first}
    key = next((key for key in _LISTS if key in whole), "")
    if not key:
        what = "the object has neither 'messages' nor 'turns'"
        raise InputError(what, where=str(file), hint=_FORMS)
    if key == "turns":
        return _scenario(whole, file)
    if not isinstance(whole[key], list):
        what = f"the messages are {type(whole[key]).__name__}, not a list"
        raise InputError(what, where=str(file), hint=_FORMS)
    given = _Given([*whole[key]], [f"{file}, message {n + 1}" for n in range(len(whole[key]))])
    if prompt := next(filter(None, map(whole.get, _PROMPTS)), None):
        given.messages.insert(0, {"role": "system", "content": prompt})
        given.places.insert(0, str(file))
    return given


def _is_message(line: str) -> bool:
    try:
        first = json.loads(line)
    except (RecursionError, ValueError):
        return False
    return is_message(first) and not any(key in first for key in _LISTS)


def _decoded(text: str, file: Path, line: int = 1) -> Any:
    """Return the JSON value that begins in this line of the file."""
    try:
        return json.loads(text)
    except (RecursionError, ValueError) as error:
        what = f"this is not JSON: {error}"
        if isinstance(error, RecursionError):
            what = "the JSON is nested too deeply"
        elif isinstance(error, json.JSONDecodeError):
            line += error.lineno - 1
            what = f"this is not JSON: {error.msg[0].lower()}{error.msg[1:]}, column {error.colno}"
        raise InputError(what, where=f"{file}, line {line}", hint=_FORMS) from error


def _scenario(scenario: Mapping[str, Any], file: Path) -> _Given:
    """Convert a scenario's turns to messages, which then take the common path."""
    given = _Given([], [])
    if scenario.get("role"):
        given.messages.append({"role": "system", "content": scenario["role"]})
        given.places.append(str(file))
    for number, turn in enumerate(_field(scenario, "turns", list, str(file)), 1):
        place = f"{file}, turn {number}"
        given.messages.append({"role": "user", "content": _field(turn, "user", str, place)})
        for output in turn.get("tool_outputs") or ():
            name, content = (_field(output, key, str, place) for key in ("tool", "content"))
            given.messages.append({"role": "tool", "name": name, "content": content})
        if "assistant" in turn:
            said = _field(turn, "assistant", str, place)
            given.messages.append({"role": "assistant", "content": said})
        given.places.extend([place] * (len(given.messages) - len(given.places)))
    return given


def _field(entry: Any, name: str, kind: type, place: str) -> Any:
    found = entry.get(name) if isinstance(entry, Mapping) else None
    if isinstance(found, kind):
        return found
    what = f"{name!r} is missing"
    if isinstance(entry, Mapping) and name in entry:
        what = f"{name!r} is {type(found).__name__}, not {kind.__name__}"
    raise InputError(what, where=place, hint=_TURN)


def _said(message: ReadMessage) -> str:
    """All text that counts for a replayed message: its words and its calls."""
    parts = message.message.parts
    texts = (
        f"{p.name}({p.text})" if p.kind == "call" else p.text for p in parts if p.kind != "mark"
    )
    return "\n".join(text for text in texts if text)
