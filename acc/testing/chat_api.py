"""OpenAI's chat completions as the model server speaks them: requests, answers, and faults by name.

Each fault is one that a client has to treat in a way of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from acc.models.protocol import Usage
from acc.text.tokens import utf8_quarter


@dataclass(frozen=True)
class Message:
    """One message of a prompt: its role (``system`` for developers, too) and the text of its parts."""

    role: str
    text: str


@dataclass(frozen=True)
class Request:
    """One request that reached the server.

    Attributes:
        path: Its path.
        headers: Its headers, with lower-case names.
        number: Its position among all requests, from 1, in order of arrival.
        body: Its body; empty if it is no JSON object.
        model: Name of the model.
        messages: The prompt, in order.
        format: The type of its ``response_format``.
        schema: JSON Schema of the answer; None without one.
        strict: Whether it asks for the schema strictly.
        malformed: Why the body cannot be read; empty if it can.
    """

    path: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    number: int = 0
    body: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    messages: tuple[Message, ...] = ()
    format: str = "text"
    schema: Mapping[str, Any] | None = None
    strict: bool = False
    malformed: str = ""

    @property
    def prompt(self) -> str:
        """What the model reads: the schema, which providers put first, and the messages."""
        return "\n".join([json.dumps(self.schema), *(f"{m.role}: {m.text}" for m in self.messages)])

    @property
    def input_tokens(self) -> int:
        """Tokens of the prompt: UTF-8 bytes / 4."""
        return utf8_quarter(self.prompt)

    @property
    def limit(self) -> int | None:
        """The most tokens that the answer may have; None without a limit."""
        return self.body.get("max_completion_tokens") or self.body.get("max_tokens")


def read_request(raw: bytes, **received: Any) -> Request:
    """Read the body of a request; ``received`` holds its path, headers and number."""
    try:
        received["body"] = body = dict(json.loads(raw))
        wanted = body.get("response_format") or {"type": "text"}
        named = wanted["json_schema"] if wanted["type"] == "json_schema" else {}
        return Request(
            **received,
            model=str(body.get("model") or ""),
            messages=tuple(map(_message, body["messages"])),
            format=wanted["type"],
            schema=named["schema"] if named else None,
            strict=bool(named.get("strict")),
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        return Request(**received, malformed=f"{type(error).__name__}: {error}")


def _message(body: Mapping[str, Any]) -> Message:
    role, content = str(body["role"]), body.get("content") or ""
    if not isinstance(content, str):
        content = "\n".join(str(part["text"]) for part in content if "text" in part)
    return Message("system" if role == "developer" else role, content)


@dataclass(frozen=True)
class Response:
    """An HTTP response, and how to send it: whole, never, or as a closed connection."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    sending: Literal["whole", "never", "closed"] = "whole"


def json_response(status: int, body: Any) -> Response:
    """A response with ``body`` as JSON."""
    return Response(status, json.dumps(body).encode(), {"content-type": "application/json"})


def error_response(status: int, message: str, code: str = "") -> Response:
    """An error in OpenAI's form. An empty ``code`` becomes null."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    error = {"message": message, "type": kind, "param": None, "code": code or None}
    return json_response(status, {"error": error})


@dataclass(frozen=True)
class Reply:
    """A model's answer.

    Attributes:
        content: A text, or a JSON value to send as text.
        usage: Tokens to bill; None for UTF-8 bytes / 4 of prompt and answer.
        refusal: Its refusal, sent instead of the content.
        finish: Why it ends.
    """

    content: Any = field(default_factory=dict)
    usage: Usage | None = None
    refusal: str = ""
    finish: Literal["stop", "length", "content_filter"] = "stop"

    @property
    def text(self) -> str:
        """The content as text."""
        if isinstance(self.content, str):
            return self.content
        return json.dumps(self.content, ensure_ascii=False)

    def response(self, request: Request) -> Response:
        """Return the response to ``request``, cut at its limit of tokens."""
        text, finish, limit = self.text, self.finish, request.limit
        if limit is not None and utf8_quarter(text) > limit:
            text = text.encode("utf-8", "surrogatepass")[: limit * 4].decode("utf-8", "ignore")
            finish = "length"
        said = {"content": None if self.refusal else text, "refusal": self.refusal or None}
        message = {"role": "assistant", **said}
        body = {
            "id": f"chatcmpl-{request.number}", "object": "chat.completion", "created": 0,
            "model": request.model,
            "choices": [{"index": 0, "finish_reason": finish, "logprobs": None, "message": message}],
            "usage": self._bill(request, self.refusal or text),
        }  # fmt: skip
        return json_response(200, body)

    def _bill(self, request: Request, said: str) -> dict[str, Any]:
        usage = self.usage or Usage(1, request.input_tokens, utf8_quarter(said))
        return {
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
        }


_STATUS: Mapping[str, tuple[int, str, str]] = {
    "400": (400, "invalid_value", "Invalid value in the request."),
    "401": (401, "invalid_api_key", "Incorrect API key provided."),
    "404": (404, "model_not_found", "The model does not exist or you do not have access to it."),
    "429": (429, "rate_limit_exceeded", "Rate limit reached for requests."),
    "500": (500, "", "The server had an error while processing your request."),
    "context_overflow": (400, "context_length_exceeded", "The maximum context length is 8192."),
}
"""Errors in OpenAI's form: status, code, message."""

_PAGE = b"<!doctype html><html><head><title>Welcome</title></head><body></body></html>"

_INSTEAD: Mapping[str, Response] = {
    "html_page": Response(200, _PAGE, {"content-type": "text/html; charset=utf-8"}),
    "no_response": Response(200, b"", sending="closed"),
    "hang": Response(200, b"", sending="never"),
}
"""What is sent in place of an answer: a page like that of a wrong address; a connection that closes before any byte;
nothing until the client or the server hangs up."""

_SPOILT: Mapping[str, Reply] = {
    "refusal": Reply(refusal="I'm sorry, but I can't help with that."),
    "content_filter": Reply("", finish="content_filter"),
    "empty": Reply(""),
    "wrong_shape": Reply('{"unexpected": [1, 2, {"three": null}]}'),
    "truncated": Reply('{"', finish="length"),
}
"""Answers that are none; ``wrong_shape`` is JSON with none of the requested fields."""

FAULTS = (*_STATUS, *_INSTEAD, *_SPOILT)
"""The names."""


@dataclass(frozen=True)
class Fault:
    """One fault, in place of an answer.

    Attributes:
        name: One of `FAULTS`.
        code: Error code instead of the default one, such as "insufficient_quota".
        message: Error message instead of the default one.
        body: The whole JSON body of a status, for servers whose errors have another form than OpenAI's.
        headers: Additional headers of the response. By default a status tells clients to try again at once, so that
            no test sleeps; with ``{"retry-after": "2"}`` after two seconds.

    Raises:
        ValueError: The name is unknown.
    """

    name: str
    code: str = ""
    message: str = ""
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=lambda: {"retry-after-ms": "1"})

    def __post_init__(self) -> None:
        if self.name not in FAULTS:
            raise ValueError(f"unknown fault {self.name!r}; the faults are {', '.join(FAULTS)}")

    def response(self, request: Request) -> Response:
        """Return what the server sends."""
        if self.name in _SPOILT:
            return _SPOILT[self.name].response(request)
        if self.name in _INSTEAD:
            return _INSTEAD[self.name]
        status, code, message = _STATUS[self.name]
        told = error_response(status, self.message or message, self.code or code)
        told = told if self.body is None else json_response(status, self.body)
        return replace(told, headers={**told.headers, **self.headers})
