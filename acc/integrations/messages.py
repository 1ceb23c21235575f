"""LangChain's messages, with ids, marks and results, in a form that every provider accepts; what a guard blocked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, TypeVar

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)

from acc.errors import InputError
from acc.turn.chat_messages import SUMMARY

M = TypeVar("M", bound=BaseMessage)

TASK = "acc_task"
"""Key in a human message's ``additional_kwargs``: another agent wrote it. Wherever it comes to, it is an agent's words.
This mark and the next two only lower trust, so that nobody gains by them."""

MADE = "acc_made"
"""Key in a human message's ``additional_kwargs``: a tool made it."""

BLOCKED = "acc_blocked"
"""Key in the ``additional_kwargs`` of a guard's answer: the words that it answers bind nobody."""

NO_RESULT = "No result is known: the call may have run."
"""What stands in the place of a result that is missing."""


def as_messages(messages: Sequence[Any]) -> list[BaseMessage]:
    """Convert ``messages`` to LangChain's objects, each with an id; removals are left out.

    A message without an id gets one derived from the previous message, its kind and its words: the same across calls.

    Raises:
        InputError: An entry is neither a message nor a dict that represents one.
    """
    try:
        converted = convert_to_messages(list(messages))
    except (ValueError, NotImplementedError, LookupError, TypeError, AttributeError) as error:
        told = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(
            f"a message that LangChain cannot read: {told}",
            where="messages",
            hint='pass LangChain messages, or dicts with "role" and "content"',
        ) from error
    whole: list[BaseMessage] = []
    for message in converted:
        if not isinstance(message, RemoveMessage):
            whole.append(message if message.id else _identified(message, whole[-1:]))
    return whole


def _identified(message: BaseMessage, before: Sequence[BaseMessage]) -> BaseMessage:
    words = "\x00".join((*(str(m.id) for m in before), message.type, str(message.content)))
    return message.model_copy(update={"id": hashlib.sha256(words.encode()).hexdigest()[:24]})


def is_marked(message: BaseMessage) -> bool:
    """Return whether the message is marked as another agent's task."""
    return bool(message.additional_kwargs.get(TASK))


def with_fields(message: M, fields: Mapping[str, Any]) -> M:
    """Return the message with other ``additional_kwargs``; None takes one out."""
    told = {**message.additional_kwargs, **fields}
    kept = {name: value for name, value in told.items() if fields.get(name, name) is not None}
    if kept == message.additional_kwargs:
        return message
    return message.model_copy(update={"additional_kwargs": kept})


def calls_of(message: BaseMessage) -> Iterator[tuple[str, str]]:
    """Yield ids and names of the calls sent to a provider, including malformed ones."""
    if isinstance(message, AIMessage):
        for call in (*message.tool_calls, *message.invalid_tool_calls):
            yield str(call["id"] or ""), str(call["name"] or "")


def is_summary(message: BaseMessage) -> bool:
    """Return whether a summarizing middleware wrote it, or `MemoryController.export_messages`."""
    is_begun = isinstance(message, HumanMessage) and str(message.text).startswith(SUMMARY)
    return is_begun or message.additional_kwargs.get("lc_source") == "summarization"


def as_summary(message: BaseMessage) -> BaseMessage:
    """Return a summary that a system message holds as LangChain's summariser would have written it."""
    return HumanMessage(
        message.content, id=message.id, additional_kwargs={"lc_source": "summarization"}
    )


def is_answer(messages: Sequence[BaseMessage]) -> bool:
    """Return whether the last message is the agent's and makes no call."""
    return bool(messages) and isinstance(messages[-1], AIMessage) and not [*calls_of(messages[-1])]


def healed(messages: Sequence[BaseMessage], *, is_read: bool = False) -> list[BaseMessage]:
    """Return ``messages`` as every provider accepts them: behind each call its result.

    A result that came later moves to its call; a call without one gets one that says so; a result without a call is
    left out, unless the memory reads it: its call was compressed before it came.
    """
    results: dict[str, list[ToolMessage]] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            results.setdefault(message.tool_call_id, []).append(message)
    called = {call_id for message in messages for call_id, _ in calls_of(message)}
    whole: list[BaseMessage] = []
    for message in messages:
        if not isinstance(message, ToolMessage) or (is_read and message.tool_call_id not in called):
            whole.append(message)
        for call_id, name in calls_of(message):
            missing = ToolMessage(
                NO_RESULT, tool_call_id=call_id, name=name, status="error",
                id=f"{message.id}.{call_id}",
            )  # fmt: skip
            found = results.get(call_id)
            whole.append(found.pop(0) if found else missing)
    return whole


def role_and_rest(messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """Split off the leading system message (the agent's role) from the other messages."""
    first = 1 if messages and isinstance(messages[0], SystemMessage) else 0
    return list(messages[:first]), list(messages[first:])


def blocked(text: str) -> AIMessage:
    """Return a guard's answer to words of the user that bind nobody: the memory keeps them as a document's.

    A guard that answers before the memory's pass needs no mark. One that answers later does:
    ``{"messages": [blocked("I cannot help with that.")], "jump_to": "end"}``.
    """
    return AIMessage(text, additional_kwargs={BLOCKED: True})


def blocked_in(messages: Sequence[BaseMessage]) -> frozenset[str]:
    """Return the ids of the human messages to which a marked answer is the only one, or the last of several."""
    found: set[str] = set()
    for place, message in enumerate(messages):
        if isinstance(message, AIMessage) and message.additional_kwargs.get(BLOCKED):
            before = list(messages[:place])
            while before and isinstance(before[-1], AIMessage) and not [*calls_of(before[-1])]:
                before.pop()
            asked = takewhile(lambda m: isinstance(m, HumanMessage), reversed(before))
            found |= {str(m.id) for m in asked}
    return frozenset(found)
