"""A client's request to a model, parsed from the body of either OpenAI API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from acc.text.tokens import utf8_quarter

Api: TypeAlias = Literal["chat", "responses", "models", "other"]
"""``chat`` is POST /v1/chat/completions, ``responses`` POST /v1/responses, ``models`` GET
/v1/models.
"""

Format: TypeAlias = Literal["json_schema", "tool", "json_object", "text"]
"""The requested form of the answer; ``tool`` is a call that the client forces."""

FORMATS: tuple[Format, ...] = ("json_schema", "tool", "json_object", "text")

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
class Asked:
    """The content of a request body, in one form for both APIs.

    Attributes:
        model: Name of the model.
        messages: The prompt, in order.
        format: The requested form of the answer.
        schema: JSON Schema of the answer or of the forced tool's arguments; None without one.
        schema_name: Name of the schema or of the forced tool.
        strict: Whether the request sets ``strict`` for the schema.
        tools: All offered tools, in the form of the body.
        max_output_tokens: Limit of the answer, under any of its names; None without one.
    """

    model: str = ""
    messages: tuple[Message, ...] = ()
    format: Format = "text"
    schema: Mapping[str, Any] | None = None
    schema_name: str = ""
    strict: bool = False
    tools: tuple[Mapping[str, Any], ...] = ()
    max_output_tokens: int | None = None

    @property
    def prompt(self) -> str:
        """The model's input: tools and schema, which providers put first, and the messages."""
        schema = self.schema if self.format == "json_schema" else None
        frame = json.dumps([*self.tools, schema])
        return "\n".join([frame, *(f"{said.role}: {said.text}" for said in self.messages)])

    @property
    def input_tokens(self) -> int:
        """Tokens of the prompt."""
        return utf8_quarter(self.prompt)


@dataclass(frozen=True)
class Request(Asked):
    """One request that reached the server.

    Attributes:
        number: Its position among all requests, from 1, in order of arrival.
        at: Arrival time in seconds of the server's clock.
        api: The requested API.
        path: Its path.
        headers: Its headers, with lower-case names.
        raw: Its body as bytes.
        body: Its body as an object; empty if it is no JSON object.
        malformed: Why the body cannot be parsed; empty if it can.
    """

    number: int = 0
    at: float = 0.0
    api: Api = "other"
    path: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes = b""
    body: Mapping[str, Any] = field(default_factory=dict)
    malformed: str = ""


def read_body(raw: bytes) -> Mapping[str, Any]:
    """Parse ``raw`` as a JSON object.

    Raises:
        ValueError: It is no JSON object.
    """
    return _object(json.loads(raw), "the body")


def read_asked(api: Api, body: Mapping[str, Any]) -> Asked:
    """Parse the body of a call to ``api``.

    Raises:
        ValueError: A field has a shape that neither API knows.
    """
    chat = api == "chat"
    messages = _chat_messages(body) if chat else _input_messages(body)
    tools = tuple(_objects(body.get("tools"), "tools"))
    format_, name, schema, strict = _asked_format(body, tools, chat)
    bounds = ("max_completion_tokens", "max_tokens", "max_output_tokens")
    most = next((body[name] for name in bounds if body.get(name) is not None), None)
    if most is not None and (not isinstance(most, int) or most < 1):
        raise ValueError(f"{most!r} is no number of output tokens")
    return Asked(
        model=str(body.get("model") or ""),
        messages=tuple(messages),
        format=format_,
        schema=schema,
        schema_name=name,
        strict=strict,
        tools=tools,
        max_output_tokens=most,
    )


def _asked_format(
    body: Mapping[str, Any], tools: tuple[Mapping[str, Any], ...], chat: bool
) -> tuple[Format, str, Mapping[str, Any] | None, bool]:
    forced = _forced_tool(body.get("tool_choice"), tools)
    if forced is not None:
        schema = _object(forced.get("parameters") or {}, "parameters")
        return "tool", str(forced.get("name", "")), schema, bool(forced.get("strict"))
    where = body if chat else _object(body.get("text") or {}, "text")
    wanted = _object(where.get("response_format" if chat else "format") or {}, "format")
    type_ = wanted.get("type", "text")
    if type_ not in ("json_schema", "json_object", "text"):
        raise ValueError(f"{type_!r} is no format")
    if type_ != "json_schema":
        return type_, "", None, False
    inner = _object(wanted.get("json_schema"), "json_schema") if chat else wanted
    schema = _object(inner.get("schema"), "schema")
    return "json_schema", str(inner.get("name", "")), schema, bool(inner.get("strict"))


def _forced_tool(choice: object, tools: tuple[Mapping[str, Any], ...]) -> Mapping[str, Any] | None:
    functions = [_object(tool.get("function", tool), "function") for tool in tools]
    if choice == "required":
        if not functions:
            raise ValueError("tool_choice is required, but there are no tools")
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
        raise ValueError(f"{name} is no list")
    return [_object(one, f"an entry of {name}") for one in value]


def _object(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} is no object")
    return value
