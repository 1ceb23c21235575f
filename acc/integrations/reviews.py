"""What became of a tool's call: it ran, failed, was changed or refused by a human; and what the human said.

LangChain's `HumanInTheLoopMiddleware` writes its answers beside a result, and so does this memory's middleware. A
tool can write the same fields. So everything that comes out of a tool is stripped of them, and what the middleware
writes is signed: it believes nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
    convert_to_messages,
)
from langgraph.types import Command

from acc.integrations.messages import BLOCKED, MADE, NO_RESULT, with_fields

_DECIDED = "hitl_interrupt_decision"
"""``lc_source`` of the message that LangChain's `HumanInTheLoopMiddleware` writes as the result."""

_MARK, _SIGNED = "acc_review", "acc_signed"
_FORGED = (_MARK, _SIGNED, "lc_source", "lc_data")
_SCRATCHPAD = "__pregel_scratchpad"


class Outcome(NamedTuple):
    """What became of a call: a note for who reads the result, what a human said, and whether the text is the tool's."""

    fate: str = ""
    words: tuple[str, ...] = ()
    is_tools: bool = True
    who: str = ""


@dataclass(frozen=True)
class ReviewMarks:
    """Signs what a middleware knows of a result with a key that no tool knows, and finds it again."""

    key: bytes = field(repr=False)

    def signed(self, message: ToolMessage, mark: Mapping[str, Any]) -> ToolMessage:
        """Return the message of a tool without the marks that it brought, with ``mark`` if there is one."""
        ours = {_MARK: dict(mark), _SIGNED: self._sign(message, mark)} if mark else {}
        return with_fields(message, {**dict.fromkeys(_FORGED), **ours})

    def found(self, message: ToolMessage) -> Mapping[str, Any]:
        """Return what the middleware wrote beside a message; empty if it wrote nothing."""
        mark = message.additional_kwargs.get(_MARK)
        given = message.additional_kwargs.get(_SIGNED)
        if not isinstance(mark, Mapping) or not isinstance(given, str):
            return {}
        return mark if hmac.compare_digest(given, self._sign(message, mark)) else {}

    def _sign(self, message: ToolMessage, mark: Mapping[str, Any]) -> str:
        said = json.dumps([message.tool_call_id, str(message.text), mark], sort_keys=True)
        return hmac.new(self.key, said.encode(), hashlib.sha256).hexdigest()[:32]


def is_decided(message: BaseMessage) -> bool:
    """Return whether `HumanInTheLoopMiddleware` wrote a result: it says what a human decided."""
    return message.additional_kwargs.get("lc_source") == _DECIDED


def outcome(message: ToolMessage, marks: ReviewMarks | None) -> Outcome:
    """Return what became of the call that ``message`` answers; without ``marks`` no field is believed."""
    if marks is not None and is_decided(message):
        return _decided(message)
    mark = marks.found(message) if marks is not None else {}
    words, who = tuple(map(str, mark.get("answers", ()))), str(mark.get("who", ""))
    ran = mark.get("ran")
    if isinstance(ran, Mapping):
        arguments = json.dumps(ran.get("args"), ensure_ascii=False, default=str)
        changed = f"a human changed the call to {ran.get('name')}({arguments})"
        return Outcome(changed, words, who=who)
    if mark.get("repeats"):
        return Outcome("a human answered", words, is_tools=False, who=who)
    is_failed = message.status == "error" and message.text != NO_RESULT
    return Outcome("failed" if is_failed else "", words, who=who)


def _decided(message: ToolMessage) -> Outcome:
    data = message.additional_kwargs.get("lc_data")
    text = str(message.text)
    if isinstance(data, Mapping) and data.get("decision") == "respond":
        return Outcome("not run: a human answered", (text,), is_tools=False)
    lead = f"User rejected the tool call for `{message.name}` with reason: "
    words = (text.removeprefix(lead),) if text.startswith(lead) else ()
    return Outcome("not run: a human refused", words, is_tools=False)


def reviewed(
    request: Any, result: Any, marks: ReviewMarks, *, who: str, kept: Collection[str]
) -> Any:
    """Return a tool's result with what the hook knows of a human's part in the call, and nothing that it brought.

    A tool writes neither marks nor the memory's channels (``kept``), and no other words under the id of a message that
    is there. ``who``: the user of the run, who answered.
    """
    given = _resumed(request.runtime)
    answers = [words for said in given for words in words_of(said)]
    mark: dict[str, Any] = {"answers": answers} if answers else {}
    if (ran := _changed(request)) is not None:
        mark["ran"] = ran
    if mark and who and len(given) < 2:  # of several answers, this user gave the last alone
        mark["who"] = who
    forms = {form for said in given for form in forms_of(said)}
    state = request.state if isinstance(request.state, Mapping) else {}
    there = {message.id: message for message in state.get("messages") or () if message.id}

    def own(message: BaseMessage) -> BaseMessage:
        if isinstance(message, ToolMessage):
            repeats = {"repeats": True} if message.text in forms else {}
            return marks.signed(message, {**mark, **repeats} if mark else {})
        message = with_fields(message, {BLOCKED: None})
        held = there.get(message.id)
        if held is None and isinstance(message, HumanMessage):
            return with_fields(message, {MADE: True})
        if held is None or isinstance(message, RemoveMessage) or held.content == message.content:
            return message
        return message.model_copy(update={"id": None})

    return _cleaned(result, own, kept)


def forms_of(said: Any) -> Iterator[str]:
    """Yield the texts that a tool or a node makes of an answer which it hands on as it is."""
    yield from words_of(said)
    yield str(said)
    yield from (json.dumps(said, ensure_ascii=is_ascii, default=str) for is_ascii in (True, False))
    for joined in ("\n", ", ", " "):
        yield joined.join(words_of(said))


Own = Callable[[BaseMessage], BaseMessage]


def _cleaned(result: Any, own: Own, channels: Collection[str]) -> Any:
    if isinstance(result, ToolMessage):
        return own(result)
    if isinstance(result, Command) and result.update:
        # A hand-over takes the channels along: there they are the other agent's to judge.
        kept = () if result.graph else channels
        return replace(result, update=_update(result.update, own, kept))
    if isinstance(result, list | tuple):
        return [_cleaned(each, own, channels) for each in result]
    return result


def _update(update: Any, own: Own, kept: Collection[str]) -> Any:
    """Return what a tool writes to the channels, a mapping or pairs, without those that are ``kept`` from it."""
    if isinstance(update, Mapping):
        return dict(_update(list(update.items()), own, kept))
    if not isinstance(update, list | tuple):
        return update
    return [
        (name, _messages(value, own) if name == "messages" else value)
        for name, value in update
        if name not in kept
    ]


def _messages(value: Any, own: Own) -> Any:
    """Return messages as LangGraph reads them: one or many, as objects or in short forms."""
    given = value if isinstance(value, list | tuple) and not _is_pair(value) else [value]
    with suppress(ValueError, NotImplementedError, TypeError):  # LangGraph tells it
        made = convert_to_messages(list(given))
        return [own(each) for each in made]
    return value


def _is_pair(value: Sequence[Any]) -> bool:
    return len(value) == 2 and all(isinstance(each, str) for each in value)


def words_of(said: Any) -> Iterator[str]:
    """Yield the texts in an answer: a text, an object, a list of them, as Agent Inbox and others send."""
    if isinstance(said, str):
        yield said
    elif isinstance(said, Mapping):
        named = ("data", "args", "message", "content", "text", "answer", "response", "feedback")
        for name in named if any(name in said for name in named) else said:
            # The arguments of a call, as an inbox sends them back edited, are nobody's words.
            if name in said and not (name == "args" and isinstance(said[name], Mapping)):
                yield from words_of(said[name])
    elif isinstance(said, Sequence) and not isinstance(said, bytes):
        for each in said:
            yield from words_of(each)


def _changed(request: Any) -> dict[str, Any] | None:
    """Return the call that ran, if it differs from the model's call."""
    call = request.tool_call
    state = request.state if isinstance(request.state, Mapping) else {}
    edited = (state.get("hitl_edited_tool_calls") or {}).get(call.get("id"))
    if edited is not None:
        return {"name": edited["name"], "args": edited["args"]}
    calls = (
        made
        for message in reversed(state.get("messages") or ())
        if isinstance(message, AIMessage)
        for made in message.tool_calls
    )
    made = next((each for each in calls if each["id"] == call.get("id")), None)
    if made is None or (made["name"], made["args"]) == (call["name"], call["args"]):
        return None
    return {"name": call["name"], "args": call["args"]}


def _resumed(runtime: Any) -> Sequence[Any]:
    """Return the values that resumed the graph for this call, from LangGraph's private task data.

    Without it the answer counts as the tool's words.
    """
    configured = (getattr(runtime, "config", None) or {}).get("configurable") or {}
    return tuple(getattr(configured.get(_SCRATCHPAD), "resume", None) or ())
