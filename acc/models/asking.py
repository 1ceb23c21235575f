"""How a model is asked: in which format, what its failures mean, and which error says so.

Trying again is the SDK's: OpenAI's client and LangChain's chat models wait and repeat by themselves.
"""

from __future__ import annotations

import json
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from acc.errors import AccError, AuthenticationError, CompressionError, ConfigurationError
from acc.models.protocol import Completion, Messages, Schema, Usage

Format: TypeAlias = Literal["schema", "words"]
"""How the endpoint learns the JSON Schema: as ``response_format``, which it enforces, or in the prompt's words."""


class Request(NamedTuple):
    """One request to an endpoint; ``number`` is 2 where it has refused the format of the first."""

    messages: Messages
    schema: Schema
    format: Format
    max_tokens: int | None
    number: int = 1

    @property
    def response_format(self) -> dict[str, Any]:
        """The argument of OpenAI's API that asks for the format; empty for words."""
        if self.schema is None or self.format == "words":
            return {}
        # a strict schema has no optional properties
        is_strict = set(self.schema.get("required", ())) == set(self.schema.get("properties", ()))
        named = {"name": "answer", "strict": is_strict, "schema": self.schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}

    @property
    def prompt(self) -> list[dict[str, str]]:
        """The messages, with the schema in the system message where the format needs it there."""
        # UTF-8 cannot carry the halves of surrogate pairs
        said = [(m.role, m.content.encode("utf-8", "replace").decode()) for m in self.messages]
        if self.schema is not None and self.format == "words":
            role, system = said.pop(0) if said and said[0][0] == "system" else ("system", "")
            fields = ", ".join(f'"{name}"' for name in self.schema.get("properties", ()))
            asked = (
                f"Answer with nothing but one JSON object with the fields {fields}. "
                f"Its JSON Schema: {json.dumps(self.schema, ensure_ascii=False)}"
            )
            said.insert(0, (role, f"{system}\n\n{asked}".strip()))
        return [{"role": role, "content": content} for role, content in said]


class AskedModel(ABC):
    """A `ChatModel` over `send` and `asend`, which make one request each.

    If the endpoint refuses a request with a ``response_format``, it is asked again in words. One that never took a
    schema is asked in words from then on.
    """

    def __init__(
        self,
        name: str,
        *,
        where: str = "",
        secret: str | None = None,
        format: Format = "schema",
    ) -> None:
        """Name a model. ``where`` is its name and address for errors, ``secret`` the key, which none may show."""
        if not name or format not in get_args(Format):
            raise ConfigurationError(
                f"the model {name!r} cannot be asked with format {format!r}",
                hint=f"name a model, and a format of {', '.join(get_args(Format))}",
            )
        self.name, self.where, self.secret = name, where or name, secret
        # Threads share both. A lost update costs one more refused request.
        self._format, self._takes_schema = format, False

    @abstractmethod
    def send(self, request: Request) -> Completion:
        """Make one request. Any exception means that it failed."""

    @abstractmethod
    async def asend(self, request: Request) -> Completion:
        """Asynchronous `send`."""

    def complete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer (`ChatModel.complete`)."""
        request = Request(messages, schema, self._format, max_tokens)
        while True:
            try:
                return self._learned(request, self.send(request))
            except Exception as error:
                request = self._in_words(request, error)

    async def acomplete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer (`ChatModel.acomplete`)."""
        request = Request(messages, schema, self._format, max_tokens)
        while True:
            try:
                return self._learned(request, await self.asend(request))
            except Exception as error:
                request = self._in_words(request, error)

    def _learned(self, request: Request, got: Completion) -> Completion:
        if request.schema is not None:
            self._takes_schema |= request.format == "schema"
            self._format = "schema" if self._takes_schema else "words"
        return replace(got, usage=replace(got.usage, requests=request.number))

    def _in_words(self, request: Request, error: Exception) -> Request:
        """Return the request in words, if its format may be what was refused; else raise the error."""
        if isinstance(error, ConfigurationError):
            raise error
        outcome, detail = failure_of(error)
        if request.response_format and outcome in _MAYBE_OF_FORMAT:
            return request._replace(format="words", number=request.number + 1)
        usage = replace(getattr(error, "usage", Usage()), requests=request.number)
        detail = detail.replace(self.secret, "[key]") if self.secret else detail
        raise error_of(outcome, detail, self.where, usage) from error


class ReplyFailed(Exception):
    """A reply with status 200 and without an answer; ``usage`` is what it cost."""

    def __init__(self, outcome: str, detail: str, usage: Usage | None = None) -> None:
        super().__init__(detail)
        self.outcome, self.usage = outcome, usage or Usage()


def answered(text: str, finish: str, refusal: str, usage: Usage, model: str) -> Completion:
    """Return the completion of an answer; raise `ReplyFailed` if the model gave none.

    ``finish`` is the provider's reason why the answer ends.
    """
    cut_off = finish in ("length", "max_tokens")
    if refusal or finish == "refusal":
        raise ReplyFailed("refusal", refusal, usage)
    if finish in ("content_filter", "safety"):
        raise ReplyFailed("content_filter", "the provider's filter withholds the answer", usage)
    if not text.strip() and not cut_off:
        raise ReplyFailed("empty", "the answer has no text", usage)
    return Completion(text, usage, model, cut_off)


_CODES = {
    "context_length_exceeded": "context_overflow", "string_above_max_length": "context_overflow",
    "content_filter": "content_filter", "content_policy_violation": "content_filter",
    "insufficient_quota": "quota", "billing_hard_limit_reached": "quota",
    "billing_not_active": "quota", "model_not_found": "not_found",
    "json_validate_failed": "invalid_json", "tool_use_failed": "invalid_json",
    "output_parse_failed": "invalid_json",
}  # fmt: skip
_STATUSES = {
    401: "key_refused", 403: "forbidden", 404: "not_found", 408: "timeout", 409: "conflict",
    413: "too_large", 429: "rate_limited", 504: "timeout",
}  # fmt: skip

_MAYBE_OF_FORMAT = ("bad_request", "not_found")
"""How endpoints refuse a format; a gateway says that it finds no model for it."""

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

_SECRET = re.compile(r"(?i:\bbearer\s+)[^\s'\"]+|\b(?:sk|key)-[\w*-]{6,}|(?<=//)[^/@\s]+@")


def failure_of(error: Exception) -> tuple[str, str]:
    """Return the name of what happened, and what the endpoint or the SDK said, which may hold the key."""
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
    outcome = getattr(error, "outcome", "") or _CODES.get(code) or _STATUSES.get(status)
    if not outcome and status:
        outcome = "server_error" if status >= 500 else "bad_request"
    return outcome or _by_type(chain), " ".join(said.split())


def _by_type(chain: list[Any]) -> str:
    """Return the name of what happened where no status tells it: the first type that an error of the chain has."""
    import openai
    from langchain_core import exceptions as langchain

    # what the SDKs raise from: an error can only have a type of a module that is loaded
    http: list[Any] = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]

    def of(*names: str) -> list[type[Exception]]:
        return [getattr(module, name) for module in http for name in names]

    types: tuple[tuple[str, tuple[type[Exception], ...]], ...] = (
        ("unsendable", (UnicodeEncodeError, *of("UnsupportedProtocol", "LocalProtocolError", "InvalidURL"))),
        ("key_refused", (langchain.ModelAuthenticationError,)),
        ("forbidden", (langchain.ModelPermissionDeniedError,)),
        ("not_found", (langchain.ModelNotFoundError,)),
        ("rate_limited", (langchain.ModelRateLimitError,)),
        ("context_overflow", (langchain.ContextOverflowError,)),
        ("bad_request", (langchain.ModelInvalidRequestError,)),
        ("refusal", (langchain.ModelRefusalError,)),
        ("server_error", (langchain.ModelAPIError,)),
        ("malformed_reply", (json.JSONDecodeError, UnicodeDecodeError, openai.APIResponseValidationError,
                             *of("DecodingError"))),
        ("timeout", (TimeoutError, openai.APITimeoutError, langchain.ModelTimeoutError,
                     *of("TimeoutException"))),
        ("unreachable", (ConnectionError, openai.APIConnectionError, langchain.ModelConnectionError,
                         *of("TransportError"))),
    )  # fmt: skip
    return next((name for name, of in types if any(isinstance(e, of) for e in chain)), "error")


def _status(error: Any) -> int:
    """Return the HTTP status of an exception, wherever its SDK keeps it; 0 if it has none."""
    response = getattr(error, "response", None)
    values = [getattr(error, name, None) for name in ("status_code", "code", "http_status")]
    values.append(getattr(response, "status_code", None))
    return next((n for n in values if type(n) is int and 400 <= n < 600), 0)


def error_of(outcome: str, detail: str, where: str, usage: Usage) -> AccError:
    """Return the error for a failure, without what looks like a key."""
    detail = re.sub(r"<[^>]{0,200}>", " ", _SECRET.sub("[key]", detail))[:400]
    what = f"the model did not answer: {outcome}: {detail}"
    fix = _FIXES.get(outcome, "read what the endpoint says, and check the settings of the model")
    if outcome in ("key_refused", "forbidden"):
        return AuthenticationError(what, where=where, hint=fix)
    if outcome in ("not_found", "unsendable"):
        return ConfigurationError(what, where=where, hint=fix)
    return CompressionError(what, where=where, hint=fix, outcome=outcome, usage=asdict(usage))
