"""The SDK's clients: the caller's, or made of the environment; in either, no retries of its own."""

from __future__ import annotations

import asyncio
import os
import re
from typing import Any
from weakref import WeakKeyDictionary

from acc.compressors.sdk_errors import no_client
from acc.errors import ConfigurationError

DEFAULT_BASE_URL = "https://api.openai.com/v1"


class Clients:
    """A synchronous and an asynchronous client of one endpoint, made when first used.

    Args:
        model: For errors.
        client: The caller's, of either kind.
        async_client: The caller's asynchronous one beside it.
        base_url: Address, for clients that are made here; else OPENAI_BASE_URL.

    Raises:
        ConfigurationError: No client, or an address beside one, which has its own.
    """

    def __init__(
        self, model: str, client: Any = None, async_client: Any = None, base_url: str = ""
    ) -> None:
        if base_url and (client or async_client):
            raise ConfigurationError(
                "an address beside a client, which has its own",
                where=model,
                mend="give base_url, or a client made with it",
            )
        for given in (client, async_client):
            if not (given is None or hasattr(given, "chat") or hasattr(given, "responses")):
                raise ConfigurationError(
                    f"{type(given).__name__} is no client",
                    where=model,
                    mend="give openai.OpenAI(...) or openai.AsyncOpenAI(...), or none: then it is "
                    "made of OPENAI_BASE_URL and OPENAI_API_KEY",
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
        """The endpoint's address, without what stands before an @ in it."""
        given = getattr(self._given, "base_url", None)
        url = str(given or self._base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_BASE_URL)
        return re.sub(r"//[^/@]*@", "//", url).rstrip("/")

    @property
    def is_sync_alone(self) -> bool:
        """Whether the caller gave a synchronous client and no other."""
        return self._given is not None and self._async is None

    def sync(self) -> Any:
        """The synchronous client.

        Raises:
            ConfigurationError: The caller gave an asynchronous one alone, or the environment
                does not hold what it takes.
        """
        if self._sync is None and self._given is not None:
            raise ConfigurationError(
                "an asynchronous client cannot make synchronous calls",
                where=self._model,
                mend="step with AsyncMemoryController, or pass client=OpenAI(...) too",
            )
        if self._sync is None:
            from acc.compressors.hanging_up import impatient_client

            self._sync = self._made_of("OpenAI", http_client=impatient_client())
        return self._sync

    def asynchronous(self) -> Any:
        """The asynchronous client of the running loop.

        Raises:
            ConfigurationError: The environment does not hold what it takes.
        """
        if self._async is not None:
            return self._async
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            # A client's connections belong to the loop that opened them.
            self._made[loop] = self._made_of("AsyncOpenAI")
        return self._made[loop]

    def _made_of(self, kind: str, **options: Any) -> Any:
        import openai

        try:
            client = getattr(openai, kind)
            return client(max_retries=0, base_url=self._base_url or None, **options)
        except Exception as error:  # the SDK's, or the HTTP client's about the address
            raise no_client(error, self._model) from error


def _without_retries(client: Any) -> Any:
    with_options = getattr(client, "with_options", None)
    return with_options(max_retries=0) if callable(with_options) else client
