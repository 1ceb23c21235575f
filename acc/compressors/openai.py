"""Compressing with a model behind OpenAI's API: OpenAI's own, vLLM, Ollama, llama.cpp, gateways.

compressor = OpenAICompressor("gpt-x")                     # OPENAI_BASE_URL, OPENAI_API_KEY
compressor = OpenAICompressor("gpt-x", client=my_client)   # a client of your own
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

from acc.compressors.endpoint import Ask, Call, CallFailed, Reply
from acc.compressors.http_failures import no_such_model
from acc.compressors.ladder import Known, descend, known
from acc.compressors.model import ModelCompressor
from acc.compressors.openai_calls import Api, body_of, reply_of
from acc.compressors.openai_clients import Clients
from acc.compressors.outcomes import Outcome
from acc.compressors.sdk_errors import translated
from acc.errors import ConfigurationError

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI


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
        **settings: Any,
    ) -> None:
        """Name a model.

        Args:
            model: Its name at the endpoint.
            client: A client of the caller's, whose own retries are switched off for these
                calls; by default one made of OPENAI_BASE_URL and OPENAI_API_KEY.
            async_client: Likewise for asynchronous calls; where only ``client`` is given, that
                one is asked on a thread.
            base_url: Address of the endpoint, where no client is given; else OPENAI_BASE_URL.
            api: Chat completions, or responses.
            request: Further arguments of each request, such as ``{"temperature": 0}``.
            settings: What `ModelCompressor` takes: mode, guidance, price, deadline and so on.

        Raises:
            ConfigurationError: No model, an unknown API, or a setting that makes no sense.
        """
        self.endpoint: OpenAIEndpoint
        endpoint = OpenAIEndpoint(
            model, client=client, async_client=async_client, base_url=base_url, api=api,
            request=request,
        )  # fmt: skip
        super().__init__(endpoint, **settings)


class OpenAIEndpoint:
    """A model behind OpenAI's API, as an `Endpoint`. The arguments are `OpenAICompressor`'s."""

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
                f"model {model!r} over the API {api!r}",
                where="OpenAICompressor",
                mend='name a model, and api="chat" or api="responses"',
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
        """What this process knows of the endpoint."""
        return known(self._clients.base_url, self.model, self._api)

    def ready(self) -> None:
        """Make a client now, so that a missing key is told of at once.

        Raises:
            ConfigurationError: The environment does not hold what it takes.
        """
        self._clients.sync()

    def steps(self, ask: Ask) -> Generator[Call, Reply, Reply]:
        """The call on the rung that is known, and down the ladder while the endpoint refuses it.

        Raises:
            CallFailed: The endpoint refuses for another reason, or on every rung.
            ConfigurationError: Nothing was ever found at this address.
        """
        found = self.known
        room = found.room if self._api == "chat" else ""
        try:
            return (yield from descend(Call(ask, found.rung, room), found))
        except CallFailed as failed:
            if failed.outcome is Outcome.NOT_FOUND and not found.proven:
                raise no_such_model(self.where, failed.detail) from failed
            raise

    def send(self, call: Call, seconds: float) -> Reply:
        """Make a call.

        Raises:
            CallFailed: No answer.
            ConfigurationError: There never will be one as things are set up.
        """
        create = self._create(self._clients.sync())
        try:
            answer = create(**self._arguments(call, seconds))
        except Exception as error:
            raise self._told(error) from error
        return reply_of(_plain(answer), self._api)

    async def asend(self, call: Call, seconds: float) -> Reply:
        """As `send`; where the caller gave a synchronous client alone, on a thread."""
        if self._clients.is_sync_alone:
            return await asyncio.to_thread(self.send, call, seconds)
        create = self._create(self._clients.asynchronous())
        try:
            answer = await create(**self._arguments(call, seconds))
        except Exception as error:
            raise self._told(error) from error
        return reply_of(_plain(answer), self._api)

    def _told(self, error: Exception) -> Exception:
        """What ``error`` means; an argument that the SDK does not know will never be known."""
        if isinstance(error, TypeError) and self._request and "argument" in str(error):
            return ConfigurationError(
                f"the request cannot be made: {error}",
                where=f"request {sorted(self._request)}",
                mend='what only this server takes goes into request={"extra_body": {...}}',
            )
        return translated(error, self.where)

    def _create(self, client: Any) -> Any:
        return client.chat.completions.create if self._api == "chat" else client.responses.create

    def _arguments(self, call: Call, seconds: float) -> dict[str, Any]:
        body = body_of(call, self._api)
        return {"model": self.model, **body, "timeout": seconds, **self._request}


def _plain(answer: Any) -> Any:
    """The SDK's object as plain values; what is no object of its own stays as it is."""
    to_dict = getattr(answer, "to_dict", None)
    return to_dict(warnings=False) if callable(to_dict) else answer
