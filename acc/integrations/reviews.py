"""Find the fate of a tool call: ran, failed, never ran, or changed or refused by a human.

A call alone reads as if it ran. The observation of a call that did not run says so, and the human's
words (reason of a refusal, answer, text that resumes an interrupt) become an observation on their
own channel. Human acts come from the data that LangChain and `marked` attach to the result, never
from its text: a tool's output cannot pretend to be a human's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.types import Command

NO_RESULT = "No result: the call was interrupted before it finished."
"""Prompt text for the missing result of a call."""

_DECIDED = "hitl_interrupt_decision"
"""``lc_source`` of the message that LangChain's `HumanInTheLoopMiddleware` writes as the result."""

_RAN, _ANSWERED = "acc_ran", "acc_answered"
_SCRATCHPAD = "__pregel_scratchpad"


def fates(step: Sequence[BaseMessage]) -> list[str]:
    """Return the fate of each call of a step, in order; empty for a call that ran without failure.

    A step is a model's answer with the results of its calls (`acc.integrations.messages.steps`).
    """
    results = [m for m in step if isinstance(m, ToolMessage)]
    found = []
    for call_id, _ in calls_of(step[0]):
        place = next((i for i, r in enumerate(results) if (r.tool_call_id or "") == call_id), None)
        found.append(_fate(None if place is None else results.pop(place)))
    return found


def human_words(message: BaseMessage) -> list[str] | None:
    """Return a human's words in a tool's result; None if the result is the tool's.

    A refusal without a reason has no words. If a tool asks a human by an interrupt and returns the
    answer unchanged, the answer is the human's.
    """
    if not isinstance(message, ToolMessage):
        return None
    if (decision := _decision(message)) is not None:
        text = str(message.text)
        if decision == "respond":
            return [text]
        lead = f"User rejected the tool call for `{message.name}` with reason: "
        return [text.removeprefix(lead)] if text.startswith(lead) else []
    answers = message.additional_kwargs.get(_ANSWERED)
    return answers if answers == [str(message.text)] else None


def quoted_words(message: BaseMessage) -> list[str]:
    """Return a human's answers to a tool that adds its own text to the result."""
    if human_words(message) is not None:
        return []
    return list(message.additional_kwargs.get(_ANSWERED) or ())


def marked(request: Any, result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
    """Attach a human's changes and answers to the result of a call, LangChain's `ToolCallRequest`."""
    answers = [said for said in _resumed(request.runtime) if isinstance(said, str)]
    attached: dict[str, Any] = {_ANSWERED: answers} if answers else {}
    if (ran := _changed(request)) is not None:
        attached[_RAN] = ran
    if isinstance(result, ToolMessage):
        return _attach(result, attached)
    update = result.update if isinstance(result, Command) else None
    if not (isinstance(update, dict) and isinstance(update.get("messages"), list)):
        return result
    messages = [
        _attach(m, attached) if isinstance(m, ToolMessage) else m for m in update["messages"]
    ]
    return replace(result, update={**update, "messages": messages})


def _attach(message: ToolMessage, attached: Mapping[str, Any]) -> ToolMessage:
    ours = (_ANSWERED, _RAN)
    kept = {k: v for k, v in message.additional_kwargs.items() if k not in ours}
    if not attached and kept == message.additional_kwargs:
        return message
    return message.model_copy(update={"additional_kwargs": {**kept, **attached}})


def _fate(result: ToolMessage | None) -> str:
    if result is None or str(result.text) == NO_RESULT:
        return "no result"
    if (decision := _decision(result)) is not None:
        return "not run, a human answered" if decision == "respond" else "not run, a human refused"
    if isinstance(ran := result.additional_kwargs.get(_RAN), Mapping):
        arguments = json.dumps(ran.get("args"), ensure_ascii=False, default=str)
        return f"changed by a human, who ran {ran.get('name')}({arguments})"
    return "failed" if result.status == "error" else ""


def _decision(message: ToolMessage) -> str | None:
    if message.additional_kwargs.get("lc_source") != _DECIDED:
        return None
    data = message.additional_kwargs.get("lc_data")
    return str(data.get("decision")) if isinstance(data, Mapping) else ""


def _changed(request: Any) -> dict[str, Any] | None:
    """Return the call that ran, if it differs from the model's call."""
    call = request.tool_call
    edited = (request.state.get("hitl_edited_tool_calls") or {}).get(call.get("id"))
    if edited is not None:
        return {"name": edited["name"], "args": edited["args"]}
    made = next(
        (
            c
            for m in reversed(request.state.get("messages") or ())
            if isinstance(m, AIMessage)
            for c in m.tool_calls
            if c["id"] == call.get("id")
        ),
        None,
    )
    if made is None or (made["name"], made["args"]) == (call["name"], call["args"]):
        return None
    return {"name": call["name"], "args": call["args"]}


def _resumed(runtime: Any) -> Sequence[Any]:
    """Return the values that resumed the graph for this call, from LangGraph's task data.

    The data is private to LangGraph. Without it the answer counts as the tool's words.
    """
    configured = (getattr(runtime, "config", None) or {}).get("configurable") or {}
    return tuple(getattr(configured.get(_SCRATCHPAD), "resume", None) or ())


def calls_of(message: BaseMessage) -> Iterator[tuple[str, str]]:
    """Yield ids and names of the calls sent to a provider, including malformed ones."""
    if isinstance(message, AIMessage):
        for call in (*message.tool_calls, *message.invalid_tool_calls):
            yield str(call["id"] or ""), str(call["name"] or "")
