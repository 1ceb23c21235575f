"""OpenAI's chat completions as the model server speaks them: requests are read, answers and errors are written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal, TypeAlias, get_args

from acc.text.tokens import utf8_quarter

Format: TypeAlias = Literal["json_schema", "json_object", "text"]
"""The form of the answer that a request asks for."""

FORMATS: tuple[Format, ...] = get_args(Format)


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
        format: The form of the answer that it asks for.
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
    format: Format = "text"
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
        return Request(**received, **_parts(body))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        return Request(**received, malformed=f"{type(error).__name__}: {error}")


def _parts(body: Mapping[str, Any]) -> dict[str, Any]:
    wanted = body.get("response_format") or {}
    format_ = wanted.get("type", "text")
    if format_ not in FORMATS:
        raise ValueError(f"{format_!r} is not a format")
    named = wanted["json_schema"] if format_ == "json_schema" else {}
    return {
        "model": str(body.get("model") or ""),
        "messages": tuple(Message(_role(each), _text(each)) for each in body["messages"]),
        "format": format_,
        "schema": named["schema"] if named else None,
        "strict": bool(named.get("strict")),
    }


def _role(message: Mapping[str, Any]) -> str:
    role = str(message["role"])
    return "system" if role == "developer" else role


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in content if "text" in part)


@dataclass(frozen=True)
class Response:
    """An HTTP response, and how to send it.

    Attributes:
        headers: Additional headers; they replace the default ones.
        claimed: Bytes that content-length claims in excess of the body.
        delay: Seconds before the first byte; infinite for never.
        chunk: Bytes of the body to send at a time, every ``every`` seconds; 0 for all at once.
        bytes_sent: Bytes of the body to send; None for all, -1 for no body and no headers.
        end: What happens to the connection afterwards.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    claimed: int = 0
    delay: float = 0.0
    chunk: int = 0
    every: float = 0.0
    bytes_sent: int | None = None
    end: Literal["keep", "close", "reset"] = "keep"

    @property
    def head(self) -> bytes:
        """Status line and headers."""
        lines = {"content-type": "application/json"} | dict(self.headers)
        lines["content-length"] = str(len(self.body) + self.claimed)
        if self.end != "keep":
            lines["connection"] = "close"
        first = f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}"
        text = "\r\n".join([first, *(f"{name}: {value}" for name, value in lines.items())])
        return f"{text}\r\n\r\n".encode("latin-1")


def json_response(status: int, body: Any) -> Response:
    """A response with ``body`` as JSON."""
    return Response(status, json.dumps(body).encode())


def error_response(status: int, message: str, code: str = "") -> Response:
    """An error in OpenAI's form. An empty ``code`` becomes null."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    error = {"message": message, "type": kind, "param": None, "code": code or None}
    return json_response(status, {"error": error})


@dataclass(frozen=True)
class Usage:
    """Billed tokens of a call. ``cached`` counts the tokens of ``input`` that the provider had in its cache."""

    input: int
    output: int
    cached: int = 0


@dataclass(frozen=True)
class Completion:
    """One answer of a model.

    Attributes:
        text: Its text; None for no output.
        refusal: Its refusal, sent instead of the text.
        finish: Why it ends.
        error: What a gateway reports in place of an answer, despite status 200.
        usage: What it cost; None for what the server counts.
        reported: Whether the body's usage is present, null, or absent.
    """

    text: str | None
    refusal: str = ""
    finish: Literal["stop", "length", "content_filter"] = "stop"
    error: str = ""
    usage: Usage | None = None
    reported: Literal["full", "null", "absent"] = "full"

    def cut(self, limit: int | None) -> Completion:
        """Return the answer with ``limit`` tokens at most."""
        if limit is None or self.text is None or utf8_quarter(self.text) <= limit:
            return self
        text = self.text.encode("utf-8", "surrogatepass")[: limit * 4].decode("utf-8", "ignore")
        return Completion(text, finish="length", usage=self.usage)

    def body(self, request: Request) -> dict[str, Any]:
        """Return the body of the response to ``request``."""
        if self.error:
            return {"error": {"message": self.error, "code": 502}}
        said = self.refusal or self.text or ""
        usage = self.usage or Usage(request.input_tokens, utf8_quarter(said))
        message = {"role": "assistant", "content": self.text, "refusal": None}
        if self.refusal:
            message |= {"content": None, "refusal": self.refusal}
        choice = {"index": 0, "finish_reason": self.finish, "logprobs": None, "message": message}
        body: dict[str, Any] = {
            "id": f"chatcmpl-{request.number}",
            "object": "chat.completion",
            "created": 0,
            "model": request.model,
            "choices": [] if self.text is None else [choice],
        }
        if self.reported != "absent":
            body["usage"] = None if self.reported == "null" else _billed(usage)
        return body


def _billed(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }
