"""How different servers reject an unknown format or a prompt that is too long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from acc.testing.model_connections import Response, error_response, json_response
from acc.testing.model_requests import FORMATS, Api, Format, Request

Style: TypeAlias = Literal["openai", "vllm", "ollama", "llama.cpp", "ik_llama.cpp", "lm_studio"]
"""The server to imitate.

``vllm`` sends a flat body, a validator's message, and 400 as the code. ``lm_studio`` sends a text
as the error. ``ik_llama.cpp`` uses status 500, as some versions of llama.cpp did. Only ``openai``
has a code for a prompt that is too long. ``ollama`` truncates such a prompt silently.
"""

_Said: TypeAlias = tuple[int, Mapping[str, Any]]
"""Status and body."""


def unsupported(request: Request, style: Style) -> Response:
    """The error response for the format that ``request`` asks for."""
    status, body = _UNSUPPORTED[style](request)
    return json_response(status, body)


def overflow(most: int, tokens: int, style: Style = "openai") -> Response | None:
    """The error response for a prompt of ``tokens`` above the limit ``most``; None for no error."""
    write = _OVERFLOW.get(style)
    if write is None:
        return None
    status, body = write(most, tokens)
    return json_response(status, body)


def _error(status: int, **fields: object) -> _Said:
    return status, {"error": fields}


def _openai(request: Request) -> _Said:
    param = "response_format" if request.api == "chat" else "text.format"
    message = f"Invalid parameter: '{param}' of type '{request.format}' is not supported with "
    if request.format == "tool":
        param, message = "tools", "tools is not supported with "
    fields = {"type": "invalid_request_error", "param": param, "code": None}
    return _error(400, message=f"{message}this model.", **fields)


def _openai_overflow(most: int, tokens: int) -> _Said:
    fields = {"type": "invalid_request_error", "param": "messages"}
    return _error(400, message=_longer(most, tokens), code="context_length_exceeded", **fields)


def _vllm(request: Request) -> _Said:
    where = "('body', 'response_format', 'type')"
    message = f"[{{'type': 'literal_error', 'loc': {where}, 'input': '{request.format}'}}]"
    if request.format == "tool":
        message = "tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"
    return _vllm_error(message)


def _vllm_overflow(most: int, tokens: int) -> _Said:
    return _vllm_error(_longer(most, tokens))


def _vllm_error(message: str) -> _Said:
    fields = {"type": "BadRequestError", "param": None, "code": 400}
    return 400, {"object": "error", "message": message, **fields}


def _ollama(request: Request) -> _Said:
    message = f'invalid format: "{request.format}"; expected "json" or a valid JSON Schema object'
    if request.format == "tool":
        message = f"registry.ollama.ai/library/{request.model} does not support tools"
    return _error(400, message=message, type="api_error", param=None, code=None)


def _llama_cpp(request: Request) -> _Said:
    return _error(400, code=400, message=_llama_says(request), type="invalid_request_error")


def _llama_cpp_overflow(most: int, tokens: int) -> _Said:
    return _llama_overflow(400, most, tokens)


def _ik_llama_cpp(request: Request) -> _Said:
    return _error(500, code=500, message=_llama_says(request), type="server_error")


def _ik_llama_cpp_overflow(most: int, tokens: int) -> _Said:
    return _llama_overflow(500, most, tokens)


def _llama_says(request: Request) -> str:
    if request.format == "tool":
        return "Unsupported param: tools"
    return f'response_format type must be one of "text" or "json_object", but got: {request.format}'


def _llama_overflow(status: int, most: int, tokens: int) -> _Said:
    message = "the request exceeds the available context size, try increasing it"
    counts = {"n_prompt_tokens": tokens, "n_ctx": most}
    return _error(status, code=status, message=message, type="exceed_context_size_error", **counts)


def _lm_studio(request: Request) -> _Said:
    if request.format == "tool":
        return 400, {"error": "This model does not support tools."}
    return 400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}


def _lm_studio_overflow(_: int, __: int) -> _Said:
    message = "The number of tokens to keep from the initial prompt is greater than the context "
    message += (
        "length. Try to load the model with a larger context length, or provide a shorter input"
    )
    return 400, {"error": message}


def _longer(most: int, tokens: int) -> str:
    message = f"This model's maximum context length is {most} tokens. However, your messages "
    return message + f"resulted in {tokens} tokens. Please reduce the length of the messages."


_UNSUPPORTED: Mapping[Style, Callable[[Request], _Said]] = {
    "openai": _openai,
    "vllm": _vllm,
    "ollama": _ollama,
    "llama.cpp": _llama_cpp,
    "ik_llama.cpp": _ik_llama_cpp,
    "lm_studio": _lm_studio,
}

_OVERFLOW: Mapping[Style, Callable[[int, int], _Said]] = {
    "openai": _openai_overflow,
    "vllm": _vllm_overflow,
    "llama.cpp": _llama_cpp_overflow,
    "ik_llama.cpp": _ik_llama_cpp_overflow,
    "lm_studio": _lm_studio_overflow,
}


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


def refused(request: Request, can: Capabilities) -> Response | None:
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
        return unsupported(request, can.style)
    if can.context_tokens is not None and request.input_tokens > can.context_tokens:
        return overflow(can.context_tokens, request.input_tokens, can.style)
    return None
