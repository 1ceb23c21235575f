"""Reads a conversation file of any supported form as a list of chat messages.

`acc.turn.chat_messages` lists the supported messages. Each message comes with its place in the
file, for errors.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from acc.errors import InputError
from acc.logs import log_event
from acc.text.tokens import TokenCounter
from acc.turn.chat_messages import READ, is_message
from acc.turn.observations import Channel, storable
from acc.turn.transcript import ReadMessage, check_messages, read_transcript
from acc.turn.turn import Turn

_LISTS = ("messages", "contents", "input")
"""Keys under which an object has its messages: chat, Gemini, OpenAI's Responses."""

_PROMPTS = ("system", "instructions", "systemInstruction", "system_instruction")
"""Keys under which such an object has the system prompt if it is not among the messages."""

_FORMS = (
    'write a JSON array of chat messages, {"messages": [...]}, one message per line, or a scenario; '
    f"supported are messages in {READ} form"
)


class _Given(NamedTuple):
    """The unchecked messages of a file, the place of each, and what the repair left out."""

    messages: list[Any]
    places: list[str]
    scenario: bool = False
    dropped: tuple[str, ...] = ()


def _text(file: Path, repair: bool) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        what, hint = f"the file cannot be read: {error.strerror or error}", "check its permissions"
        if isinstance(error, FileNotFoundError):
            what, hint = "there is no such file", "correct the path"
        elif isinstance(error, IsADirectoryError):
            what, hint = "this is a folder, not a file", "name a file in it"
        raise InputError(what, where=str(file), hint=hint) from error
    try:
        text = data.decode("utf-8-sig", "replace" if repair else "strict")
    except UnicodeDecodeError as error:
        raise InputError(
            f"the file is not UTF-8: byte 0x{data[error.start]:02x}",
            where=f"{file}, line {data.count(10, 0, error.start) + 1}",
            hint="save the file as UTF-8, or replace such bytes by U+FFFD with --repair",
        ) from error
    if not text.strip():
        raise InputError("the file is empty", where=str(file), hint=_FORMS)
    return text


def _messages(text: str, file: Path, repair: bool) -> _Given:
    start = len(text) - len(text.lstrip())
    first, end = _decoded(text, start, file, 1)
    whole = not text[end:].strip()
    if isinstance(first, Mapping) and not {*_LISTS, "turns"} & first.keys():
        if whole and not is_message(first):
            what = "the object has neither 'messages' nor 'turns'"
            raise InputError(what, where=str(file), hint=_FORMS)
        return _lines(text, file, repair)
    if not whole:
        line = text.count("\n", 0, end + len(text[end:]) - len(text[end:].lstrip())) + 1
        raise InputError("there is text after the JSON", where=f"{file}, line {line}", hint=_FORMS)
    if isinstance(first, Mapping) and "turns" in first:
        return _scenario(first, file)
    if not isinstance(first, Mapping):
        return _listed(first, file)
    given = _listed(next(first[key] for key in _LISTS if key in first), file)
    prompt = next((first[key] for key in _PROMPTS if first.get(key)), None)
    if prompt is None:
        return given
    content = prompt.get("parts") if isinstance(prompt, Mapping) else prompt
    role = {"role": "system", "content": content}
    return _Given([role, *given.messages], [str(file), *given.places])


def _listed(found: Any, file: Path) -> _Given:
    if not isinstance(found, list):
        what = f"the messages are {type(found).__name__}, not a list"
        raise InputError(what, where=str(file), hint=_FORMS)
    return _Given(found, [f"{file}, message {n}" for n in range(1, len(found) + 1)])


def _lines(text: str, file: Path, repair: bool) -> _Given:
    given = _Given([], [])
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
    for number, line in lines:
        place = f"{file}, line {number}"
        try:
            message, end = _decoded(line, len(line) - len(line.lstrip()), file, number)
        except InputError as error:
            broken = isinstance(error.__cause__, json.JSONDecodeError)
            if not (broken and given.messages and number == lines[-1][0]):
                raise
            if not repair:  # the last line of a killed writer
                hint = "complete the last line, or drop it with --repair"
                raise InputError(error.what, where=place, hint=hint) from error
            return given._replace(dropped=(f"the last line is cut off and was dropped ({place})",))
        if line[end:].strip():
            raise InputError(
                "the line has two values", where=place, hint="write one message per line"
            )
        given.messages.append(message)
        given.places.append(place)
    return given


def _decoded(text: str, start: int, file: Path, line: int) -> tuple[Any, int]:
    """Decode the JSON value at ``start`` and return it with its end. ``line`` is the number of
    the text's first line.
    """
    try:
        return json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as error:
        what = f"this is not JSON: {error.msg[0].lower()}{error.msg[1:]}, column {error.colno}"
        where = f"{file}, line {line + error.lineno - 1}"
        raise InputError(what, where=where, hint=_FORMS) from error
    except RecursionError as error:
        what = "the JSON is nested too deeply"
        raise InputError(what, where=f"{file}, line {line}", hint=_FORMS) from error
    except ValueError as error:  # a number with thousands of digits
        what = f"this is not JSON: {error}"
        raise InputError(what, where=f"{file}, line {line}", hint=_FORMS) from error


def _scenario(scenario: Mapping[str, Any], file: Path) -> _Given:
    """Convert a scenario's turns to messages, which then take the common path."""
    turns = _field(scenario, "turns", list, str(file))
    messages: list[Any] = []
    places: list[str] = []
    if scenario.get("role"):
        messages.append({"role": "system", "content": _field(scenario, "role", str, str(file))})
        places.append(str(file))
    for number, turn in enumerate(turns, 1):
        place = f"{file}, turn {number}"
        said = list(_turn_messages(turn, place))
        messages.extend(said)
        places.extend(place for _ in said)
    return _Given(messages, places, scenario=True)


def _turn_messages(turn: Any, place: str) -> Iterator[dict[str, str]]:
    yield {"role": "user", "content": _field(turn, "user", str, place)}
    for output in _field(turn, "tool_outputs", list, place) if "tool_outputs" in turn else ():
        name, content = (_field(output, key, str, place) for key in ("tool", "content"))
        yield {"role": "tool", "name": name, "content": content}
    if "assistant" in turn:
        yield {"role": "assistant", "content": _field(turn, "assistant", str, place)}


def _field(entry: Any, name: str, kind: type, place: str) -> Any:
    found = entry.get(name) if isinstance(entry, Mapping) else None
    if isinstance(found, kind):
        return found
    what = f"{name!r} is missing"
    if isinstance(entry, Mapping) and name in entry:
        what = f"{name!r} is {type(found).__name__}, not {kind.__name__}"
    hint = 'write a turn as {"user": ..., "tool_outputs": [{"tool": ..., "content": ...}], ...}'
    raise InputError(what, where=place, hint=hint)


_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Conversation:
    """A completed conversation.

    Attributes:
        role: The agent's role: the system messages at the beginning.
        turns: The turns in order.
        texts: The texts of each turn's messages. The first turn includes the messages before it.
        dropped: One sentence for each thing that the repair left out.
    """

    role: str
    turns: tuple[Turn, ...]
    texts: tuple[tuple[str, ...], ...]
    dropped: tuple[str, ...] = ()

    def transcript_tokens(self, counter: TokenCounter) -> list[int]:
        """Return the cumulative tokens of all messages at the end of each turn: the cost of replaying them."""
        return list(accumulate(sum(counter(text) for text in texts) for texts in self.texts))


def read_conversation(
    path: str | Path, *, repair: bool = False, channels: Mapping[str, Channel] | None = None
) -> Conversation:
    """Read a conversation from a UTF-8 file.

    Args:
        path: The file.
        repair: Replace lone surrogates, NUL and broken UTF-8 by U+FFFD, keep tool results without their call, and
            drop a last line of JSONL that is cut off. Otherwise each of these is an error.
        channels: Channel by tool name, for tools that are trusted only as documents.

    Raises:
        InputError: The file cannot be read or is malformed. The error names the place.
    """
    file = Path(path)
    try:
        given = _messages(_text(file, repair), file, repair)
        if repair:
            given = given._replace(messages=[_mended(message) for message in given.messages])
        for message, place in zip(given.messages, given.places, strict=True):
            _check_types(message, place)
            _check_storable(message, place)
        with _placed(given.places):
            if not (repair or given.scenario):
                check_messages(given.messages)
            turns = tuple(Turn.all_from_messages(given.messages, channels=channels))
            read = list(read_transcript(given.messages, channels=channels or {}))
    except RecursionError as error:
        what = "a message is nested too deeply"
        raise InputError(what, where=str(file), hint="give it fewer levels") from error
    if not turns:
        raise InputError(
            "the conversation has no user message",
            where=str(file),
            hint="begin each turn with a message of the role 'user'",
        )
    for each in given.dropped:
        log_event(_LOG, logging.WARNING, "dropped", each)
    return Conversation(_role(read), turns, tuple(_texts_by_turn(read)), given.dropped)


def _check_types(message: Any, place: str) -> None:
    """Check the types that `acc.turn.transcript` relies on: names, ids, parts and tool calls."""
    if not isinstance(message, Mapping):
        return
    for key in ("role", "name", "tool_call_id"):
        if not isinstance(message.get(key), str | None):
            kind = type(message[key]).__name__
            raise InputError(f"{key} is {kind}, not a string", where=place, hint="write a string")
    content, calls = message.get("content"), message.get("tool_calls")
    if isinstance(content, list) and not all(isinstance(part, str | dict) for part in content):
        what = "a part of the content is neither a string nor an object"
        raise InputError(what, where=place, hint='write {"type": "text", "text": ...}')
    openai = "role" in message and calls is not None  # LangChain's calls have another form
    if openai and not (isinstance(calls, list) and all(map(_is_call, calls))):
        hint = 'write [{"id": ..., "function": {"name": ..., "arguments": ...}}]'
        raise InputError("the tool calls are malformed", where=place, hint=hint)


def _is_call(call: Any) -> bool:
    function = call.get("function") or call.get("custom") if isinstance(call, dict) else None
    named = isinstance(function, dict) and isinstance(function.get("name"), str)
    return named and isinstance(call.get("id"), str) and bool(call["id"])


def _check_storable(message: Any, place: str) -> None:
    if _mended(message) != message:
        what = "a text has a NUL byte or a lone surrogate, which no store can hold"
        raise InputError(
            what, where=place, hint="correct the text, or use --repair to write U+FFFD there"
        )


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_mended(entry) for entry in value]
    return {storable(k): _mended(v) for k, v in value.items()} if isinstance(value, dict) else value


@contextmanager
def _placed(places: Sequence[str]) -> Iterator[None]:
    """Replace a message's number in an `InputError` by its place in the file."""
    try:
        yield
    except InputError as error:
        index = re.fullmatch(r"message (\d+)", error.where)
        where = places[int(index[1]) - 1] if index else error.where
        raise InputError(error.what, where=where, hint=error.hint) from error


def _role(read: Sequence[ReadMessage]) -> str:
    leading = takewhile(lambda each: each.message.role == "system", read)
    return "\n".join(map(_said, leading))


def _texts_by_turn(read: Sequence[ReadMessage]) -> Iterator[tuple[str, ...]]:
    texts: list[str] = []
    spoken = False
    for each in read:
        if each.opens:
            if spoken:
                yield tuple(texts)
                texts = []
            spoken = True
        texts.append(_said(each))
    yield tuple(texts)


def _said(message: ReadMessage) -> str:
    """All text that counts for a replayed message: its words and its calls."""
    parts = message.message.parts
    texts = (
        f"{p.name}({p.text})" if p.kind == "call" else p.text for p in parts if p.kind != "mark"
    )
    return "\n".join(text for text in texts if text)
