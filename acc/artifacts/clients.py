"""Opens Chroma: embedded in a folder that this process locks, or as the client of a server. Closes it again.

No exception of Chroma's escapes: each becomes a `StoreError` that says what happened, where, and what to do.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import weakref
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

from filelock import FileLock, Timeout

from acc.artifacts.files import blank_unused, drop_cut_indexes
from acc.errors import (
    AccError,
    ConfigurationError,
    StoreError,
    StoreLockedError,
    StoreUnavailableError,
)

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.config import Settings

LOCK = "acc.lock"
"""The file in the folder by which a process locks it."""

COPY = "new"
"""The folder in it that a compaction writes."""

_embedded: weakref.WeakSet[EmbeddedClient] = weakref.WeakSet()


class EmbeddedClient:
    """Chroma in this process, on a folder that it locks.

    Two processes on one folder lose vectors without an error.

    Attributes:
        is_broken: Whether a vector index was damaged, and has been dropped.
    """

    def __init__(self, folder: Path) -> None:
        self.where, self.folder, self.is_broken = str(folder), folder, False
        with translated("the folder of the index cannot be locked", self.where):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.lock = lock_of(folder)
        try:
            self.client = self.opened()
        except BaseException:
            self.lock.release()
            raise
        _embedded.add(self)

    def opened(self) -> ClientAPI:
        """Open the client, without the vector indexes that are cut."""
        self.is_broken |= drop_cut_indexes(self.folder)
        with translated("the embedded Chroma cannot be opened", self.where):
            import chromadb

            settings = _settings(
                chroma_api_impl="chromadb.api.rust.RustBindingsAPI",
                is_persistent=True,
                persist_directory=self.where,
            )
            try:
                return chromadb.PersistentClient(self.where, settings=settings)
            except BaseException:
                _forget(self.where)
                raise

    def reopen(self) -> None:
        """Close the client, and open it again."""
        self._stop()
        self.client = self.opened()

    def rewrite(self, copy: Callable[[ClientAPI], None]) -> None:
        """Let the files that ``copy`` writes take the place of this folder's: Chroma only marks what is deleted.

        One that is killed in between leaves an empty index, which the journal fills.
        """
        new = self.folder / COPY
        shutil.rmtree(new, ignore_errors=True)
        other = EmbeddedClient(new)
        try:
            copy(other.client)
        finally:
            other.close()
        self._stop()
        try:
            _move(new, self.folder)
        finally:
            self.client = self.opened()

    def close(self) -> None:
        """Close the files, and let go of the folder."""
        try:
            self._stop()
        finally:
            self.lock.release()

    def _stop(self) -> None:
        with translated("the embedded Chroma cannot be closed", self.where):
            self.client.close()  # type: ignore[attr-defined]
            _forget(self.where)
        blank_unused(self.folder)


def _move(new: Path, folder: Path) -> None:
    """Move all but the lock from a folder into another one, in the place of what is there."""
    old = (path for path in folder.iterdir() if path not in (new, folder / LOCK))
    for path in sorted(old, key=Path.is_dir):  # without a database, it is empty
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    for path in sorted(new.iterdir(), key=Path.is_file):
        if path.name != LOCK:
            path.rename(folder / path.name)
    shutil.rmtree(new)


def _forget(path: str) -> None:
    """Stop what a failed or interrupted call left open on this path: Chroma would go on with it for ever."""
    from chromadb.api.shared_system_client import SharedSystemClient

    SharedSystemClient._identifier_to_refcount.pop(path, None)
    system = SharedSystemClient._identifier_to_system.pop(path, None)
    if system is not None:
        with suppress(AttributeError):  # it was not started
            system.stop()


class ServerClient:
    """The client of a Chroma server; several processes and machines can use one.

    Args:
        address: Such as ``http://chroma:8000``. Name and password in it, ``https://name:password@chroma``, are its
            basic credentials.
        headers: Credentials, as the proxy before the server wants them: Chroma 1.x checks none itself.
        verify: A file with certificates to trust, or False to trust any; the system's by default.
        timeout: Seconds that a request may take. Chroma's own client waits for ever.
    """

    is_broken = False

    def __init__(
        self, address: str, *, headers: Mapping[str, str], verify: str | bool, timeout: float
    ) -> None:
        found, port = _split(address)
        is_secure, host = found.scheme == "https", found.hostname or ""
        given = {**_credentials(found), **headers}
        self.where = f"{host}:{port}"
        with translated("the Chroma server cannot be used", self.where):
            import httpx
            from chromadb import HttpClient
            from chromadb.api.base_http_client import BaseHTTPClient

            settings = _settings(
                chroma_api_impl="chromadb.api.fastapi.FastAPI",
                chroma_server_host=host,
                chroma_server_http_port=port,
                chroma_server_ssl_enabled=is_secure,
                chroma_server_ssl_verify=verify,
                chroma_server_headers=given,
            )
            path = settings.chroma_server_api_default_path
            url = BaseHTTPClient.resolve_url(host, is_secure, path, port)
            # The constructor of Chroma's client asks the server, without a limit of time: this request has one.
            answer = httpx.get(f"{url}/heartbeat", headers=given, timeout=timeout, verify=verify)
            answer.raise_for_status().json()["nanosecond heartbeat"]
            self.client = HttpClient(host, port, is_secure, given, settings)
            self._session: Any = getattr(getattr(self.client, "_server", None), "_session", None)
            if self._session is not None:
                self._session.timeout = httpx.Timeout(timeout)

    def close(self) -> None:
        """Close the connections."""
        with translated("the client of Chroma cannot be closed", self.where):
            self.client.close()  # type: ignore[attr-defined]
            if self._session is not None:
                self._session.close()


def _split(address: str) -> tuple[SplitResult, int]:
    ports = {"http": 8000, "https": 443}
    with suppress(ValueError):
        found = urlsplit(address)
        if found.scheme in ports and found.hostname:
            return found, found.port or ports[found.scheme]
    hint = "such as http://127.0.0.1:8000"  # a password in the address is not repeated
    raise ConfigurationError("no address of a Chroma server", where="store", hint=hint)


def _credentials(address: SplitResult) -> dict[str, str]:
    if address.username is None:
        return {}
    named = f"{unquote(address.username)}:{unquote(address.password or '')}"
    return {"Authorization": f"Basic {b64encode(named.encode()).decode()}"}


def _settings(**given: Any) -> Settings:
    from chromadb.config import Settings

    # Without _env_file=None, a .env in the working directory would override the deployer.
    return Settings(_env_file=None, anonymized_telemetry=False, allow_reset=False, **given)


def lock_of(folder: Path) -> FileLock:
    """Return the lock of a folder, which this process has taken."""
    lock = FileLock(folder / LOCK, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise StoreLockedError(
            "another store, in this process or another, holds the folder of the index",
            where=str(folder),
            hint="close it first, or let both use a Chroma server: `chroma run --path DIR`",
        ) from error
    return lock


def forked(where: str) -> StoreError:
    """Return the error for the use of a store in a fork of the process that opened it."""
    what = "the store was opened before the process forked"
    hint = "open it after the fork, start processes with 'spawn', or use a Chroma server"
    return StoreError(what, where=where, hint=hint)


def _after_fork() -> None:
    # Neither is ever freed: Chroma's client would wait for its threads, of which a fork has none, and the lock would be
    # let go of for the parent, too.
    for each in _embedded:
        for kept in (each.client, each.lock):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def translated(doing: str, where: str) -> Iterator[None]:
    """Raise a `StoreError` for whatever the block raises; ``doing`` says what failed.

    An interrupt, as of Ctrl-C, passes. A panic of Chroma's Rust code is no `Exception`, but is one of these faults.
    """
    try:
        yield
    except (AccError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise _store_error(error, doing, where) from error


def _store_error(error: BaseException, doing: str, where: str) -> StoreError:
    import httpx

    for each in _causes(error):
        if isinstance(each, httpx.TimeoutException):
            what, hint = "does not answer in time", "check the server's load, or raise timeout="
            return StoreUnavailableError(f"the Chroma server {what}", where=where, hint=hint)
        if isinstance(each, httpx.HTTPStatusError):
            code = each.response.status_code
            kind = StoreUnavailableError if code == 429 or code >= 500 else StoreError
            hint = "check its address, its log, and what a proxy before it asks for in headers="
            return kind(f"the Chroma server answers with status {code}", where=where, hint=hint)
        if isinstance(each, httpx.TransportError):
            hint = "start it with `chroma run --path DIR --port PORT`, or correct its address"
            what = "the Chroma server cannot be reached"
            return StoreUnavailableError(what, where=where, hint=hint)
    hint = "check folder, disk and server; `acc reindex` builds the index anew: the journal has every turn"
    return StoreError(f"{doing}: {type(error).__name__}: {error}"[:300], where=where, hint=hint)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
