"""Requests and responses of the two OpenAI APIs: parses request bodies and writes response bodies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal, TypeAlias, get_args

from acc.text.tokens import utf8_quarter

Api: TypeAlias = Literal["chat", "responses", "models", "other"]
"""``chat`` is POST /v1/chat/completions, ``responses`` POST /v1/responses, ``models`` GET
/v1/models.
"""

Format: TypeAlias = Literal["json_schema", "tool", "json_object", "text"]
"""The requested form of the answer; ``tool`` is a call that the client forces."""

FORMATS: tuple[Format, ...] = get_args(Format)

_ROLES = {"developer": "system", "function": "tool"}


@dataclass(frozen=True)
class Message:
    """One message of a prompt.

    Attributes:
        role: ``system`` (also for developer messages and the instructions of the responses API),
            ``user``, ``assistant`` or ``tool``.
        text: Its text parts, or the arguments of its tool calls, one per line.
    """

    role: str
    text: str


@dataclass(frozen=True)
class Request:
    """One request that reached the server, in one form for both APIs.

    Attributes:
        model: Name of the model.
        messages: The prompt, in order.
        format: The requested form of the answer.
        schema: JSON Schema of the answer or of the forced tool's arguments; None without one.
        schema_name: Name of the schema or of the forced tool.
        strict: Whether the request sets ``strict`` for the schema.
        tools: All offered tools, in the form of the body.
        max_output_tokens: Limit of the answer, under any of its names; None without one.
        number: Its position among all requests, from 1, in order of arrival.
        at: Arrival time in seconds of the server's clock.
        api: The requested API.
        path: Its path.
        headers: Its headers, with lower-case names.
        raw: Its body as bytes.
        body: Its body as an object; empty if it is no JSON object.
        malformed: Why the body cannot be parsed; empty if it can.
    """

    model: str = ""
    messages: tuple[Message, ...] = ()
    format: Format = "text"
    schema: Mapping[str, Any] | None = None
    schema_name: str = ""
    strict: bool = False
    tools: tuple[Mapping[str, Any], ...] = ()
    max_output_tokens: int | None = None
    number: int = 0
    at: float = 0.0
    api: Api = "other"
    path: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes = b""
    body: Mapping[str, Any] = field(default_factory=dict)
    malformed: str = ""

    @property
    def prompt(self) -> str:
        """The model's input: tools and schema, which providers put first, and the messages."""
        schema = self.schema if self.format == "json_schema" else None
        frame = json.dumps([*self.tools, schema])
        return "\n".join([frame, *(f"{m.role}: {m.text}" for m in self.messages)])

    @property
    def input_tokens(self) -> int:
        """Tokens of the prompt."""
        return utf8_quarter(self.prompt)


def read_request(api: Api, raw: bytes, **received: Any) -> Request:
    """Parse a request with the body ``raw``. ``received`` holds its other attributes."""
    received |= {"api": api, "raw": raw}
    if api not in ("chat", "responses"):
        return Request(**received)
    try:
        received["body"] = _object(json.loads(raw), "the body")
        return Request(**read_body(api, received["body"]), **received)
    except (ValueError, KeyError, RecursionError) as error:
        return Request(**received, malformed=str(error))


def read_body(api: Api, body: Mapping[str, Any]) -> dict[str, Any]:
    """Parse the body of a call to ``api`` into attributes of a `Request`.

    Raises:
        ValueError: A field has a shape that neither API knows.
    """
    chat = api == "chat"
    tools = tuple(_objects(body.get("tools"), "tools"))
    names = ("max_completion_tokens", "max_tokens", "max_output_tokens")
    limit = next((body[name] for name in names if body.get(name) is not None), None)
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise ValueError(f"{limit!r} is not a number of output tokens")
    return {
        "model": str(body.get("model") or ""),
        "messages": tuple(_chat_messages(body) if chat else _input_messages(body)),
        "tools": tools,
        "max_output_tokens": limit,
        **_requested_format(body, tools, chat),
    }


def _requested_format(
    body: Mapping[str, Any], tools: tuple[Mapping[str, Any], ...], chat: bool
) -> dict[str, Any]:
    forced = _forced_tool(body.get("tool_choice"), tools)
    if forced is not None:
        return _with_schema("tool", forced, forced.get("parameters") or {})
    parent = body if chat else _object(body.get("text") or {}, "text")
    wanted = _object(parent.get("response_format" if chat else "format") or {}, "format")
    type_ = wanted.get("type", "text")
    if type_ not in ("json_schema", "json_object", "text"):
        raise ValueError(f"{type_!r} is not a format")
    if type_ != "json_schema":
        return {"format": type_}
    inner = _object(wanted.get("json_schema"), "json_schema") if chat else wanted
    return _with_schema("json_schema", inner, inner.get("schema"))


def _with_schema(format_: Format, named: Mapping[str, Any], schema: object) -> dict[str, Any]:
    return {
        "format": format_,
        "schema": _object(schema, "schema"),
        "schema_name": str(named.get("name", "")),
        "strict": bool(named.get("strict")),
    }


def _forced_tool(choice: object, tools: tuple[Mapping[str, Any], ...]) -> Mapping[str, Any] | None:
    functions = [_object(tool.get("function", tool), "function") for tool in tools]
    if choice == "required":
        if not functions:
            raise ValueError("tool_choice is required, but the request offers no tools")
        return functions[0]
    if not isinstance(choice, Mapping):
        return None
    name = _object(choice.get("function", choice), "tool_choice").get("name")
    for function in functions:
        if function.get("name") == name:
            return function
    raise ValueError(f"tool_choice names {name!r}, which is none of the tools")


def _chat_messages(body: Mapping[str, Any]) -> Iterator[Message]:
    for message in _objects(body.get("messages"), "messages"):
        calls = _objects(message.get("tool_calls"), "tool_calls")
        arguments = [str(_object(call.get("function"), "function")["arguments"]) for call in calls]
        text = "\n".join(filter(None, [_text(message.get("content")), *arguments]))
        yield Message(_role(message), text)


def _input_messages(body: Mapping[str, Any]) -> Iterator[Message]:
    if body.get("instructions"):
        yield Message("system", _text(body["instructions"]))
    given = body.get("input")
    if isinstance(given, str):
        yield Message("user", given)
        return
    for item in _objects(given, "input"):
        if item.get("type") == "function_call":
            yield Message("assistant", str(item.get("arguments", "")))
        elif item.get("type") == "function_call_output":
            yield Message("tool", _text(item.get("output")))
        elif "role" in item:
            yield Message(_role(item), _text(item.get("content")))


def _role(message: Mapping[str, Any]) -> str:
    role = str(message.get("role", ""))
    return _ROLES.get(role, role)


def _text(content: object) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    parts = _objects(content, "content")
    return "\n".join(str(part["text"]) for part in parts if "text" in part)


def _objects(value: object, name: str) -> list[Mapping[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"{name} is not a list")
    return [_object(one, f"an entry of {name}") for one in value]


def _object(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} is not an object")
    return value


@dataclass(frozen=True)
class Response:
    """An HTTP response, and how to send it.

    Attributes:
        headers: Additional headers; they replace the default ones.
        claimed: Bytes that content-length claims in excess of the body.
        delay: Seconds before the first byte; infinite for never.
        chunk: Bytes of the body to send at a time, every ``every`` seconds; 0 for all at once.
        bytes_sent: Bytes of the body to send; None for all, -1 for no body and no headers.
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


def json_response(status: int, body: Any, headers: Mapping[str, str] | None = None) -> Response:
    """A response with ``body`` as JSON."""
    return Response(status, json.dumps(body).encode(), headers or {})


def error_response(status: int, message: str, code: str, **more: str) -> Response:
    """An error in OpenAI's form with additional fields ``more``. An empty ``code`` becomes null."""
    type_ = "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")
    error = {"message": message, "type": type_, "param": None, "code": code or None, **more}
    return json_response(status, {"error": error})


_TYPES = {401: "authentication_error", 429: "requests"}


Finish: TypeAlias = Literal["stop", "length", "content_filter", "failed"]

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


@dataclass(frozen=True)
class Usage:
    """Billed tokens of a call. ``cached`` counts the tokens of ``input`` found in the cache."""

    input: int
    output: int
    cached: int = 0


@dataclass(frozen=True)
class Completion:
    """One answer of a model, independent of the API.

    Attributes:
        text: Its text, or the arguments of its tool call; None for no output.
        refusal: Its refusal, sent instead of the text.
        tool: Name of the called tool; empty for a message.
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


def cut_to_limit(answer: Completion, limit: int | None) -> Completion:
    """Truncate ``answer`` to ``limit`` tokens; a truncated answer has finish ``length``."""
    if limit is None or answer.text is None or answer.output_tokens <= limit:
        return answer
    text = answer.text.encode("utf-8", "surrogatepass")[: limit * 4].decode("utf-8", "ignore")
    return Completion(text, finish="length", tool=answer.tool)


def body_of(answer: Completion, request: Request, created: int) -> dict[str, Any]:
    """The body of ``answer`` in the API of ``request``; ``created`` is in seconds since the epoch."""
    write = _chat_body if request.api == "chat" else _responses_body
    body = write(answer, request, created)
    if answer.reported == "null":
        body["usage"] = None
    elif answer.reported == "absent":
        body.pop("usage", None)
    return body


def _chat_body(answer: Completion, request: Request, created: int) -> dict[str, Any]:
    if answer.finish == "failed":  # some gateways send status 200 with an error in the body
        return {"error": {"message": _FAILED, "code": 502}}
    usage = answer.usage
    return {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion",
        "created": created,
        "model": request.model,
        "choices": [] if answer.text is None else [_choice(answer, request)],
        "usage": {
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
        },
    }


def _choice(answer: Completion, request: Request) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
    finish: str = answer.finish
    if answer.refusal:
        message |= {"content": None, "refusal": answer.refusal}
    elif answer.tool:
        call = {"name": answer.tool, "arguments": answer.text}
        message["content"] = None
        message["tool_calls"] = [
            {"id": f"call_{request.number}", "type": "function", "function": call}
        ]
        if request.body.get("tool_choice") == "required" and finish == "stop":
            finish = "tool_calls"  # a call forced by name ends with stop
    return {"index": 0, "finish_reason": finish, "logprobs": None, "message": message}


def _responses_body(answer: Completion, request: Request, created: int) -> dict[str, Any]:
    usage, reason = answer.usage, _INCOMPLETE.get(answer.finish)
    failed = answer.finish == "failed"
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
        "output": [] if failed else _output(answer, request.number, item_status),
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


def _output(answer: Completion, number: int, status: str) -> list[dict[str, Any]]:
    if answer.text is None:
        return []
    if answer.tool and not answer.refusal:
        call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
        return [call | {"name": answer.tool, "arguments": answer.text, "status": status}]
    part: Mapping[str, Any] = {"type": "output_text", "text": answer.text, "annotations": []}
    if answer.refusal:
        part = {"type": "refusal", "refusal": answer.refusal}
    message = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
    return [message | {"status": status, "content": [part]}]


_FAILED = "The server had an error while processing your request."
