"""A model's answers, and their bodies in both OpenAI APIs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from acc.testing.model_faults import SPOKEN, Fault, FaultName
from acc.testing.model_requests import Request
from acc.text.tokens import utf8_quarter

Finish: TypeAlias = Literal["stop", "length", "content_filter", "failed"]

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


@dataclass(frozen=True)
class Usage:
    """Billed tokens of a call. ``cached`` counts the tokens of ``input`` found in the cache."""

    input: int
    output: int
    cached: int = 0


@dataclass(frozen=True)
class Reply:
    """A model's answer.

    Attributes:
        content: A text, or a JSON value to send as text.
        usage: Tokens to bill; None counts them like `ModelServer`.
        fault: A fault of the answer; None for none.
    """

    content: Any = field(default_factory=dict)
    usage: Usage | None = None
    fault: Fault | None = None

    @property
    def text(self) -> str:
        """The content as text."""
        if isinstance(self.content, str):
            return self.content
        return json.dumps(self.content, ensure_ascii=False)


@dataclass(frozen=True)
class Completion:
    """One answer of a model, independent of the API.

    Attributes:
        text: Its text, or the arguments of its tool call; None for no output.
        refusal: Its refusal, sent instead of the text.
        finish: Why the answer ended.
        tool: Name of the called tool; empty for a message.
        usage: Billed tokens.
        reported: Whether the body's usage is present, null, or absent.
    """

    text: str | None
    refusal: str = ""
    finish: Finish = "stop"
    tool: str = ""
    usage: Usage = Usage(0, 0)
    reported: Literal["full", "null", "absent"] = "full"

    @property
    def output_tokens(self) -> int:
        """Tokens of the answer."""
        return utf8_quarter(self.refusal or self.text or "")


def cut_to_bound(said: Completion, bound: int | None) -> Completion:
    """Truncate ``said`` to ``bound`` tokens; a truncated answer has finish ``length``."""
    if bound is None or said.text is None or said.output_tokens <= bound:
        return said
    text = said.text.encode("utf-8", "surrogatepass")[: bound * 4].decode("utf-8", "ignore")
    return Completion(text, finish="length", tool=said.tool)


def body_of(said: Completion, request: Request, created: int) -> dict[str, Any]:
    """The body of ``said`` in the API of ``request``; ``created`` is in seconds since the epoch."""
    write = _chat_body if request.api == "chat" else _responses_body
    body = write(said, request, created)
    if said.reported == "null":
        body["usage"] = None
    elif said.reported == "absent":
        body.pop("usage", None)
    return body


def _chat_body(said: Completion, request: Request, created: int) -> dict[str, Any]:
    if said.finish == "failed":  # some gateways send status 200 with an error in the body
        return {"error": {"message": _FAILED, "code": 502}}
    usage = said.usage
    return {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion",
        "created": created,
        "model": request.model,
        "choices": [] if said.text is None else [_choice(said, request)],
        "usage": {
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
        },
    }


def _choice(said: Completion, request: Request) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text, "refusal": None}
    finish: str = said.finish
    if said.refusal:
        message |= {"content": None, "refusal": said.refusal}
    elif said.tool:
        call = {"name": said.tool, "arguments": said.text}
        message["content"] = None
        message["tool_calls"] = [
            {"id": f"call_{request.number}", "type": "function", "function": call}
        ]
        if request.body.get("tool_choice") == "required" and finish == "stop":
            finish = "tool_calls"  # a call forced by name ends with stop
    return {"index": 0, "finish_reason": finish, "logprobs": None, "message": message}


def _responses_body(said: Completion, request: Request, created: int) -> dict[str, Any]:
    usage, reason = said.usage, _INCOMPLETE.get(said.finish)
    failed = said.finish == "failed"
    status = "failed" if failed else "incomplete" if reason else "completed"
    item_status = "incomplete" if reason else "completed"
    return {
        "id": f"resp_{request.number}",
        "object": "response",
        "created_at": created,
        "status": status,
        "error": {"code": "server_error", "message": _FAILED} if failed else None,
        "incomplete_details": {"reason": reason} if reason else None,
        "model": request.model,
        "output": [] if failed else _output(said, request.number, item_status),
        "parallel_tool_calls": True,
        "tool_choice": request.body.get("tool_choice", "auto"),
        "tools": list(request.tools),
        "text": request.body.get("text") or {"format": {"type": "text"}},
        "usage": {
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.input + usage.output,
        },
    }


def _output(said: Completion, number: int, status: str) -> list[dict[str, Any]]:
    if said.text is None:
        return []
    if said.tool and not said.refusal:
        call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
        return [call | {"name": said.tool, "arguments": said.text, "status": status}]
    part: Mapping[str, Any] = {"type": "output_text", "text": said.text, "annotations": []}
    if said.refusal:
        part = {"type": "refusal", "refusal": said.refusal}
    message = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
    return [message | {"status": status, "content": [part]}]


_FAILED = "The server had an error while processing your request."


_Change: TypeAlias = Callable[[Completion], Completion]

_REFUSAL = "I'm sorry, but I can't help with that."
_PROSE = "Sure! Here is the object you asked for: {} Let me know if you need anything else."
_FENCED = "Here is the updated state:\n\n```json\n{}\n```\n\nI kept it short, as you asked."


def spoken(said: Completion, fault: Fault | None) -> Completion:
    """Apply ``fault`` to ``said``. Faults of other kinds, and None, change nothing."""
    if fault is None or fault.name not in SPOKEN:
        return said
    return _CHANGES[fault.name](said)


def _refusal(said: Completion) -> Completion:
    return replace(said, text="", refusal=_REFUSAL)


def _truncated(said: Completion) -> Completion:
    text = said.text or ""
    return replace(said, text=text[: max(1, len(text) // 2)], finish="length")


def _invalid_json(said: Completion) -> Completion:
    """Replace the last bracket by a comma, an error that models make."""
    return replace(said, text=(said.text or "{").rstrip()[:-1] + ",")


def _within(form: str) -> _Change:
    """Put text around the answer. A model that chats makes no tool call."""
    return lambda said: replace(said, text=form.format(said.text), tool="")


_CHANGES: Mapping[FaultName, _Change] = {
    "refusal": _refusal,
    "content_filter": lambda said: replace(said, text="", tool="", finish="content_filter"),
    "truncated": _truncated,
    "empty": lambda said: replace(said, text=""),
    "no_output": lambda said: replace(said, text=None),
    "invalid_json": _invalid_json,
    "wrong_shape": lambda said: replace(said, text='{"unexpected": [1, 2, {"three": null}]}'),
    "in_prose": _within(_PROSE),
    "fenced": _within(_FENCED),
    "failed": lambda said: replace(said, text="", finish="failed"),
    "missing_usage": lambda said: replace(said, reported="absent"),
    "null_usage": lambda said: replace(said, reported="null"),
}
