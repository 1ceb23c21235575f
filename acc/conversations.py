"""Reading a conversation from a file: chat messages, or a scenario.

Chat messages, of any form that `acc.message_forms` reads, come as a JSON array, as
``{"messages": [...]}``, or one a line (JSONL). A scenario is
``{"id", "role", "turns": [{"user", "tool_outputs", "assistant"}]}``; more keys may stand beside
these. What is malformed is refused, by file, line or turn, and how to mend it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any

from acc.conversation_forms import read_messages
from acc.errors import InputError
from acc.tokens import TokenCounter
from acc.transcript import Told, check_messages, completed_turns, tell
from acc.turn import Channel, Turn, storable

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Conversation:
    """A conversation that is over.

    Attributes:
        role: What the agent is told about itself: the system messages at the beginning.
        turns: The completed turns, in order.
        texts: The texts of each turn's messages; the first turn's with those before it.
        dropped: What of the file was left out to mend it, each as one sentence with its place.
    """

    role: str
    turns: tuple[Turn, ...]
    texts: tuple[tuple[str, ...], ...]
    dropped: tuple[str, ...] = ()

    def transcript_tokens(self, counter: TokenCounter) -> list[int]:
        """Tokens of all messages up to the end of each turn: what replaying them costs."""
        return list(accumulate(sum(counter(text) for text in texts) for texts in self.texts))


def read_conversation(
    path: str | Path, *, repair: bool = False, channels: Mapping[str, Channel] | None = None
) -> Conversation:
    """Read the conversation in the file ``path``.

    Args:
        path: The file, UTF-8.
        repair: Let lone surrogates, NUL and broken UTF-8 become U+FFFD, keep tool results
            without their call, and drop a last line of JSONL that was cut off. Without it each
            is an error.
        channels: Channel by tool name, where a tool is no more than a document.

    Raises:
        InputError: The file cannot be read, or is malformed; says where.
    """
    file = Path(path)
    try:
        given = read_messages(file, repair=repair)
        if repair:
            given = given._replace(messages=[_mended(message) for message in given.messages])
        for message, place in zip(given.messages, given.places, strict=True):
            _check_types(message, place)
            _check_storable(message, place)
        with _placed(given.places):
            if not (repair or given.scenario):
                check_messages(given.messages)
            turns = tuple(completed_turns(given.messages, channels=channels or {}))
            told = list(tell(given.messages, channels=channels or {}))
    except RecursionError as error:
        what = "a message is nested too deeply"
        raise InputError(what, where=str(file), mend="flatten it") from error
    if not turns:
        raise InputError(
            "no user message: the conversation is empty",
            where=str(file),
            mend="a turn begins with a message of the role 'user'",
        )
    for each in given.dropped:
        _log.warning("%s", each)
    return Conversation(_role(told), turns, tuple(_texts_by_turn(told)), given.dropped)


def _check_types(message: Any, place: str) -> None:
    """What `acc.transcript` takes for granted: the types of names, ids, parts and tool calls."""
    if not isinstance(message, Mapping):
        return
    for key in ("role", "name", "tool_call_id"):
        if not isinstance(message.get(key), str | None):
            kind = type(message[key]).__name__
            raise InputError(f"{key} is {kind}, not text", where=place, mend="write a string")
    content, calls = message.get("content"), message.get("tool_calls")
    if isinstance(content, list) and not all(isinstance(part, str | dict) for part in content):
        raise InputError("a part of the content is no object", where=place, mend="write objects")
    openai = "role" in message and calls is not None  # LangChain's calls have another form
    if openai and not (isinstance(calls, list) and all(map(_is_call, calls))):
        mend = 'write [{"id": ..., "function": {"name": ..., "arguments": ...}}]'
        raise InputError("malformed tool calls", where=place, mend=mend)


def _is_call(call: Any) -> bool:
    function = call.get("function") or call.get("custom") if isinstance(call, dict) else None
    named = isinstance(function, dict) and isinstance(function.get("name"), str)
    return named and isinstance(call.get("id"), str) and bool(call["id"])


def _check_storable(value: Any, place: str) -> None:
    for text in _strings(value):
        if storable(text) != text:
            kind = "a NUL byte" if "\x00" in text else "a lone surrogate"
            mend = "write what it stands for, or let it be replaced by U+FFFD (--repair)"
            raise InputError(f"{kind} in a text", where=place, mend=mend)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for entry in value:
            yield from _strings(entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield key
            yield from _strings(entry)


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_mended(entry) for entry in value]
    return {storable(k): _mended(v) for k, v in value.items()} if isinstance(value, dict) else value


@contextmanager
def _placed(places: Sequence[str]) -> Iterator[None]:
    """Say of a message's error where in the file the message stands."""
    try:
        yield
    except InputError as error:
        index = re.fullmatch(r"message (\d+)", error.where)
        where = places[int(index[1]) - 1] if index else error.where
        raise InputError(error.what, where=where, mend=error.mend) from error


def _role(told: Sequence[Told]) -> str:
    leading = takewhile(lambda each: each.message.role == "system", told)
    return "\n".join(map(_said, leading))


def _texts_by_turn(told: Sequence[Told]) -> Iterator[tuple[str, ...]]:
    texts: list[str] = []
    spoken = False
    for each in told:
        if each.opens:
            if spoken:
                yield tuple(texts)
                texts = []
            spoken = True
        texts.append(_said(each))
    yield tuple(texts)


def _said(told: Told) -> str:
    """All that a replayed message costs: its text and the calls it makes."""
    parts = told.message.parts
    texts = (
        f"{p.name}({p.text})" if p.kind == "call" else p.text for p in parts if p.kind != "mark"
    )
    return "\n".join(text for text in texts if text)
