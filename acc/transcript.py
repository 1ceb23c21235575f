"""Reading OpenAI chat transcripts as turns.

A turn of a transcript begins with a user message and ends before the next one. Messages
before the first user message (the system prompt) are the agent's role, not a turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acc.errors import ConfigurationError, InputError
from acc.incoming import user_observations
from acc.turn import Channel, Observation, Turn, storable

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def named_channels(channels: Mapping[str, Channel] | None) -> dict[str, Channel]:
    """``channels`` by tool name, each a `Channel` or its word.

    Raises:
        ConfigurationError: No such channel.
    """
    try:
        return {name: Channel(channel) for name, channel in (channels or {}).items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise ConfigurationError(
            f"no channel by tool name: {error}", where="channels",
            mend='write {"web_search": Channel.DOCUMENT}; there are ' + ", ".join(Channel),
        ) from error  # fmt: skip


def current_turn(messages: Sequence[Any], *, channels: Mapping[str, Channel]) -> Turn:
    """The turn that `Turn.from_messages` documents."""
    if not isinstance(messages, Sequence) or isinstance(messages, str):
        raise InputError(
            f"messages are {type(messages).__name__}, not a list of messages",
            where="messages",
            mend='pass [{"role": ..., "content": ...}, ...]',
        )
    exchanges = list(read_exchanges(messages, channels=channels))
    if not exchanges:
        raise InputError(
            "no user message among the messages",
            where=f"{len(messages)} messages",
            mend="pass the messages up to and including the user's current one",
        )
    last = exchanges[-1]
    before = exchanges[-2] if len(exchanges) > 1 else ()
    if any(o.channel is Channel.AGENT for o in last):
        return _with_reply(last, before)
    return Turn(observations=(*before[_said(before) :], *last))


def completed_turns(messages: Sequence[Any], *, channels: Mapping[str, Channel]) -> Iterator[Turn]:
    """The turns of a finished transcript, each with the reply before it.

    Raises:
        InputError: A message that cannot be read; says which.
    """
    before: tuple[Observation, ...] = ()
    for exchange in read_exchanges(messages, channels=channels):
        yield _with_reply(exchange, before)
        before = exchange


def read_exchanges(
    messages: Sequence[Any], *, channels: Mapping[str, Channel]
) -> Iterator[tuple[Observation, ...]]:
    """Group a transcript's messages by user message, each group as observations."""
    calls: dict[str, str] = {}
    exchange: list[Observation] = []
    spoken = False
    for index, raw in enumerate(messages):
        message = _as_dict(raw, index)
        role = message.get("role")
        if role == "user" and spoken:
            yield tuple(exchange)
            exchange = []
        spoken = spoken or role == "user"
        observations = _with_id(message, _observations(message, index, calls, channels))
        if spoken:
            exchange.extend(observations)
    if spoken:
        yield tuple(exchange)


def check_messages(messages: Sequence[Any]) -> None:
    """Refuse what `read_exchanges` would mend on the way.

    Raises:
        InputError: A tool result without its call, a lone surrogate or a NUL; says where.
    """
    calls: set[str] = set()
    for index, raw in enumerate(messages):
        message = _as_dict(raw, index)
        for called, name, arguments in _calls(message, index):
            calls.add(called)
            _check_text(f"{name}({arguments})", index)
        call_id = str(message.get("tool_call_id"))
        if message.get("role") == "tool" and call_id not in calls:
            raise InputError(
                f"a tool result without its call: {call_id!r}",
                where=f"message {index + 1}",
                mend="put the assistant message with that tool call before it",
            )
        _check_text(_text(message.get("content"), index), index)


def _check_text(text: str, index: int) -> None:
    for position, character in enumerate(text):
        if character == "\x00" or "\ud800" <= character <= "\udfff":
            kind = "a NUL byte" if character == "\x00" else "a lone surrogate"
            raise InputError(
                f"{kind} at character {position + 1} of the text",
                where=f"message {index + 1}",
                mend="re-encode the file as UTF-8, or let it be replaced by U+FFFD (--repair)",
            )


def _with_reply(exchange: tuple[Observation, ...], before: Sequence[Observation]) -> Turn:
    replies = [o for o in before if o.channel is Channel.AGENT and not o.is_call]
    heard = tuple(o for o in before if o.channel in (Channel.TOOL, Channel.DOCUMENT))
    return Turn(observations=exchange, reply=replies[-1] if replies else None, heard=heard)


def _said(exchange: Sequence[Observation]) -> int:
    """How many observations the message makes that an exchange begins with."""
    own = [i for i, o in enumerate(exchange) if o.channel is Channel.USER]
    return own[0] + 1 if own else 0


def _observations(
    message: Mapping[str, Any], index: int, calls: dict[str, str], channels: Mapping[str, Channel]
) -> tuple[Observation, ...]:
    role = message.get("role")
    if role not in _ROLES:
        raise InputError(
            f"unknown role {role!r}",
            where=f"message {index + 1}",
            mend=f"use one of {', '.join(_ROLES)}",
        )
    text = _text(message.get("content") or message.get("refusal"), index)
    if role == "assistant":
        return _agent_observations(message, index, text, calls)
    if role in ("tool", "function"):
        call_id = str(message.get("tool_call_id") or "")
        name = str(calls.get(call_id) or message.get("name") or "")
        channel = channels.get(name, Channel.TOOL)
        return (Observation(channel=channel, text=text, name=name, call_id=call_id),)
    # A system message in somebody's input is at most the user: operators configure (law 6).
    return user_observations(text)


def _with_id(
    message: Mapping[str, Any], observations: tuple[Observation, ...]
) -> tuple[Observation, ...]:
    given = message.get("id")
    if not isinstance(given, str) or not given:
        return observations
    return tuple(o.model_copy(update={"message": storable(given)}) for o in observations)


def _agent_observations(
    message: Mapping[str, Any], index: int, text: str, calls: dict[str, str]
) -> tuple[Observation, ...]:
    said = (Observation(channel=Channel.AGENT, text=text),) if text else ()
    made = []
    for call_id, name, arguments in _calls(message, index):
        calls[call_id] = name
        made.append(
            Observation(
                channel=Channel.AGENT, text=f"{name}({arguments})", name=name, call_id=call_id
            )
        )
    return (*said, *made)


def _calls(message: Mapping[str, Any], index: int) -> Iterator[tuple[str, str, str]]:
    given = message.get("tool_calls") or ()
    if not isinstance(given, list | tuple):
        raise InputError("tool_calls is not a list", where=f"message {index + 1}")
    legacy = message.get("function_call")
    for call in [*given, *([{"id": "", "function": legacy}] if legacy else [])]:
        call = _as_dict(call, index)
        function = call.get("function") or call.get("custom") or call
        if not isinstance(function, Mapping):
            raise InputError("a tool call without a function", where=f"message {index + 1}")
        arguments = function.get("arguments", function.get("args", function.get("input", "")))
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False, default=str)
        yield str(call.get("id") or ""), str(function.get("name") or ""), arguments


def _as_dict(message: Any, index: int) -> Mapping[str, Any]:
    if hasattr(message, "model_dump"):
        message = message.model_dump()
    if not isinstance(message, Mapping):
        raise InputError(
            f"a message is {type(message).__name__}, not an object",
            where=f"message {index + 1}",
            mend='write {"role": ..., "content": ...}',
        )
    return message


def _text(content: Any, index: int) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_part(part) for part in content)
    raise InputError(
        f"content is {type(content).__name__}",
        where=f"message {index + 1}",
        mend="use text or a list of parts",
    )


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping):
        text = part.get("text", part.get("refusal"))
        return text if isinstance(text, str) else f"[{part.get('type', 'part')}]"
    return f"[{type(part).__name__}]"
