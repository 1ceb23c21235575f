"""Opening Chroma: its settings, an embedded path, a server, and the patience with that."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from acc.stores.chroma_errors import chain, status, translated

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.config import Settings
    from tenacity.wait import wait_base

T = TypeVar("T")

_BUSY = (429, 502, 503, 504)


class Patience(Protocol):
    """Makes a call, perhaps more than once, and returns what it returns or raises its last."""

    def __call__(self, call: Callable[[], T], /) -> T:
        """The result of ``call``."""
        ...


def at_once(call: Callable[[], T], /) -> T:
    """The patience of one attempt."""
    return call()


class Connection:
    """A client that somebody else opened and will close.

    Attributes:
        client: The client to use now.
        failed: Whether a call of it raised; set by the user of the connection.
        owns_files: Whether the files are this process's to rewrite.
    """

    owns_files = False

    def __init__(self, client: ClientAPI) -> None:
        self.client = client
        self.failed = False

    def recover(self) -> None:
        """Make the client fit for use after a failure."""
        self.failed = False

    def scrub(self) -> bool:
        """Rewrite the files, so that nothing deleted is left in them; False if they are another's."""
        return False

    def widen(self, collection: str, links: int) -> bool:
        """Make a collection's index anew with so many links a vector; False if the files are another's."""
        return False

    def keep_private(self) -> None:
        """Close what a write made to everybody else, where the files are this process's."""

    def close(self) -> None:
        """Release what was opened. Safe to repeat."""


class ServerConnection(Connection):
    """A client of a Chroma server that answers. After a failure it connects anew by itself.

    Raises:
        StoreError: The server cannot be reached within ``timeout`` seconds, or is no Chroma.
    """

    def __init__(
        self, host: str, port: int, *, ssl: bool, headers: Mapping[str, str] | None, timeout: float
    ) -> None:
        with translated("the Chroma server cannot be used", address(host, port)):
            settings = _settings(
                chroma_api_impl="chromadb.api.fastapi.FastAPI",
                chroma_server_host=host,
                chroma_server_http_port=port,
                chroma_server_ssl_enabled=ssl,
                chroma_server_headers=dict(headers or {}),
            )
            # Chroma's own client would wait for ever: this request does not.
            _require_answer(settings, timeout)
            super().__init__(_server_client(settings, timeout))

    def close(self) -> None:
        """End the connections."""
        close_client(self.client)


def embedded_client(directory: Path) -> ClientAPI:
    """Chroma in this process, on ``directory``, which the caller holds a lock on.

    Raises:
        StoreError: Chroma does not load, or the path cannot be read or written.
    """
    with translated("the embedded Chroma cannot be opened", str(directory)):
        settings = _settings(chroma_api_impl="chromadb.api.rust.RustBindingsAPI")
        try:
            import chromadb

            return chromadb.PersistentClient(str(directory), settings=settings)
        except BaseException:
            _forget(str(directory))
            raise


def close_client(client: ClientAPI) -> None:
    """End the client, and its connections with it. Safe to repeat.

    Raises:
        StoreError: Chroma does not let go.
    """
    with translated("the client of Chroma cannot be closed", "chroma"):
        from chromadb.api.client import Client

        session = _session(client)
        if isinstance(client, Client):
            client.close()
        if session is not None:
            session.close()


def patient(attempts: int, wait: wait_base | None) -> Patience:
    """The patience that tries ``attempts`` times while the connection fails; then the error stands.

    Writes may be repeated, because a record that is there stays as it is. What took too long
    is not tried again.
    """
    import tenacity

    return tenacity.Retrying(
        stop=tenacity.stop_after_attempt(attempts),
        wait=wait if wait is not None else tenacity.wait_random_exponential(0.1, max=1.0),
        retry=tenacity.retry_if_exception(_transient),
        reraise=True,
    )


def address(host: str, port: int) -> str:
    """Host and port as they may be shown: without a user and password."""
    return re.sub(r"//[^/@]*@", "//", f"{host}:{port}")


def _transient(error: BaseException) -> bool:
    import httpx
    from chromadb.errors import RateLimitError

    links = list(chain(error))
    if any(isinstance(link, httpx.TimeoutException) for link in links):
        return False
    passing = (httpx.TransportError, RateLimitError)
    return any(isinstance(link, passing) or status(link) in _BUSY for link in links)


def _require_answer(settings: Settings, timeout: float) -> None:
    import httpx
    from chromadb.api.base_http_client import BaseHTTPClient

    url = BaseHTTPClient.resolve_url(
        str(settings.chroma_server_host),
        settings.chroma_server_ssl_enabled,
        settings.chroma_server_api_default_path,
        settings.chroma_server_http_port,
    )
    verify = settings.chroma_server_ssl_verify
    answer = httpx.get(
        f"{url}/heartbeat",
        headers=settings.chroma_server_headers,
        timeout=timeout,
        verify=True if verify is None else verify,
    )
    answer.raise_for_status().json()["nanosecond heartbeat"]


def _server_client(settings: Settings, timeout: float) -> ClientAPI:
    import httpx
    from chromadb import HttpClient

    client = HttpClient(
        str(settings.chroma_server_host),
        int(settings.chroma_server_http_port or 0),
        bool(settings.chroma_server_ssl_enabled),
        settings.chroma_server_headers,
        settings,
    )
    if (session := _session(client)) is not None:
        session.timeout = httpx.Timeout(timeout)
    return client


def _settings(**given: Any) -> Settings:
    from chromadb.config import Settings

    # Without _env_file=None, a .env in the working directory would overrule the deployer.
    return Settings(_env_file=None, anonymized_telemetry=False, allow_reset=False, **given)


def _session(client: ClientAPI) -> Any:
    # Chroma offers no way to its connection pool; without it, requests only lack the time limit.
    return getattr(getattr(client, "_server", None), "_session", None)


def _forget(path: str) -> None:
    # After a failed start Chroma keeps the half-started system for this path, and every later
    # attempt of the process fails, though the cause may be gone.
    from chromadb.api.shared_system_client import SharedSystemClient

    with suppress(AttributeError):
        if path not in SharedSystemClient._identifier_to_refcount:
            SharedSystemClient._identifier_to_system.pop(path, None)
