"""Translates HTTP statuses, error bodies and SDK errors into failures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from acc.compress.endpoint import CallFailed
from acc.errors import AccError, AuthenticationError, ConfigurationError
from acc.state.proposal import Outcome

_LONGEST = 600

_OVERFLOW_CODES = ("context_length_exceeded", "string_above_max_length")
_OVERFLOW = re.compile(
    r"context.{0,20}(?:length|window|size)|maximum (?:context|input|prompt)|too many (?:input )?tokens|"
    r"(?:prompt|input|request) is too long|exceeds? the (?:available|maximum|model)|reduce the length",
    re.I,
)
FORMAT = re.compile(
    r"response_format|json_?schema|json_?object|json mode|structured|grammar|guided|schema|"
    r"\btools?\b|tool_choice|function|\bstrict\b|text\.format|requested parameters",
    re.I,
)
"""Matches a refusal of the output format."""

_UNREADABLE = re.compile(
    r"(?:json_validate|tool_use|output_parse)_failed|failed_generation|malformed_function_call|"
    r"failed to (?:generate|validate|call|parse) (?:valid |the )?"
    r"(?:json|a function|a tool|tool calls?|input at|model(?:'s)? (?:output|response|answer))\b"
    r"(?! ?(?:schema|grammar|body))|error parsing tool call|tool call validation failed|"
    r"\bmodel(?:'s)? (?:output|answer|response|generated?|produced?|returned)\b.{0,40}"
    r"\b(?:invalid|malformed|not valid|n[o']t match|n[o']t be parsed)|"
    r"\bmodel did(?: not|n't) (?:call|generate|produce|return)|generated json does not match|"
    r"harmonyerror|unexpected tokens? (?:remaining in|\d+ while expecting)",
    re.I,
)
"""Matches an endpoint's report that it could not parse the model's answer, as opposed to the
request: codes and messages of Groq, Google, AWS, OpenAI, Ollama, llama.cpp and vLLM.
"""

_CUT_OFF = re.compile(r"(?:max\w*[ _](?:\w+[ _])?tokens|output limit)\b.{0,30}\breached", re.I)
"""Matches a report that the token limit cut off the answer, such as OpenAI's about ``max_tokens``."""

_FILTER_CODES = ("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation")
_OUT_OF_MONEY = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active")
_NO_MODEL = re.compile(
    r"\bmodel\b.{0,120}\b(?:not (?:be )?(?:found|exist)|(?:does not|doesn't) exist|not available|unknown|pull)|"
    r"(?:no such|unknown|invalid) model|not found.{0,20}\bmodel\b",
    re.I | re.S,
)

_BY_STATUS = {
    400: Outcome.BAD_REQUEST, 404: Outcome.NOT_FOUND, 408: Outcome.TIMEOUT, 409: Outcome.CONFLICT,
    413: Outcome.TOO_LARGE, 422: Outcome.BAD_REQUEST, 429: Outcome.RATE_LIMITED,
    504: Outcome.TIMEOUT,
}  # fmt: skip


class Refused(NamedTuple):
    """An HTTP error as reported by an SDK.

    ``endpoint`` is model and address, for messages; ``generation`` is the model's output, if the body has it.
    """

    status: int
    code: str
    message: str
    headers: Mapping[str, str]
    endpoint: str
    generation: str = ""


def failure_of(refused: Refused) -> CallFailed | ConfigurationError:
    """Return the failure that an HTTP error stands for; a `ConfigurationError` if no retry can succeed."""
    if refused.status in (401, 403):
        return key_refused(refused.endpoint, f"{refused.status} {refused.message}")
    answered = _answered(refused)
    if answered is None and _is_no_model(refused):
        return no_such_model(refused.endpoint, refused.message)
    outcome = answered or _outcome(refused)
    retry = _retry(refused)
    if retry is None and answered is Outcome.INVALID_JSON and not refused.generation:
        retry = True  # there is no output that the model could correct
    detail = f"{refused.status} {refused.code} {_brief(refused.message)}"
    return CallFailed(
        outcome, " ".join(detail.split()), status=refused.status, headers=refused.headers,
        retry=retry, said=refused.generation,
    )  # fmt: skip


def key_refused(endpoint: str, message: str) -> AuthenticationError:
    """Return the error for an endpoint that rejects the key."""
    return AuthenticationError(
        f"the endpoint rejects the key: {_brief(message)}",
        where=endpoint,
        hint="set a key that may use this model, as OPENAI_API_KEY or in the client",
    )


def no_such_model(endpoint: str, message: str) -> ConfigurationError:
    """Return the error for an unknown model or address."""
    return ConfigurationError(
        f"the endpoint does not know the model or the path: {_brief(message)}",
        where=endpoint,
        hint="name a model that GET /v1/models lists, end OPENAI_BASE_URL with /v1, and use "
        'api="chat" if the endpoint has no responses API',
    )


def _answered(refused: Refused) -> Outcome | None:
    """The fault of the model's answer, if the endpoint reports one as an error.

    It is checked first: the message may repeat the answer, which may contain any other error's words.
    """
    if refused.status not in (400, 422, 424, 500):
        return None
    if _CUT_OFF.search(refused.message):
        return Outcome.TRUNCATED
    report = f"{refused.code} {refused.message}"
    is_answered = refused.generation or _UNREADABLE.search(report)
    return Outcome.INVALID_JSON if is_answered else None


_LIMIT_REFUSED = re.compile(
    r"\W*(?:the )?max(?:imum)?[_ ](?:(?:completion|output|new)[_ ])?tokens\b(?!.{0,200}\bcontext\b)",
    re.I | re.S,
)
"""Matches a message about the answer's limit, as opposed to the length of the input."""


def _outcome(refused: Refused) -> Outcome:
    is_request = refused.status in (400, 413, 422, 500)  # 500: some servers use it for any refusal
    if refused.status in (400, 422) and _LIMIT_REFUSED.match(refused.message):
        return Outcome.BAD_REQUEST
    if is_request and (refused.code in _OVERFLOW_CODES or _OVERFLOW.search(refused.message)):
        return Outcome.CONTEXT_OVERFLOW
    if is_request and refused.code in _FILTER_CODES:
        return Outcome.CONTENT_FILTER
    if refused.status in (500, 501) and FORMAT.search(refused.message):
        return Outcome.BAD_REQUEST
    if refused.status >= 500:
        return _BY_STATUS.get(refused.status, Outcome.SERVER_ERROR)
    return _BY_STATUS.get(refused.status, Outcome.BAD_REQUEST)


def _retry(refused: Refused) -> bool | None:
    """Whether the server allows a retry; None if the outcome decides."""
    headers = {k.lower(): v for k, v in refused.headers.items()}
    if refused.code in _OUT_OF_MONEY or headers.get("x-should-retry") == "false":
        return False
    return True if headers.get("x-should-retry") == "true" else None


def _is_no_model(refused: Refused) -> bool:
    if refused.code == "model_not_found":
        return True
    return refused.status in (400, 404) and _NO_MODEL.search(refused.message) is not None


_SECRET = re.compile(r"(?i:\bbearer\s+)[^\s'\"]+|\bsk-[\w*-]{6,}")


def without_keys(message: str) -> str:
    """Remove API keys, which some servers and clients repeat in error messages."""
    return _SECRET.sub("[key]", message)


def _brief(message: str) -> str:
    text = " ".join(re.sub(r"<[^>]*>", " ", without_keys(message)).split())
    return text if len(text) <= _LONGEST else text[:_LONGEST].rsplit(" ", 1)[0] + " ..."


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
"""Outcome by class name, most specific first. The first name found in the error's chain counts."""


def translated(error: Exception, endpoint: str) -> CallFailed | AccError:
    """Return the failure that ``error`` stands for, judged by the classes in its cause chain."""
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
            f"the request to the endpoint cannot be sent: {detail}",
            where=endpoint,
            hint="check OPENAI_BASE_URL (http:// or https://, host, /v1) and the key",
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
    """Return the error for a client that cannot be created from the environment."""
    return ConfigurationError(
        f"the client for the model cannot be created: {' '.join(str(error).split())[:300]}",
        where=model,
        hint="set OPENAI_API_KEY; use any value if the endpoint at OPENAI_BASE_URL needs no key",
    )


def status_of(error: Any) -> int:
    """Return the HTTP status of an error, or 0.

    OpenAI and Anthropic have ``status_code``, Google ``code``, Mistral ``http_status``, HTTP clients a response
    object, AWS a mapping as response.
    """
    response = getattr(error, "response", None)
    values = [getattr(error, name, None) for name in ("status_code", "code", "http_status")]
    values.append(getattr(response, "status_code", None))
    if isinstance(response, Mapping):
        values.append(_metadata(response).get("HTTPStatusCode"))
    return next((n for n in values if type(n) is int and 400 <= n < 600), 0)


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
