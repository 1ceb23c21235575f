"""Compresses with a model behind OpenAI's API: OpenAI, vLLM, Ollama, llama.cpp, gateways.

compressor = OpenAICompressor("gpt-x")                     # OPENAI_BASE_URL, OPENAI_API_KEY
compressor = OpenAICompressor("gpt-x", client=my_client)   # a client of your own
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import time
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack
from weakref import WeakKeyDictionary

import httpx2

from acc.compress.endpoint import Ask, Call, CallFailed, Reply, in_thread
from acc.compress.failures import no_client, no_such_model, translated
from acc.compress.model import ModelCompressor, ModelOptions
from acc.compress.openai_calls import (
    LIMITS,
    SAMPLING,
    Api,
    Known,
    OutputMode,
    body_of,
    descend,
    known,
    limit_of,
    reply_of,
)
from acc.errors import ConfigurationError
from acc.state.proposal import Outcome

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI


MOST_BYTES = 16 << 20
"""Limit of a response body, uncompressed. The longest answers of models take some hundred kilobytes."""


def bounded_client() -> Any:
    """Return the SDK's default HTTP client with bounded response bodies.

    A body may have `MOST_BYTES`, and the read time-out applies to each whole body.
    """
    import openai

    return openai.DefaultHttpx2Client(event_hooks={"response": [_bound]})


def abounded_client() -> Any:
    """Return the asynchronous client like `bounded_client`; the deadline alone limits its time."""
    import openai

    return openai.DefaultAsyncHttpx2Client(event_hooks={"response": [_abound]})


def _bound(response: httpx2.Response) -> None:
    seconds = response.request.extensions.get("timeout", {}).get("read")
    until = math.inf if seconds is None else time.monotonic() + seconds
    decoded = response.iter_bytes

    def iter_bytes(chunk_size: int | None = None) -> Iterator[bytes]:
        left = MOST_BYTES
        for chunk in decoded(chunk_size):
            if time.monotonic() > until:
                raise httpx2.ReadTimeout("the body came too slowly", request=response.request)
            left = _less(left, chunk, response)
            yield chunk

    response.iter_bytes = iter_bytes  # type: ignore[method-assign]


async def _abound(response: httpx2.Response) -> None:
    decoded = response.aiter_bytes

    async def aiter_bytes(chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        left = MOST_BYTES
        async for chunk in decoded(chunk_size):
            left = _less(left, chunk, response)
            yield chunk

    response.aiter_bytes = aiter_bytes  # type: ignore[method-assign]


def _less(left: int, chunk: bytes, response: httpx2.Response) -> int:
    if len(chunk) > left:
        what = f"the body of the response is longer than {MOST_BYTES:,} bytes"
        raise httpx2.DecodingError(what, request=response.request)
    return left - len(chunk)


DEFAULT_BASE_URL = "https://api.openai.com/v1"


class Clients:
    """A synchronous and an asynchronous client of one endpoint, created on first use unless given.

    Raises:
        ConfigurationError: An argument is not a client, or ``base_url`` is combined with a client.
    """

    def __init__(
        self, model: str, client: Any = None, async_client: Any = None, base_url: str = ""
    ) -> None:
        if base_url and (client or async_client):
            raise ConfigurationError(
                "both base_url and a client are set, and a client has its own address",
                where=model,
                hint="pass base_url or a client",
            )
        for given in (client, async_client):
            if not (given is None or hasattr(given, "chat") or hasattr(given, "responses")):
                raise ConfigurationError(
                    f"the client is {type(given).__name__}",
                    where=model,
                    hint="pass openai.OpenAI(...) or openai.AsyncOpenAI(...), or no client: then "
                    "OPENAI_BASE_URL and OPENAI_API_KEY apply",
                )
        is_async = type(client).__name__.startswith("Async")
        self._model = model
        self._sync = _without_retries(None if is_async else client)
        self._async = _without_retries(async_client or (client if is_async else None))
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
        self._given = client or async_client
        self._base_url = base_url

    @property
    def base_url(self) -> str:
        """The endpoint's address, without credentials."""
        given = getattr(self._given, "base_url", None)
        url = str(given or self._base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)
        return re.sub(r"//[^/@]*@", "//", url).rstrip("/")

    @property
    def is_sync_alone(self) -> bool:
        """Whether the caller passed a synchronous client and no asynchronous one."""
        return self._given is not None and self._async is None

    def sync(self) -> Any:
        """Return the synchronous client.

        Raises:
            ConfigurationError: The caller passed only an asynchronous client, or the environment
                lacks a setting.
        """
        if self._sync is None and self._given is not None:
            raise ConfigurationError(
                "an asynchronous client cannot make synchronous calls",
                where=self._model,
                hint="use AsyncMemoryController, or also pass client=OpenAI(...)",
            )
        if self._sync is None:
            self._sync = self._made_of("OpenAI", http_client=bounded_client())
        return self._sync

    def asynchronous(self) -> Any:
        """Return the asynchronous client of the running loop.

        Raises:
            ConfigurationError: The environment lacks a setting.
        """
        if self._async is not None:
            return self._async
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            # A client's connections belong to the loop that opened them.
            self._made[loop] = self._made_of("AsyncOpenAI", http_client=abounded_client())
        return self._made[loop]

    def _made_of(self, kind: str, **options: Any) -> Any:
        import openai

        try:
            client = getattr(openai, kind)
            return client(max_retries=0, base_url=self._base_url or None, **options)
        except Exception as error:  # from the SDK, or from the HTTP client about the address
            raise no_client(error, self._model) from error


def _without_retries(client: Any) -> Any:
    with_options = getattr(client, "with_options", None)
    return with_options(max_retries=0) if callable(with_options) else client


class OpenAICompressor(ModelCompressor):
    """Proposes by asking a model behind OpenAI's API."""

    def __init__(
        self,
        model: str,
        *,
        client: OpenAI | AsyncOpenAI | None = None,
        async_client: AsyncOpenAI | None = None,
        base_url: str = "",
        api: Api = "chat",
        request: Mapping[str, Any] | None = None,
        **options: Unpack[ModelOptions],
    ) -> None:
        """Create the compressor for a model.

        Args:
            model: Its name at the endpoint.
            client: The caller's client, with its own retries off for these calls; by default a client from
                OPENAI_BASE_URL and OPENAI_API_KEY.
            async_client: The same for asynchronous calls. If only a synchronous ``client`` is passed,
                asynchronous calls run it in a thread.
            base_url: Address of the endpoint if no client is passed; the default is OPENAI_BASE_URL.
            api: Chat completions or responses.
            request: Further arguments of each request, such as ``{"temperature": 0}``. An argument of sampling
                that the endpoint refuses is left out from then on, with a warning in the log.
            options: Fields of `ModelSettings`: mode, guidance, price, deadline and so on.

        Raises:
            ConfigurationError: There is no model, the API is unknown, or a setting is invalid.
        """
        self.endpoint: OpenAIEndpoint
        endpoint = OpenAIEndpoint(
            model, client=client, async_client=async_client, base_url=base_url, api=api,
            request=request,
        )  # fmt: skip
        super().__init__(endpoint, **options)


class OpenAIEndpoint:
    """A model behind OpenAI's API as an `Endpoint`. `OpenAICompressor` documents the arguments."""

    retries_itself = False

    def __init__(
        self,
        model: str,
        *,
        client: OpenAI | AsyncOpenAI | None = None,
        async_client: AsyncOpenAI | None = None,
        base_url: str = "",
        api: Api = "chat",
        request: Mapping[str, Any] | None = None,
    ) -> None:
        if not model or api not in ("chat", "responses"):
            raise ConfigurationError(
                f"the model is {model!r} and the API is {api!r}",
                where="OpenAICompressor",
                hint='name a model, and use api="chat" or api="responses"',
            )
        self.model = model
        self._api: Api = api
        self._request = dict(request or {})
        self._clients = Clients(model, client, async_client, base_url)

    @property
    def where(self) -> str:
        """The model and its address, for errors and reports."""
        return f"{self.model} at {self._clients.base_url}"

    @property
    def known(self) -> Known:
        """What this process knows about the endpoint."""
        return known(self._clients.base_url, self.model, self._api)

    def call(self, ask: Ask, rung: OutputMode | None = None) -> Call:
        """Return a call, by default on the known rung, with the arguments that the endpoint takes."""
        return self.known.call(ask, rung, [name for name in SAMPLING if name in self._request])

    def ready(self) -> None:
        """Create a client now, so that a missing key raises `ConfigurationError` at once."""
        self._clients.sync()

    def steps(self, ask: Ask) -> Generator[Call, Reply, Reply]:
        """Yield the call on the known rung, then on lower ones while the endpoint refuses the rung.

        Raises:
            CallFailed: The endpoint refuses for another reason, or on every rung.
            ConfigurationError: The model or path is not found and the endpoint has never answered.
        """
        found = self.known
        try:
            return (yield from descend(self.call(ask), found))
        except CallFailed as failed:
            if failed.outcome is Outcome.NOT_FOUND and not found.proven:
                raise no_such_model(self.where, failed.detail) from failed
            raise

    def send(self, call: Call, seconds: float) -> Reply:
        """Make a call (`Endpoint.send`)."""
        create = self._create(self._clients.sync())
        try:
            answer = create(**self._arguments(call, seconds))
        except Exception as error:
            raise self._translated(error) from error
        return reply_of(_plain(answer), self._api)

    async def asend(self, call: Call, seconds: float) -> Reply:
        """Asynchronous `send`. With only a synchronous client it runs in a thread."""
        if self._clients.is_sync_alone:
            return await in_thread(lambda: self.send(call, seconds))
        create = self._create(self._clients.asynchronous())
        try:
            answer = await create(**self._arguments(call, seconds))
        except Exception as error:
            raise self._translated(error) from error
        return reply_of(_plain(answer), self._api)

    def _translated(self, error: Exception) -> Exception:
        """The error to raise for ``error``. An argument that the SDK does not know is a configuration error."""
        if isinstance(error, TypeError) and self._request and "argument" in str(error):
            return ConfigurationError(
                f"the SDK rejects an argument of the request: {error}",
                where=f"request {sorted(self._request)}",
                hint='pass arguments that only this server knows as request={"extra_body": {...}}',
            )
        return translated(error, self.where)

    def _create(self, client: Any) -> Any:
        return client.chat.completions.create if self._api == "chat" else client.responses.create

    def _arguments(self, call: Call, seconds: float) -> dict[str, Any]:
        own = {k: v for k, v in self._request.items() if k not in SAMPLING or k in call.optional}
        body = body_of(call, self._api)
        if not own.keys().isdisjoint(LIMITS):  # the deployer's limit replaces ours
            body.pop(limit_of(call), None)
        return {"model": self.model, **body, "timeout": seconds, **own}


def _plain(answer: Any) -> Any:
    """Convert the SDK's object to plain values; return any other value unchanged."""
    to_dict = getattr(answer, "to_dict", None)
    return to_dict(warnings=False) if callable(to_dict) else answer
