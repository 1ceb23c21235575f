"""Named faults of a model server, and what they do to a response.

Fault("429", headers={"retry-after": "2"})
Reply({"goal": "..."}, fault=Fault("fenced"))
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from acc.testing.chat_api import (
    FORMATS,
    Completion,
    Format,
    Request,
    Response,
    error_response,
    json_response,
)

InsteadFault: TypeAlias = Literal[
    "400", "401", "403", "404", "408", "409", "413", "422", "429", "500", "502", "503", "504",
    "context_overflow", "html_error", "html_page", "not_json", "bad_gzip", "no_response", "hang"
]  # fmt: skip
"""Faults that replace the model's answer.

A status with an error in OpenAI's form; ``context_overflow``, a 400 with the code context_length_exceeded;
``html_error``, a gateway's page with status 502; ``html_page``, a page with status 200, like that of a wrong address;
``not_json``, status 200 and a JSON content type, but no JSON; ``bad_gzip``, status 200 and gzip encoding, but no gzip;
``no_response``, the connection closes before any byte; ``hang``, nothing until the client or the server hangs up.
"""

SpokenFault: TypeAlias = Literal[
    "refusal", "content_filter", "truncated", "empty", "no_output", "invalid_json", "wrong_shape",
    "in_prose", "fenced", "failed", "missing_usage", "null_usage"
]  # fmt: skip
"""Faults of the answer itself, with status 200.

``truncated`` is half of the answer; ``no_output`` no choice; ``wrong_shape`` JSON without any of the requested fields;
``in_prose`` and ``fenced`` the answer within other text; ``failed`` a body that reports an error despite its status.
"""

SendingFault: TypeAlias = Literal[
    "delay", "slow_drip", "reset_mid_body", "content_length_long", "content_length_short"
]
"""Faults of the transmission.

``delay`` waits before the first byte; ``slow_drip`` sends ``chunk`` bytes of the body, waits, and repeats;
``reset_mid_body`` resets the connection after half of the body; ``content_length_long`` announces more bytes than it
sends, ``content_length_short`` fewer.
"""

FaultName: TypeAlias = InsteadFault | SpokenFault | SendingFault

INSTEAD: tuple[InsteadFault, ...] = get_args(InsteadFault)
FAULTS: tuple[FaultName, ...] = (*INSTEAD, *get_args(SpokenFault), *get_args(SendingFault))


@dataclass(frozen=True)
class Fault:
    """One fault.

    Attributes:
        name: One of `FAULTS`.
        seconds: Wait of ``delay``, and between two chunks of ``slow_drip``.
        chunk: Bytes that ``slow_drip`` sends at a time.
        code: Error code instead of the default one, such as "insufficient_quota".
        message: Error message instead of the default one.
        body: The whole JSON body of a status, for servers whose errors have another form than OpenAI's.
        headers: Additional headers of the response, such as retry-after.

    Raises:
        ValueError: The name is unknown, or it requires ``seconds`` and none are given.
    """

    name: FaultName
    seconds: float = 0.0
    chunk: int = 4
    code: str = ""
    message: str = ""
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in FAULTS:
            raise ValueError(f"unknown fault {self.name!r}; the faults are {', '.join(FAULTS)}")
        if self.name in ("delay", "slow_drip") and self.seconds <= 0:
            raise ValueError(f"{self.name} needs seconds: Fault({self.name!r}, seconds=1)")

    @property
    def replaces_answer(self) -> bool:
        """Whether the fault replaces the answer; the request then never reaches the model."""
        return self.name in INSTEAD

    def response(self) -> Response:
        """Return what is sent instead of an answer."""
        if self.name in _STATUS:
            status, code, message = _STATUS[self.name]
            told = error_response(status, self.message or message, self.code or code)
            return self.sent(told if self.body is None else json_response(status, self.body))
        bodies = {
            "html_error": _page(502, "502 Bad Gateway"),
            "html_page": _page(200, "Welcome"),
            "not_json": Response(200, b"upstream connect error or disconnect before headers"),
            "bad_gzip": Response(200, b"\x1f\x8b\x08 no gzip", {"content-encoding": "gzip"}),
        }
        return self.sent(bodies.get(self.name, Response(200, b"")))

    def sent(self, response: Response) -> Response:
        """Return ``response`` with the fault's headers and its way of sending."""
        half = len(response.body) // 2
        ways: Mapping[str, dict[str, Any]] = {
            "delay": {"delay": self.seconds},
            "hang": {"delay": math.inf},
            "slow_drip": {"chunk": self.chunk, "every": self.seconds},
            "no_response": {"bytes_sent": -1, "end": "close"},
            "reset_mid_body": {"bytes_sent": half, "end": "reset"},
            "content_length_long": {"claimed": 100, "end": "close"},
            "content_length_short": {"claimed": -half, "end": "close"},
        }
        headers = {**response.headers, **self.headers}
        return replace(response, headers=headers, **ways.get(self.name, {}))

    def spoken(self, answer: Completion) -> Completion:
        """Return ``answer`` with a fault of the answer itself."""
        text = answer.text or ""
        changes: Mapping[str, dict[str, Any]] = {
            "refusal": {"text": "", "refusal": "I'm sorry, but I can't help with that."},
            "content_filter": {"text": "", "finish": "content_filter"},
            "truncated": {"text": text[: max(1, len(text) // 2)], "finish": "length"},
            "empty": {"text": ""},
            "no_output": {"text": None},
            "invalid_json": {"text": (text or "{").rstrip()[:-1] + ","},
            "wrong_shape": {"text": '{"unexpected": [1, 2, {"three": null}]}'},
            "in_prose": {"text": f"Sure! Here is the object: {text} Do you need anything else?"},
            "fenced": {"text": f"Here is the updated state:\n\n```json\n{text}\n```\n"},
            "failed": {"error": "The server had an error while processing your request."},
            "missing_usage": {"reported": "absent"},
            "null_usage": {"reported": "null"},
        }
        return replace(answer, **changes.get(self.name, {}))


def _page(status: int, title: str) -> Response:
    page = f"<!doctype html><html><head><title>{title}</title></head><body></body></html>"
    return Response(status, page.encode(), {"content-type": "text/html; charset=utf-8"})


_OVERFLOW = "This model's maximum context length is 8192 tokens, and your messages have 9001."

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


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of an endpoint.

    Attributes:
        formats: Supported formats; text is always supported.
        refusal: What a request for another format gets; by default a 400 in OpenAI's words.
        models: Existing models, which GET /v1/models lists; others get a 404. None accepts any.
        api_key: The accepted key; others get a 401. None accepts any key and no key.
    """

    formats: tuple[Format, ...] = FORMATS
    refusal: Fault = Fault("400", message="'response_format' is not supported with this model.")
    models: tuple[str, ...] | None = None
    api_key: str | None = None

    def refused(self, request: Request) -> Response | None:
        """Return the error for a request that no model reads; None if a model reads it."""
        if self.api_key not in (
            None,
            request.headers.get("authorization", "").removeprefix("Bearer "),
        ):
            return Fault("401").response()
        if request.path == "/v1/models":
            return None
        if request.path != "/v1/chat/completions":
            return json_response(404, {"detail": "Not Found"})
        if request.malformed:
            return error_response(400, f"We could not parse the body: {request.malformed}.")
        if request.body.get("stream"):
            return error_response(400, "This server does not stream.", "unsupported_value")
        if self.models is not None and request.model not in self.models:
            return Fault("404").response()
        if request.format not in (*self.formats, "text"):
            return self.refusal.response()
        return None
