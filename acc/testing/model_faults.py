"""Named faults of a model server: each is one that a client has to treat in a way of its own.

Fault("429", headers={"retry-after": "2"})
ModelServer([{"goal": "ship"}], faults=[None, Fault("fenced")])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from acc.testing.chat_api import Reply, Response, error_response, json_response

_STATUS: Mapping[str, tuple[int, str, str]] = {
    "400": (400, "invalid_value", "Invalid value in the request."),
    "401": (401, "invalid_api_key", "Incorrect API key provided."),
    "403": (403, "unsupported_country_region_territory", "Country or region not supported."),
    "404": (404, "model_not_found", "The model does not exist or you do not have access to it."),
    "413": (413, "", "The request is too large."),
    "429": (429, "rate_limit_exceeded", "Rate limit reached for requests."),
    "500": (500, "", "The server had an error while processing your request."),
    "context_overflow": (400, "context_length_exceeded", "The maximum context length is 8192."),
}
"""An error in OpenAI's form: status, code, message."""

_PAGE = b"<!doctype html><html><head><title>Welcome</title></head><body></body></html>"
_FAILED = {"error": {"message": "The server had an error.", "code": 502}}

_INSTEAD: Mapping[str, Response] = {
    "html_page": Response(200, _PAGE, {"content-type": "text/html; charset=utf-8"}),
    "failed": json_response(200, _FAILED),
    "no_response": Response(200, b"", sending="closed"),
    "hang": Response(200, b"", sending="never"),
}
"""What is sent in place of an answer: a page like that of a wrong address; an error despite status 200, as gateways
send it; a connection that closes before any byte; nothing until the client or the server hangs up."""

_OF_ANSWER = (
    "refusal", "content_filter", "truncated", "empty", "wrong_shape", "fenced", "missing_usage",
)  # fmt: skip
"""Faults of the answer itself: ``truncated`` is half of it; ``wrong_shape`` is JSON with none of the requested
fields; ``fenced`` stands within other text."""

FAULTS = (*_STATUS, *_INSTEAD, *_OF_ANSWER, "broken_off")
"""The names; ``broken_off`` resets the connection after half of the answer."""


@dataclass(frozen=True)
class Fault:
    """One fault.

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

    def response(self) -> Response | None:
        """Return what is sent instead of an answer; None if the model answers."""
        if self.name not in _STATUS:
            return _INSTEAD.get(self.name)
        status, code, message = _STATUS[self.name]
        told = error_response(status, self.message or message, self.code or code)
        told = told if self.body is None else json_response(status, self.body)
        return replace(told, headers={**told.headers, **self.headers})

    def spoken(self, reply: Reply) -> Reply:
        """Return ``reply`` with a fault of the answer itself."""
        text = reply.text
        changes: Mapping[str, dict[str, Any]] = {
            "refusal": {"refusal": "I'm sorry, but I can't help with that."},
            "content_filter": {"content": "", "finish": "content_filter"},
            "truncated": {"content": text[: max(1, len(text) // 2)], "finish": "length"},
            "empty": {"content": ""},
            "wrong_shape": {"content": '{"unexpected": [1, 2, {"three": null}]}'},
            "fenced": {"content": f"Here it is:\n\n```json\n{text}\n```\nAnything else?"},
            "missing_usage": {"is_billed": False},
        }
        return replace(reply, **changes.get(self.name, {}))

    def sent(self, response: Response) -> Response:
        """Return the response with the answer, broken off if that is the fault."""
        return replace(response, sending="broken") if self.name == "broken_off" else response
