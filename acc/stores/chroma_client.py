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


def embedded_client(directory: Path) -> ClientAPI:
    """Chroma in this process, on ``directory``, which the caller holds a lock on.

    Raises:
        StoreError: Chroma does not load, or the path cannot be read or written.
    """
    with translated("the embedded Chroma cannot be opened", str(directory)):
        import chromadb

        settings = _settings(chroma_api_impl="chromadb.api.rust.RustBindingsAPI")
        try:
            return chromadb.PersistentClient(str(directory), settings=settings)
        except BaseException:
            _forget(str(directory))
            raise


def server_client(
    host: str, port: int, *, ssl: bool, headers: Mapping[str, str] | None, timeout: float
) -> ClientAPI:
    """A client of a Chroma server that answers.

    Raises:
        StoreError: The server cannot be reached within ``timeout`` seconds, or is no Chroma.
    """
    with translated("the Chroma server cannot be used", address(host, port)):
        import chromadb
        import httpx
        from chromadb.api.base_http_client import BaseHTTPClient

        given = dict(headers or {})
        settings = _settings(
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=host,
            chroma_server_http_port=port,
        )
        # Chroma's own client would wait for ever: this request does not.
        url = BaseHTTPClient.resolve_url(host, ssl, settings.chroma_server_api_default_path, port)
        verify = settings.chroma_server_ssl_verify
        answer = httpx.get(
            f"{url}/heartbeat",
            headers=given,
            timeout=timeout,
            verify=True if verify is None else verify,
        )
        answer.raise_for_status().json()["nanosecond heartbeat"]
        client = chromadb.HttpClient(host, port, ssl, given, settings)
        if (session := _session(client)) is not None:
            session.timeout = httpx.Timeout(timeout)
        return client


def close_client(client: ClientAPI) -> None:
    """End the client, and its connections with it."""
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

    links = list(chain(error))
    if any(isinstance(link, httpx.TimeoutException) for link in links):
        return False
    return any(isinstance(link, httpx.TransportError) or status(link) in _BUSY for link in links)


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
