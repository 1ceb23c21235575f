"""A model behind any endpoint of OpenAI's chat completions, by the SDK: OpenAI, vLLM, Ollama, gateways."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from acc.errors import ConfigurationError
from acc.models.asking import AskedModel, Format, ReplyFailed, Request, answered
from acc.models.protocol import Completion, Price, Usage

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI


class OpenAIModel(AskedModel):
    """A model behind OpenAI's API. The SDK tries again what fails for a while, as long as the endpoint asks for."""

    def __init__(
        self,
        model: str,
        *,
        client: OpenAI | AsyncOpenAI | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        attempts: int = 3,
        price: Price | None = None,
        format: Format = "schema",
    ) -> None:
        """Name a model at an endpoint.

        Args:
            model: Its name there.
            client: A client of your own; by default one is made of ``base_url`` and ``api_key``, or of
                OPENAI_BASE_URL and OPENAI_API_KEY. An asynchronous one serves asynchronous calls alone, and a
                synchronous one serves them in a thread.
            base_url: The address. With it a missing key is no error: local servers need none.
            api_key: The key.
            timeout: Seconds for each attempt.
            attempts: How often a request is made that fails for a while.
            price: What its tokens cost.
            format: ``"words"`` for an endpoint that takes a JSON Schema and does not keep to it.

        Raises:
            ConfigurationError: There is no key, a setting is invalid, or an address stands beside a client.
        """
        super().__init__(model, price=price, format=format)
        if timeout <= 0 or attempts < 1:
            what, hint = f"timeout {timeout}, attempts {attempts}", "give numbers above 0"
            raise ConfigurationError(what, where=model, hint=hint)
        if client and (base_url or api_key):
            hint = "pass a client, or base_url and api_key"
            raise ConfigurationError("a client has its own address", where=model, hint=hint)
        is_async = any(kind.__name__ == "AsyncOpenAI" for kind in type(client).__mro__)
        self._given, self._timeout, self._retries = client, timeout, attempts - 1
        self._sync: Any = None if is_async else client
        self._async: Any = client if is_async else None
        self._of_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        self._base_url = base_url or os.environ.get("OPENAI_BASE_URL")
        self._api_key = api_key or os.environ.get("OPENAI_API_KEY")
        if not (client or self._base_url or self._api_key):
            hint = (
                "set OPENAI_API_KEY, or give base_url for a local server (NAME@http://host:port/v1)"
            )
            raise ConfigurationError(f"no key for {model}", where="OpenAIModel", hint=hint)

    @property
    def where(self) -> str:
        """The model and its address, without credentials."""
        url = getattr(self._given, "base_url", None) or self._base_url
        url = str(url or "https://api.openai.com/v1")
        scheme, _, rest = url.rpartition("//")
        host, slash, path = rest.partition("/")
        shown = f"{scheme}//{host.rpartition('@')[2]}{slash}{path}" if scheme else url
        return f"{self.name} at {shown.rstrip('/')}"

    @property
    def secret(self) -> str | None:
        """The key of the client."""
        return getattr(self._given, "api_key", None) or self._api_key

    def send(self, request: Request) -> Completion:
        """Make one request."""
        if self._sync is None and self._given is not None:
            raise ConfigurationError(
                "an asynchronous client makes no synchronous calls",
                where=self.name,
                hint="also pass client=OpenAI(...), or use the asynchronous methods",
            )
        self._sync = self._sync or self._made("OpenAI", "DefaultHttpx2Client")
        return completion_in(self._create(self._sync, request), self.name)

    async def asend(self, request: Request) -> Completion:
        """Make one request with the asynchronous client, or with the synchronous one in a thread."""
        client = self._async
        if client is None and self._given is not None:
            return await asyncio.to_thread(self.send, request)
        if client is None:
            loop = asyncio.get_running_loop()  # a client's connections belong to it
            made = self._of_loop.get(loop)
            client = made or self._made("AsyncOpenAI", "DefaultAsyncHttpx2Client")
            self._of_loop[loop] = client
        return completion_in(await self._create(client, request), self.name)

    def _create(self, client: Any, request: Request) -> Any:
        from openai import Timeout

        timeout = Timeout(self._timeout, connect=min(5.0, self._timeout))
        client = client.with_options(max_retries=self._retries, timeout=timeout)
        # OpenAI's newer models refuse the old name, and other servers do not know the new one
        is_new = any(host in self.where for host in ("openai.com", "azure.com"))
        limit = {"max_completion_tokens" if is_new else "max_tokens": request.max_tokens}
        return client.chat.completions.create(
            model=self.name,
            messages=request.prompt,
            **(limit if request.max_tokens else {}),
            **request.response_format,
        )

    def _made(self, kind: str, http: str) -> Any:
        import openai

        try:
            # the SDK's own HTTP client would close itself in another loop, which fails with noise
            http_client = getattr(openai, http)()
            return getattr(openai, kind)(
                api_key=self._api_key or "none", base_url=self._base_url, http_client=http_client
            )
        except Exception as error:  # from the SDK, or from the HTTP client about the address
            raise ConfigurationError(
                f"the SDK makes no client: {type(error).__name__}",
                where=self.where,
                hint="check the base URL and the key",
            ) from error


def completion_in(answer: Any, name: str) -> Completion:
    """Return the completion in a response. It is read leniently, because servers leave fields out.

    Raises:
        ReplyFailed: The model gave no answer, or the response is none.
    """
    to_dict = getattr(answer, "to_dict", None)
    body = to_dict(warnings=False) if callable(to_dict) else answer
    if not isinstance(body, Mapping):
        raise ReplyFailed("malformed_reply", f"no JSON object, but {str(body)[:200]}")
    if error := body.get("error"):
        raise ReplyFailed("server_error", str(_map(error).get("message", error)))
    choices = body.get("choices")
    choice = _map(choices[0]) if isinstance(choices, list) and choices else {}
    message, usage = _map(choice.get("message")), _map(body.get("usage"))
    content = message.get("content") or ""
    if isinstance(content, list):
        parts = [p for p in map(_map, content) if p.get("type", "text") in ("text", "output_text")]
        content = "".join(str(part.get("text") or "") for part in parts)  # others hold reasoning
    cached = _map(usage.get("prompt_tokens_details")).get("cached_tokens")
    spent = tokens(usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)
    finish, refusal = str(choice.get("finish_reason")), str(message.get("refusal") or "")
    return answered(str(content), finish, refusal, spent, str(body.get("model") or name))


def tokens(*counts: Any) -> Usage:
    """Return the usage of one request: input, output, cached. What is no plausible number counts 0."""
    return Usage(1, *(n if isinstance(n, int) and 0 <= n < 1 << 53 else 0 for n in counts))


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
