"""Errors in OpenAI's form, and what else comes instead of an answer."""

from __future__ import annotations

from collections.abc import Mapping

from acc.testing.model_faults import Fault, FaultName
from acc.testing.model_sending import Response, json_response, sent_badly


def fault_response(fault: Fault) -> Response:
    """What comes instead of an answer by ``fault``."""
    if fault.name == "html_error":
        response = _page(502, "502 Bad Gateway")
    elif fault.name == "html_page":
        response = _page(200, "Welcome")
    elif fault.name == "not_json":
        response = Response(200, b"upstream connect error or disconnect before headers")
    elif fault.name == "bad_gzip":
        response = Response(200, b"\x1f\x8b\x08 no gzip", {"content-encoding": "gzip"})
    elif fault.name in ("no_response", "hang"):
        response = Response(200, b"")
    else:
        status, code, message = _STATUS[fault.name]
        more = {"failed_generation": fault.generation} if fault.generation else {}
        response = error_response(status, fault.message or message, fault.code or code, **more)
    return sent_badly(response, fault)


def _page(status: int, title: str) -> Response:
    page = f"<!doctype html><html><head><title>{title}</title></head><body></body></html>"
    return Response(status, page.encode(), {"content-type": "text/html; charset=utf-8"})


def error_response(status: int, message: str, code: str, **more: str) -> Response:
    """An error in OpenAI's form, with ``more`` fields; no code is null, as there."""
    type_ = "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error")
    error = {"message": message, "type": type_, "param": None, "code": code or None, **more}
    return json_response(status, {"error": error})


_TYPES = {401: "authentication_error", 429: "requests"}

_OVERFLOW = (
    "This model's maximum context length is 8192 tokens. However, your messages resulted in "
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
    "context_overflow": (400, "context_length_exceeded", f"{_OVERFLOW}9001 tokens."),
}
