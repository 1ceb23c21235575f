"""One argument for any model: a name, an address, a client, or a chat model of LangChain; and the two clients."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from acc.errors import ConfigurationError
from acc.models.asking import AskedModel, Format, ReplyFailed, Request, answered
from acc.models.protocol import ChatModel, Completion, Usage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from openai import AsyncOpenAI, OpenAI

_FORMS = (
    'pass "NAME" or "openai:NAME", "NAME@http://host:port/v1", "PROVIDER:NAME" with its langchain package, '
    '(OpenAI(...), "NAME"), a LangChain chat model, an object with complete and acomplete; '
    "a memory also takes a compressor: a function of a Reading"
)


def as_model(given: Any) -> ChatModel:
    """Return the model that ``given`` stands for.

    Args:
        given: A `ChatModel`; ``NAME`` or ``openai:NAME`` at OPENAI_BASE_URL; ``NAME@http://host/v1``;
            ``PROVIDER:NAME`` of LangChain's `init_chat_model`; a pair of an OpenAI client and a name; or a
            LangChain chat model, also with settings bound to it.

    Raises:
        ConfigurationError: It stands for none. The hint lists the forms.
    """
    if isinstance(given, str) and given.strip():
        return _named(given.strip())
    if all(callable(getattr(given, name, None)) for name in ("complete", "acomplete")):
        return cast(ChatModel, given)
    if _is_chat_model(given):
        return LangChainModel(given)
    client, name = given if isinstance(given, tuple) and len(given) == 2 else (None, None)
    if hasattr(client, "chat") and isinstance(name, str):
        return OpenAIModel(name, client=client)
    raise ConfigurationError(f"{type(given).__name__} is no model", where="model", hint=_FORMS)


def _named(name: str) -> ChatModel:
    for scheme in ("@http://", "@https://"):
        model, at, rest = name.removeprefix("openai:").partition(scheme)
        if model and rest:
            return OpenAIModel(model, base_url=f"{at[1:]}{rest}")
    provider, colon, rest = name.partition(":")
    if not colon or provider == "openai":
        return OpenAIModel(rest if colon else name)
    try:
        from langchain.chat_models import init_chat_model

        return LangChainModel(init_chat_model(name))
    except Exception as error:  # no langchain, an unknown provider, a missing package or key
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        hint = f"install the provider's langchain package, or use openai:{name}"
        what = f"LangChain makes no chat model of {name!r}: {said}"
        raise ConfigurationError(what, where="model", hint=hint) from error


def _is_chat_model(given: Any) -> bool:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableWithFallbacks
    from langchain_core.runnables.base import RunnableBindingBase

    while isinstance(given, RunnableBindingBase | RunnableWithFallbacks):  # settings wrap a model
        given = given.bound if isinstance(given, RunnableBindingBase) else given.runnable
    return isinstance(given, BaseChatModel)


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
            format: ``"words"`` for an endpoint that takes a JSON Schema and does not keep to it.

        Raises:
            ConfigurationError: There is no key, a setting is invalid, or an address stands beside a client.
        """
        url = base_url or os.environ.get("OPENAI_BASE_URL")
        key = api_key or os.environ.get("OPENAI_API_KEY")
        super().__init__(
            model,
            where=f"{model} at {_address(getattr(client, 'base_url', None) or url, model)}",
            secret=getattr(client, "api_key", None) or key,
            format=format,
        )
        if timeout <= 0 or attempts < 1:
            what, hint = f"timeout {timeout}, attempts {attempts}", "give numbers above 0"
            raise ConfigurationError(what, where=model, hint=hint)
        is_async = False
        if client:
            import openai

            is_async = isinstance(client, openai.AsyncOpenAI)
            if base_url or api_key:
                hint = "pass a client, or base_url and api_key"
                raise ConfigurationError("a client has its own address", where=model, hint=hint)
        elif not (url or key):
            hint = (
                "set OPENAI_API_KEY, or give base_url for a local server (NAME@http://host:port/v1)"
            )
            raise ConfigurationError(f"no key for {model}", where="OpenAIModel", hint=hint)
        elif key and not (key.isascii() and key.isprintable()):
            what, hint = "the key has characters that no header can hold", "check OPENAI_API_KEY"
            raise ConfigurationError(what, where=self.where, hint=hint)
        self._given, self._timeout, self._retries = client, timeout, attempts - 1
        self._sync: Any = None if is_async else client
        self._async: Any = client if is_async else None
        self._of_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        self._base_url, self._api_key = url, key

    def send(self, request: Request) -> Completion:
        """Make one request."""
        if self._sync is None and self._given is not None:
            raise ConfigurationError(
                "an asynchronous client makes no synchronous calls",
                where=self.name,
                hint="also pass client=OpenAI(...), or use the asynchronous methods",
            )
        self._sync = self._sync or self._made("OpenAI", "DefaultHttpx2Client")
        return _completion_in(self._create(self._sync, request), self.name)

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
        return _completion_in(await self._create(client, request), self.name)

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


def _address(url: Any, model: str) -> str:
    """Return an address without what stands before its host.

    Raises:
        ConfigurationError: No request can have it.
    """
    with suppress(ValueError):
        parts = urlsplit(str(url or "https://api.openai.com/v1"))
        if parts.scheme in ("http", "https") and parts.hostname:
            return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/")
    hint = "such as http://127.0.0.1:8000/v1"  # a password in the address is not repeated
    what, where = "the address is none of HTTP", f"{model} at its base_url"
    raise ConfigurationError(what, where=where, hint=hint)


_RUN: Any = {"tags": ["nostream"], "run_name": "acc_compressor"}
"""The run's name in traces, and the tag that keeps it out of what LangGraph streams to the user."""


class LangChainModel(AskedModel):
    """A LangChain chat model. Its own time-out and retries apply: nothing is tried again here.

    OpenAI's chat models get the schema as ``response_format``; any other one is asked for JSON in words.
    """

    def __init__(self, chat_model: BaseChatModel) -> None:
        names = (getattr(chat_model, name, None) for name in ("model_name", "model"))
        name = next((n for n in names if isinstance(n, str) and n), type(chat_model).__name__)
        loaded = sys.modules.get("langchain_openai.chat_models.base")  # where it is one of these
        is_openai = loaded is not None and isinstance(chat_model, loaded.BaseChatOpenAI)
        form: Format = "schema" if is_openai else "words"
        super().__init__(name, format=form)
        self._chat: Any = chat_model
        if getattr(chat_model, "streaming", False) is True:  # streams often leave the usage out
            self._chat = chat_model.model_copy(update={"streaming": False})

    def send(self, request: Request) -> Completion:
        """Make one request."""
        try:
            return self._read(self._bound(request).invoke(request.prompt, _RUN))
        except Exception as error:
            return self._kept_in(error)

    async def asend(self, request: Request) -> Completion:
        """Make one request."""
        try:
            return self._read(await self._bound(request).ainvoke(request.prompt, _RUN))
        except Exception as error:
            return self._kept_in(error)

    def _bound(self, request: Request) -> Any:
        takes_limit = request.max_tokens and hasattr(self._chat, "max_tokens")
        limit = {"max_tokens": request.max_tokens} if takes_limit else {}
        return self._chat.bind(**limit, **request.response_format)

    def _read(self, message: Any) -> Completion:
        about, usage = message.response_metadata or {}, message.usage_metadata or {}
        cached = (usage.get("input_token_details") or {}).get("cache_read")
        finish = str(about.get("finish_reason") or about.get("stop_reason") or "").lower()
        refusal = str(message.additional_kwargs.get("refusal") or "")
        spent = _tokens(usage.get("input_tokens"), usage.get("output_tokens"), cached)
        model = str(about.get("model_name") or about.get("model") or self.name)
        return answered(message.text, finish, refusal, spent, model)

    def _kept_in(self, error: Exception) -> Completion:
        """The completion in an error: OpenAI's SDK raises one for an answer that is cut off."""
        if (kept := getattr(error, "completion", None)) is None:
            raise error
        return _completion_in(kept, self.name)


def _completion_in(answer: Any, name: str) -> Completion:
    """Return the completion in a response. It is read leniently, because servers leave fields out."""
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
    spent = _tokens(usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)
    finish, refusal = str(choice.get("finish_reason")), str(message.get("refusal") or "")
    return answered(str(content), finish, refusal, spent, str(body.get("model") or name))


def _tokens(*counts: Any) -> Usage:
    """Return the usage of one request: input, output, cached. What is no plausible number counts 0."""
    return Usage(1, *(n if isinstance(n, int) and 0 <= n < 1 << 53 else 0 for n in counts))


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
