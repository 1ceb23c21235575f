"""The exceptions of model SDKs, and of the HTTP clients under them, as named failures.

The SDKs of OpenAI, Anthropic and others are generated alike, LangChain's errors derive from
theirs, and httpx2 and httpx share names: so errors are known by the names of their kinds, and
no vendor is imported to read them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from acc.compressors.endpoint import CallFailed
from acc.compressors.http_failures import (
    Refused,
    failure_of,
    key_refused,
    no_such_model,
    without_keys,
)
from acc.compressors.outcomes import Outcome
from acc.errors import AccError, ConfigurationError

_MISCONFIGURED = {"UnsupportedProtocol", "InvalidURL", "LocalProtocolError"}

_OUTCOMES: Mapping[str, Outcome] = {
    "ContextOverflowError": Outcome.CONTEXT_OVERFLOW,
    "DecodingError": Outcome.MALFORMED_REPLY,
    "JSONDecodeError": Outcome.MALFORMED_REPLY,
    "UnicodeDecodeError": Outcome.MALFORMED_REPLY,
    "APIResponseValidationError": Outcome.MALFORMED_REPLY,
    "APITimeoutError": Outcome.TIMEOUT,
    "TimeoutException": Outcome.TIMEOUT,
    "ModelTimeoutError": Outcome.TIMEOUT,
    "ConnectError": Outcome.CONNECTION_REFUSED,
    "ConnectionRefusedError": Outcome.CONNECTION_REFUSED,
    "APIConnectionError": Outcome.CONNECTION_RESET,
    "TransportError": Outcome.CONNECTION_RESET,
    "ModelConnectionError": Outcome.CONNECTION_RESET,
    "ConnectionError": Outcome.CONNECTION_RESET,
    "ModelRateLimitError": Outcome.RATE_LIMITED,
    "ModelAPIError": Outcome.SERVER_ERROR,
    "ModelInvalidRequestError": Outcome.BAD_REQUEST,
    "TimeoutError": Outcome.TIMEOUT,
}
"""By the name of a kind, the most telling first: of all kinds in an error's chain the first counts."""


def translated(error: Exception, endpoint: str) -> CallFailed | AccError:
    """What ``error`` means, by its kinds and by those of what caused it."""
    if isinstance(error, CallFailed | AccError):
        return error
    chain = list(_chain(error))
    kinds = {kind.__name__ for e in chain for kind in type(e).__mro__}
    said = " ".join(dict.fromkeys(f"{type(e).__name__}: {e}" for e in chain))
    detail = without_keys(" ".join(said.split()))[:600]
    refused = next((e for e in chain if status_of(e)), None)
    if refused is not None and "ContextOverflowError" not in kinds:
        return failure_of(_refused(refused, endpoint))
    if kinds & _MISCONFIGURED:
        return ConfigurationError(
            f"the endpoint cannot be asked: {detail}",
            where=endpoint,
            mend="check OPENAI_BASE_URL (http:// or https://, host, /v1) and the key",
        )
    if kinds & {"ModelAuthenticationError", "ModelPermissionDeniedError"}:
        return key_refused(endpoint, detail)
    if "ModelNotFoundError" in kinds:
        return no_such_model(endpoint, detail)
    outcome = next((o for name, o in _OUTCOMES.items() if name in kinds), Outcome.ERROR)
    is_retryable = getattr(error, "is_retryable", None)
    return CallFailed(
        outcome, detail, retry=is_retryable if isinstance(is_retryable, bool) else None
    )


def no_client(error: Exception, model: str) -> ConfigurationError:
    """A client cannot be made of what the environment holds."""
    return ConfigurationError(
        f"no client for the model: {' '.join(str(error).split())[:300]}",
        where=model,
        mend="set OPENAI_API_KEY (any value where the endpoint at OPENAI_BASE_URL asks none)",
    )


def status_of(error: Any) -> int:
    """The HTTP status that an error tells of, wherever its SDK keeps it; 0 if it tells of none.

    OpenAI's and Anthropic's have ``status_code``, Google's ``code``, Mistral's ``http_status``,
    those of HTTP clients a response, AWS's a mapping as response.
    """
    response = getattr(error, "response", None)
    told = [getattr(error, name, None) for name in ("status_code", "code", "http_status")]
    told.append(getattr(response, "status_code", None))
    if isinstance(response, Mapping):
        told.append(_metadata(response).get("HTTPStatusCode"))
    return next((n for n in told if type(n) is int and 400 <= n < 600), 0)


def _refused(error: Any, endpoint: str) -> Refused:
    said = getattr(error, "body", None)
    body = said if isinstance(said, Mapping) else {}
    inner = body.get("error")
    body = inner if isinstance(inner, Mapping) else body
    message = str(body.get("message") or body.get("detail") or inner or said or error)
    if param := body.get("param"):
        message = f"{message} (param {param})"
    code = body.get("code") or getattr(error, "code", None) or body.get("type") or ""
    wrote = body.get("failed_generation") or ""
    generation = wrote if isinstance(wrote, str) else json.dumps(wrote, default=str)
    return Refused(status_of(error), str(code), message, _headers(error), endpoint, generation)


def _headers(error: Any) -> Mapping[str, str]:
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):
        headers = _metadata(response).get("HTTPHeaders")
    else:
        headers = getattr(response, "headers", None)
    items = headers.items() if isinstance(headers, Mapping) else ()
    return {str(name): str(value) for name, value in items}


def _metadata(response: Mapping[str, Any]) -> Mapping[str, Any]:
    found = response.get("ResponseMetadata")
    return found if isinstance(found, Mapping) else {}


def _chain(error: BaseException) -> Iterator[BaseException]:
    following: BaseException | None = error
    seen: set[int] = set()
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        hidden = following.__suppress_context__
        following = following.__cause__ or (None if hidden else following.__context__)
