"""Named faults of a model server, and what they do to a response.

Fault("429", retry_after=2)
Reply({"goal": "..."}, fault=Fault("fenced"))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, Literal, TypeAlias, get_args

from acc.testing.model_api import (
    FORMATS,
    Api,
    Completion,
    Format,
    Request,
    Response,
    error_response,
    json_response,
)  # fmt: skip

StatusFault: TypeAlias = Literal[
    "400", "401", "403", "404", "408", "409", "413", "422", "429", "500", "502", "503", "504"
]
"""An HTTP status with an error body in OpenAI's form."""

InsteadFault: TypeAlias = (
    StatusFault
    | Literal["context_overflow", "html_error", "html_page", "not_json", "bad_gzip", "no_response",
              "hang"]
)  # fmt: skip
"""Faults that replace the model's answer.

A status; ``context_overflow``, a 400 with the code context_length_exceeded; ``html_error``, a
gateway's page with status 502; ``html_page``, a page with status 200, like that of a wrong address;
``not_json``, status 200 and a JSON content type, but no JSON; ``bad_gzip``, status 200 and gzip
encoding, but no gzip; ``no_response``, the connection closes before any byte; ``hang``, nothing
until the client hangs up or the server closes.
"""

SpokenFault: TypeAlias = Literal[
    "refusal", "content_filter", "truncated", "empty", "no_output", "invalid_json", "wrong_shape",
    "in_prose", "fenced", "failed", "missing_usage", "null_usage"
]  # fmt: skip
"""Faults of the answer itself, with status 200.

``truncated`` is half of the answer, and ``length`` or ``incomplete``; ``empty`` an empty text;
``no_output`` no choice and no output item; ``wrong_shape`` JSON without any of the requested
fields; ``in_prose`` and ``fenced`` the answer within other text, as a message even if the client
forces a tool call; ``failed`` a body that reports an error despite its status.
"""

SendingFault: TypeAlias = Literal[
    "delay", "slow_drip", "reset_mid_body", "content_length_long", "content_length_short"
]
"""Faults of the transmission.

``delay`` waits before the first byte; ``slow_drip`` sends ``chunk`` bytes of the body, waits, and
repeats; ``reset_mid_body`` resets the connection after half of the body; ``content_length_long``
announces more bytes than it sends, ``content_length_short`` fewer.
"""

FaultName: TypeAlias = InsteadFault | SpokenFault | SendingFault

STATUSES: tuple[StatusFault, ...] = get_args(StatusFault)
INSTEAD: tuple[InsteadFault, ...] = (*STATUSES, *get_args(get_args(InsteadFault)[-1]))
SPOKEN: tuple[SpokenFault, ...] = get_args(SpokenFault)
SENDING: tuple[SendingFault, ...] = get_args(SendingFault)
FAULTS: tuple[FaultName, ...] = (*INSTEAD, *SPOKEN, *SENDING)


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        name: One of `FAULTS`.
        seconds: Wait of ``delay``, and between two chunks of ``slow_drip``; both require it.
        chunk: Bytes that ``slow_drip`` sends at a time.
        retry_after: The header Retry-After: seconds, an aware datetime sent as an HTTP date, or a
            literal text.
        retry_after_ms: The header retry-after-ms.
        code: Error code instead of the default one, such as "insufficient_quota".
        message: Error message instead of the default one.
        generation: The model's output, sent in the error's field ``failed_generation`` as Groq
            does.
        headers: Additional headers of the response.

    Raises:
        ValueError: The name is unknown, or it requires ``seconds`` and none are given.
    """

    name: FaultName
    seconds: float = 0.0
    chunk: int = 4
    retry_after: float | datetime | str | None = None
    retry_after_ms: float | None = None
    code: str = ""
    message: str = ""
    generation: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in FAULTS:
            raise ValueError(f"unknown fault {self.name!r}; the faults are {', '.join(FAULTS)}")
        if self.name in ("delay", "slow_drip") and self.seconds <= 0:
            raise ValueError(f"{self.name} needs seconds: Fault({self.name!r}, seconds=1)")
        if self.chunk < 1:
            raise ValueError(f"chunk is {self.chunk} bytes, and must be 1 or more")

    @property
    def replaces_answer(self) -> bool:
        """Whether the fault replaces the answer; the request then never reaches the model."""
        return self.name in INSTEAD

    @property
    def response_headers(self) -> dict[str, str]:
        """Headers that the fault adds to the response."""
        added = dict(self.headers)
        if self.retry_after is not None:
            added["retry-after"] = _retry_after(self.retry_after)
        if self.retry_after_ms is not None:
            added["retry-after-ms"] = f"{self.retry_after_ms:g}"
        return added


def _retry_after(value: float | datetime | str) -> str:
    if isinstance(value, datetime):
        return format_datetime(value.astimezone(UTC), usegmt=True)
    return value if isinstance(value, str) else f"{value:.15g}"


def fault_response(fault: Fault) -> Response:
    """The response that ``fault`` sends instead of an answer."""
    name = fault.name
    responses = {
        "html_error": _page(502, "502 Bad Gateway"),
        "html_page": _page(200, "Welcome"),
        "not_json": Response(200, b"upstream connect error or disconnect before headers"),
        "bad_gzip": Response(200, b"\x1f\x8b\x08 no gzip", {"content-encoding": "gzip"}),
        "no_response": Response(200, b""),
        "hang": Response(200, b""),
    }
    if name in _STATUS:
        status, code, message = _STATUS[name]
        more = {"failed_generation": fault.generation} if fault.generation else {}
        error = error_response(status, fault.message or message, fault.code or code, **more)
        return with_fault(error, fault)
    return with_fault(responses[name], fault)


def _page(status: int, title: str) -> Response:
    page = f"<!doctype html><html><head><title>{title}</title></head><body></body></html>"
    return Response(status, page.encode(), {"content-type": "text/html; charset=utf-8"})


_OVERFLOW = (
    "This model's maximum context length is 8192 tokens. "
    "However, your messages resulted in 9001 tokens."
)

_STATUS: Mapping[FaultName, tuple[int, str, str]] = {
    "400": (400, "invalid_value", "Invalid value in the request."),
    "401": (401, "invalid_api_key", "Incorrect API key provided."),
    "403": (403, "unsupported_country_region_territory", "Country or region not supported."),
    "404": (404, "model_not_found", "The model does not exist or you do not have access to it."),
    "408": (408, "", "The request timed out."),
    "409": (409, "", "The request conflicts with another one."),
    "413": (413, "", "The request is too large."),
    "422": (422, "", "The request cannot be processed."),
    "429": (429, "rate_limit_exceeded", "Rate limit reached for requests."),
    "500": (500, "", "The server had an error while processing your request."),
    "502": (502, "", "Bad gateway."),
    "503": (503, "", "The engine is currently overloaded, please try again later."),
    "504": (504, "", "Gateway time-out."),
    "context_overflow": (400, "context_length_exceeded", _OVERFLOW),
}


def with_fault(response: Response, fault: Fault | None) -> Response:
    """Apply the fault's headers and its way of sending to ``response``."""
    if fault is None:
        return response
    half = len(response.body) // 2
    changes: Mapping[str, dict[str, Any]] = {
        "delay": {"delay": fault.seconds},
        "hang": {"delay": math.inf},
        "slow_drip": {"chunk": fault.chunk, "every": fault.seconds},
        "no_response": {"bytes_sent": -1, "end": "close"},
        "reset_mid_body": {"bytes_sent": half, "end": "reset"},
        "content_length_long": {"claimed": 100, "end": "close"},
        "content_length_short": {"claimed": -half, "end": "close"},
    }
    headers = {**response.headers, **fault.response_headers}
    return replace(response, headers=headers, **changes.get(fault.name, {}))


_PROSE = "Sure! Here is the object you asked for: {} Let me know if you need anything else."
_FENCED = "Here is the updated state:\n\n```json\n{}\n```\n\nI kept it short, as you asked."

_CHANGES: Mapping[FaultName, Callable[[str], dict[str, Any]]] = {
    "refusal": lambda _: {"text": "", "refusal": "I'm sorry, but I can't help with that."},
    "content_filter": lambda _: {"text": "", "tool": "", "finish": "content_filter"},
    "truncated": lambda text: {"text": text[: max(1, len(text) // 2)], "finish": "length"},
    "empty": lambda _: {"text": ""},
    "no_output": lambda _: {"text": None},
    # models do replace the last bracket by a comma
    "invalid_json": lambda text: {"text": (text or "{").rstrip()[:-1] + ","},
    "wrong_shape": lambda _: {"text": '{"unexpected": [1, 2, {"three": null}]}'},
    # a model that chats makes no tool call
    "in_prose": lambda text: {"text": _PROSE.format(text), "tool": ""},
    "fenced": lambda text: {"text": _FENCED.format(text), "tool": ""},
    "failed": lambda _: {"text": "", "finish": "failed"},
    "missing_usage": lambda _: {"reported": "absent"},
    "null_usage": lambda _: {"reported": "null"},
}


def answer_with_fault(answer: Completion, fault: Fault | None) -> Completion:
    """Apply a fault of the answer itself. Faults of other kinds, and None, change nothing."""
    if fault is None or fault.name not in SPOKEN:
        return answer
    return replace(answer, **_CHANGES[fault.name](answer.text or ""))


Style: TypeAlias = Literal["openai", "vllm", "ollama", "llama.cpp", "ik_llama.cpp", "lm_studio"]
"""The server to imitate.

``vllm`` sends a flat body, a validator's message, and 400 as the code. ``lm_studio`` sends a text
as the error. ``ik_llama.cpp`` uses status 500, as some versions of llama.cpp did. Only ``openai``
has a code for a prompt that is too long. ``ollama`` truncates such a prompt silently.
"""


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of an endpoint.

    Attributes:
        formats: Supported formats.
        unsupported: The handling of other formats: ``refuse`` them in the words of ``style``, or
            ``ignore`` them and answer with a message.
        style: The server to imitate.
        apis: Supported APIs; others get a 404.
        models: Existing models, which GET /v1/models lists; others get a 404. None accepts any.
        api_key: The accepted key; others get a 401. None accepts any key and no key.
        context_tokens: Limit of the prompt; a longer one is rejected in the words of ``style``.
            None accepts any.
        cache_minimum: Shortest prompt that is cached, in tokens; 1,024 at OpenAI.
    """

    formats: tuple[Format, ...] = FORMATS
    unsupported: Literal["refuse", "ignore"] = "refuse"
    style: Style = "openai"
    apis: tuple[Api, ...] = ("chat", "responses")
    models: tuple[str, ...] | None = None
    api_key: str | None = None
    context_tokens: int | None = None
    cache_minimum: int = 0

    def knows(self, format_: Format) -> bool:
        """Whether the endpoint supports ``format_``; text is always supported."""
        return format_ == "text" or format_ in self.formats


def rejection(request: Request, can: Capabilities) -> Response | None:
    """The error response for ``request`` before a model reads it; None if a model reads it."""
    if can.api_key is not None and request.headers.get("authorization") != f"Bearer {can.api_key}":
        return error_response(401, "Incorrect API key provided.", "invalid_api_key")
    if request.api == "other" or (request.api != "models" and request.api not in can.apis):
        return json_response(404, {"detail": "Not Found"})
    if request.api == "models":
        return None
    if request.malformed:
        return error_response(400, f"We could not parse the body: {request.malformed}.", "")
    if request.body.get("stream"):
        return error_response(400, "This server does not stream.", "unsupported_value")
    if can.models is not None and request.model not in can.models:
        return error_response(
            404, f"The model `{request.model}` does not exist.", "model_not_found"
        )
    if can.unsupported == "refuse" and not can.knows(request.format):
        return _format_error(request, can.style)
    if can.context_tokens is not None and request.input_tokens > can.context_tokens:
        return _length_error(can.context_tokens, request.input_tokens, can.style)
    return None


def _format_error(request: Request, style: Style) -> Response:
    """The error response for the format that ``request`` asks for."""
    format_, tool = request.format, request.format == "tool"
    if style == "vllm":
        where = "('body', 'response_format', 'type')"
        message = f"[{{'type': 'literal_error', 'loc': {where}, 'input': '{format_}'}}]"
        if tool:
            message = (
                "tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"
            )
        return _vllm_error(message)
    if style == "lm_studio":
        message = "'response_format.type' must be 'json_schema' or 'text'"
        message = "This model does not support tools." if tool else message
        return json_response(400, {"error": message})
    if style == "ollama":
        message = f'invalid format: "{format_}"; expected "json" or a valid JSON Schema object'
        if tool:
            message = f"registry.ollama.ai/library/{request.model} does not support tools"
        return _error(400, message=message, type="api_error", param=None, code=None)
    if style == "openai":
        param = "response_format" if request.api == "chat" else "text.format"
        subject = f"Invalid parameter: '{param}' of type '{format_}' is"
        if tool:
            param, subject = "tools", "tools is"
        fields = {"type": "invalid_request_error", "param": param, "code": None}
        return _error(400, message=f"{subject} not supported with this model.", **fields)
    message = f'response_format type must be one of "text" or "json_object", but got: {format_}'
    message = "Unsupported param: tools" if tool else message
    status, type_ = (
        (500, "server_error") if style == "ik_llama.cpp" else (400, "invalid_request_error")
    )
    return _error(status, code=status, message=message, type=type_)


def _length_error(limit: int, tokens: int, style: Style) -> Response | None:
    """The error response for a prompt of ``tokens`` above ``limit``; None for no error."""
    message = _TOO_LONG.format(limit=limit, tokens=tokens)
    if style == "ollama":
        return None
    if style == "vllm":
        return _vllm_error(message)
    if style == "lm_studio":
        return json_response(400, {"error": _TOO_LONG_LM_STUDIO})
    if style == "openai":
        fields = {"type": "invalid_request_error", "param": "messages"}
        return _error(400, message=message, code="context_length_exceeded", **fields)
    status = 500 if style == "ik_llama.cpp" else 400
    message = "the request exceeds the available context size, try increasing it"
    counts = {"n_prompt_tokens": tokens, "n_ctx": limit}
    return _error(status, code=status, message=message, type="exceed_context_size_error", **counts)


_TOO_LONG = (
    "This model's maximum context length is {limit} tokens. However, your messages resulted in "
    "{tokens} tokens. Please reduce the length of the messages."
)
_TOO_LONG_LM_STUDIO = (
    "The number of tokens to keep from the initial prompt is greater than the context length. "
    "Try to load the model with a larger context length, or provide a shorter input"
)


def _error(status: int, **fields: object) -> Response:
    return json_response(status, {"error": fields})


def _vllm_error(message: str) -> Response:
    fields = {"type": "BadRequestError", "param": None, "code": 400}
    return json_response(400, {"object": "error", "message": message, **fields})
