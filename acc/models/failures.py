"""What an exception of an SDK means: whether to try again, what to change, which error to raise.

Exceptions are read by attribute and class name, so that no SDK is imported here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from acc.errors import AccError, AuthenticationError, CompressionError, ConfigurationError
from acc.models.protocol import Usage

_OUTCOMES: Mapping[int | str, str] = {
    # by code
    "context_length_exceeded": "context_overflow", "string_above_max_length": "context_overflow",
    "content_filter": "content_filter", "content_policy_violation": "content_filter",
    "insufficient_quota": "quota", "billing_hard_limit_reached": "quota",
    "billing_not_active": "quota", "model_not_found": "not_found",
    "json_validate_failed": "invalid_json", "tool_use_failed": "invalid_json",
    "output_parse_failed": "invalid_json",
    # by status
    401: "key_refused", 403: "forbidden", 404: "not_found", 408: "timeout", 409: "conflict",
    413: "too_large", 429: "rate_limited", 504: "timeout",
    # by class: the first name that a class in the chain of causes has
    "UnsupportedProtocol": "unsendable", "InvalidURL": "unsendable",
    "LocalProtocolError": "unsendable", "UnicodeEncodeError": "unsendable",
    "ModelAuthenticationError": "key_refused", "ModelPermissionDeniedError": "forbidden",
    "ModelNotFoundError": "not_found", "ModelRateLimitError": "rate_limited",
    "ContextOverflowError": "context_overflow", "ModelInvalidRequestError": "bad_request",
    "ModelRefusalError": "refusal", "ModelAPIError": "server_error",
    "DecodingError": "malformed_reply", "JSONDecodeError": "malformed_reply",
    "UnicodeDecodeError": "malformed_reply", "APIResponseValidationError": "malformed_reply",
    "ModelTimeoutError": "timeout", "APITimeoutError": "timeout", "TimeoutException": "timeout",
    "TimeoutError": "timeout", "ModelConnectionError": "unreachable",
    "APIConnectionError": "unreachable", "TransportError": "unreachable",
    "ConnectionError": "unreachable",
}  # fmt: skip

_PASSING = {
    "timeout", "conflict", "rate_limited", "server_error", "unreachable", "malformed_reply",
    "invalid_json",
}  # fmt: skip
"""Outcomes that the same request may avoid a moment later."""

_FIXES = {
    "key_refused": "set a valid key: OPENAI_API_KEY, api_key=, or a client that has one",
    "forbidden": "allow the model for the key's project, or name a model that the key may use",
    "not_found": "name a model that GET /v1/models lists; base URLs usually end with /v1",
    "unsendable": "check the base URL (http:// or https://, host, /v1) and the key's characters",
    "quota": "raise the limit in the provider's billing settings, or use another key",
    "context_overflow": "use a model that reads more, or compress earlier (compress_over)",
    "unreachable": "check that the server runs, and that the base URL names it",
    "timeout": "pass a longer timeout, or use a faster model",
    "rate_limited": "make fewer requests at once, or ask the provider for a higher limit",
    "malformed_reply": "check that the base URL is the address of a chat completions API",
    "refusal": "look at what the model was given to read, or use another model",
    "content_filter": "look at what the model was given to read, or use another model",
}

_OVERFLOW = re.compile(
    r"context.{0,20}(?:length|window|size)|maximum (?:context|input|prompt)|reduce the length|"
    r"too many (?:input )?tokens|(?:prompt|input|request) is too long",
    re.I,
)
_FORMAT = re.compile(
    r"response_format|json_?schema|json_?object|json mode|structured|grammar|guided|schema|"
    r"\bstrict\b|requested parameters",
    re.I,
)
_SECRET = re.compile(r"(?i:\bbearer\s+)[^\s'\"]+|\b(?:sk|key)-[\w*-]{6,}|(?<=//)[^/@\s]+@")


class ReplyFailed(Exception):
    """A reply with status 200 and without an answer; ``usage`` is what it cost."""

    def __init__(self, outcome: str, detail: str, usage: Usage | None = None) -> None:
        super().__init__(detail)
        self.outcome, self.usage = outcome, usage or Usage()


class Failure(NamedTuple):
    """What an exception means.

    Attributes:
        outcome: The name of what happened.
        detail: What the endpoint or the SDK said. It may hold the key; `error_of` removes it.
        names_format: The endpoint complains about the output format. Some do so with 404 or 500.
        passing: The same request may succeed a moment later.
        wait: Seconds that the endpoint asks to wait; None if it asks for none.
    """

    outcome: str
    detail: str
    names_format: bool
    passing: bool
    wait: float | None


def failure_of(error: Exception, now: datetime) -> Failure:
    """Return what ``error`` means; a date in Retry-After counts from ``now``."""
    chain: list[Any] = [error]
    while len(chain) < 8 and (cause := chain[-1].__cause__ or chain[-1].__context__):
        chain.append(cause)
    told = next((each for each in chain if _status(each)), error)
    status, body = _status(told), getattr(told, "body", None)
    body = body.get("error", body) if isinstance(body, Mapping) else body
    body = body if isinstance(body, Mapping) else {"message": body}
    code = str(body.get("code") or getattr(told, "code", None) or body.get("type"))
    causes = ": ".join(dict.fromkeys(str(e) for e in chain if isinstance(e, Exception) and str(e)))
    said = f"{status or ''} {body.get('message') or causes} {body.get('param') or ''}"
    names = [kind.__name__ for each in chain for kind in type(each).__mro__]
    outcome = getattr(error, "outcome", "") or _outcome(status, code, said, names)
    names_format = (
        status in (400, 404, 422, 500, 501)
        and outcome not in ("context_overflow", "invalid_json")
        and _FORMAT.search(said) is not None
    )
    response = getattr(told, "response", None)
    headers = getattr(response, "headers", None) or _aws(response).get("HTTPHeaders") or {}
    passing = outcome in _PASSING and not names_format
    return Failure(outcome, " ".join(said.split()), names_format, passing, _wait(headers, now))


def _outcome(status: int, code: str, said: str, names: list[str]) -> str:
    if status in (400, 413, 422, 500) and _OVERFLOW.search(said):
        return "context_overflow"
    if not status:
        return next((_OUTCOMES[name] for name in _OUTCOMES if name in names), "error")
    known = _OUTCOMES.get(code) or _OUTCOMES.get(status)
    return known or ("server_error" if status >= 500 else "bad_request")


def error_of(failure: Failure, where: str, secret: str | None, usage: Usage) -> AccError:
    """Return the error for ``failure``, without ``secret`` and without what looks like a key."""
    detail = failure.detail.replace(secret, "[key]") if secret else failure.detail
    detail = re.sub(r"<[^>]{0,200}>", " ", _SECRET.sub("[key]", detail))[:400]
    what, fix = (
        f"the model did not answer: {failure.outcome}: {detail}",
        _FIXES.get(failure.outcome),
    )
    if failure.outcome in ("key_refused", "forbidden"):
        return AuthenticationError(what, where=where, hint=fix or "")
    if failure.outcome in ("not_found", "unsendable"):
        return ConfigurationError(what, where=where, hint=fix or "")
    fix = fix or "read what the endpoint says, and check the settings of the model"
    spent = asdict(usage)
    return CompressionError(what, where=where, hint=fix, outcome=failure.outcome, usage=spent)


def _status(error: Any) -> int:
    """The HTTP status of an exception: Google calls it ``code``, Mistral ``http_status``, HTTP clients and AWS have it
    in the response.
    """
    response = getattr(error, "response", None)
    values = [getattr(error, name, None) for name in ("status_code", "code", "http_status")]
    values += [getattr(response, "status_code", None), _aws(response).get("HTTPStatusCode")]
    return next((n for n in values if type(n) is int and 400 <= n < 600), 0)


def _aws(response: Any) -> Mapping[str, Any]:
    """What AWS's SDK tells of a response, which is a mapping there."""
    found = response.get("ResponseMetadata") if isinstance(response, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _wait(headers: Any, now: datetime) -> float | None:
    for name, unit in (("retry-after-ms", 1_000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        return max(0.0, seconds) if not math.isnan(seconds) else None
    try:
        at = parsedate_to_datetime(str(headers.get("retry-after")))
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds())
