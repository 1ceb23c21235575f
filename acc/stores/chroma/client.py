"""Open Chroma (settings, embedded path, server), retry its calls, and translate its errors."""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from acc.errors import AccError, StoreError
from acc.logs import cause, log_event

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.config import Settings
    from tenacity import RetryCallState
    from tenacity.wait import wait_base

_LOG = logging.getLogger(__name__)

_SPARE = 1 << 20
"""Free bytes that SQLite needs to write a page and its journal, with a margin."""


class _Fault(NamedTuple):
    pattern: str
    what: str
    hint: str


# Chroma passes messages of SQLite, the system and the server as texts without a code. Only their
# words distinguish them. The first match counts.
_FULL = _Fault(
    r"disk is full|no space left|disk quota",
    "the disk is full",
    "free disk space there, then try again; all stored records are intact",
)
_FAULTS = (
    _FULL,
    _Fault(
        r"validation errors? for settings|can't decode byte",
        "a Chroma setting in the environment, or in a .env file of the working directory, is not valid",
        "correct the setting (the cause names it), or start in another directory",
    ),
    _Fault(
        r"readonly database|read-only file|permission denied|not permitted|unable to open database",
        "the path cannot be written",
        "give this user write access to the directory and its files, or choose another path",
    ),
    _Fault(
        r"not a directory|file exists|is a directory",
        "the path is not a directory, or is inside a file",
        "name a directory, or a path where one can be created",
    ),
    _Fault(
        r"no attribute 'bindings'",
        "the store was closed by another thread",
        "open it again",
    ),
    _Fault(
        r"database is locked|pool timed out",
        "another program uses the database of the store",
        "stop that program: only one process may use an embedded path",
    ),
    _Fault(
        r"not a database|malformed",
        "the files of the store are damaged",
        "restore the directory from a backup, or move it away and start with an empty one",
    ),
    _Fault(
        r"hnsw|pickle",
        "a vector index of the store is damaged",
        "open the memory again: ACC deletes the index, and no record is lost; if a server owns the files, "
        "stop it and run `acc doctor --memory ITS_FOLDER` first",
    ),
    _Fault(
        r"payload too large|status 413",
        "the server refuses a request of this size",
        "raise max_payload_size_bytes in the configuration file of `chroma run`, or the proxy's limit",
    ),
    _Fault(
        r"status 40[13]|forbidden|unauthorized",
        "the server refuses the credentials",
        "pass the credentials for the server or its proxy in headers=",
    ),
    _Fault(
        r"status 404|jsondecodeerror|nanosecond heartbeat",
        "the server at this address is not a Chroma server 1.0 or later",
        "correct host, port and ssl, or update the server",
    ),
    _Fault(
        r"ratelimiterror:|status 429",
        "the Chroma server is overloaded",
        "try again later, or give the server more resources",
    ),
    _Fault(
        r"(connect|read|write|pool)timeout:",
        "the Chroma server does not answer in time",
        "check the server's load, or raise timeout=",
    ),
    _Fault(
        r"(connect|read|write|close|proxy|remoteprotocol|connection\w*)error:|status 50[234]",
        "the Chroma server cannot be reached",
        "start it with `chroma run --path DIR --port PORT`, or correct host, port and ssl",
    ),
    _Fault(
        r"collection .* does not exist",
        "the tenant's collection is gone",
        "restore the collection from a backup; the next write creates an empty one",
    ),
)


@contextmanager
def translated(doing: str, where: str) -> Iterator[None]:
    """Translate any error in the block to a `StoreError`, with the original as its cause.

    ``doing`` says what failed; it is used if no known fault matches. ``where`` is a path or
    address.
    """
    try:
        yield
    except AccError:
        raise
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic in Chroma's Rust code is not an Exception
        raise _store_error(error, doing, where) from error


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield ``error`` and its causes, outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def status(error: BaseException) -> int:
    """Return the HTTP status of ``error``; 0 if it has none."""
    code = getattr(getattr(error, "response", None), "status_code", 0)
    return code if isinstance(code, int) else 0


def _store_error(error: BaseException, doing: str, where: str) -> StoreError:
    account = " | ".join(_account(link) for link in chain(error)).lower()
    if "failed to apply logs" in account and _is_full(where):
        return StoreError(_FULL.what, where=where, hint=_FULL.hint)
    for fault in _FAULTS:
        if re.search(fault.pattern, account):
            return StoreError(fault.what, where=where, hint=fault.hint)
    return StoreError(
        f"{doing}: {_account(error)[:200]}",
        where=where,
        hint="read the cause; check the disk and, if there is a server, its log",
    )


def _is_full(where: str) -> bool:
    # Chroma does not say why it could not apply records; a full disk is the usual cause.
    with suppress(OSError, ValueError):
        return shutil.disk_usage(where).free < _SPARE
    return False


def _account(error: BaseException) -> str:
    code = status(error)
    return f"{type(error).__name__}: {error}" + (f" (status {code})" if code else "")


T = TypeVar("T")

_BUSY = (429, 502, 503, 504)


class Patience(Protocol):
    """Makes a call, possibly several times; returns its result or raises its last error."""

    def __call__(self, call: Callable[[], T], /) -> T:
        """Return the result of ``call``."""
        ...


def at_once(call: Callable[[], T], /) -> T:
    """Make a single attempt."""
    return call()


class Connection:
    """A client that the caller opened and will close.

    The user of the connection sets ``failed`` after an error. ``owns_files`` says whether this
    process may rewrite the files.
    """

    owns_files = False

    def __init__(self, client: ClientAPI) -> None:
        self.client = client
        self.failed = False

    def recover(self) -> None:
        """Make the client usable after a failure."""
        self.failed = False

    def scrub(self) -> bool:
        """Rewrite the files without deleted content; return False if another process owns them."""
        return False

    def keep_private(self) -> None:
        """Restrict access to files of the last call, and blank their unused part, if this process owns them."""

    def close(self) -> None:
        """Release the resources. Idempotent."""


class ServerConnection(Connection):
    """A client of a running Chroma server, which reconnects by itself after a failure."""

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
            # Chroma's own client would wait without a limit; this request does not.
            _require_answer(settings, timeout)
            super().__init__(_server_client(settings, timeout))

    def close(self) -> None:
        """Close the connections."""
        close_client(self.client)


def embedded_client(directory: Path) -> ClientAPI:
    """Open Chroma in this process on ``directory``, which the caller has locked."""
    with translated("the embedded Chroma cannot be opened", str(directory)):
        import chromadb

        settings = _embedded_settings(directory)
        _stop_left_over(settings)
        try:
            return chromadb.PersistentClient(str(directory), settings=settings)
        except BaseException:
            _stop_left_over(settings)
            raise


def close_embedded(client: ClientAPI, directory: Path) -> None:
    """Close the client that `embedded_client` opened, and its files. Idempotent."""
    close_client(client)
    _stop_left_over(_embedded_settings(directory))


def close_client(client: ClientAPI) -> None:
    """Close the client and its connections. Idempotent."""
    with translated("the client of Chroma cannot be closed", "chroma"):
        from chromadb.api.client import Client

        session = _session(client)
        if isinstance(client, Client):
            client.close()
        if session is not None:
            session.close()


def patient(attempts: int, wait: wait_base | None) -> Patience:
    """Return a patience with ``attempts`` tries while the connection fails; then it raises.

    Repeating a write is safe, because existing records stay unchanged. A timeout is not retried.
    """
    import tenacity

    return tenacity.Retrying(
        stop=tenacity.stop_after_attempt(attempts),
        wait=wait if wait is not None else tenacity.wait_random_exponential(0.1, max=1.0),
        retry=tenacity.retry_if_exception(_transient),
        before_sleep=_tell_retry,
        reraise=True,
    )


def _tell_retry(state: RetryCallState) -> None:
    log_event(
        _LOG, logging.INFO, "store_retry", "a call of Chroma failed and is made again",
        attempt=state.attempt_number, wait=round(state.upcoming_sleep, 2),
        cause=cause(state.outcome.exception() if state.outcome is not None else None),
    )  # fmt: skip


def address(host: str, port: int) -> str:
    """Return host and port without a user and password, for messages."""
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

    # Without _env_file=None, a .env in the working directory would override the deployer.
    return Settings(_env_file=None, anonymized_telemetry=False, allow_reset=False, **given)


def _session(client: ClientAPI) -> Any:
    # Chroma has no public access to its connection pool. Without it, requests have no time limit.
    return getattr(getattr(client, "_server", None), "_session", None)


def _embedded_settings(directory: Path) -> Settings:
    return _settings(
        chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
        is_persistent=True,
        persist_directory=str(directory),
    )


def _stop_left_over(settings: Settings) -> None:
    """Stop what an interrupted or failed call of ours left open on this path.

    Chroma counts the clients of a path, and an interrupt (Ctrl-C) can leave the count too high. Then `close`
    would close nothing, and every later client would use the old index in memory, whose files are gone.
    """
    from chromadb.api.shared_system_client import SharedSystemClient

    path = settings.persist_directory
    system = SharedSystemClient._identifier_to_system.get(path)
    if system is not None and system.settings == settings:
        SharedSystemClient._identifier_to_system.pop(path, None)
        SharedSystemClient._identifier_to_refcount.pop(path, None)
        with suppress(AttributeError):  # it was not started
            system.stop()
