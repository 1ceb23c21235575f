"""What an endpoint can do, and the requests that it turns away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from acc.testing.model_dialects import Style, overflow, unsupported
from acc.testing.model_errors import error_response
from acc.testing.model_requests import FORMATS, Api, Format, Request
from acc.testing.model_sending import Response, json_response


@dataclass(frozen=True)
class Capabilities:
    """What an endpoint can do.

    Attributes:
        formats: Formats that it knows.
        unsupported: What becomes of the others: ``refuse`` in the words of ``style``, or ``ignore``,
            and the answer comes as a message.
        style: Whose words.
        apis: APIs that exist; others are a 404.
        models: Models that exist, and which GET /v1/models lists; others are a 404. None takes any.
        api_key: The key that is let in; others are a 401. None takes any, and none.
        context_tokens: Longest prompt; a longer one is refused in the words of ``style``. None
            takes any.
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
        """Whether answers can be had in ``format_``; text always can."""
        return format_ == "text" or format_ in self.formats


def refused(request: Request, can: Capabilities) -> Response | None:
    """The error that ``request`` ends in before a model reads it; None if a model reads it."""
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
