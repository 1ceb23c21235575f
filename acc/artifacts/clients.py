"""Opens Chroma: embedded in a folder that this process locks, or as the client of a server. Closes it again."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import weakref
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit
from uuid import UUID

from acc.artifacts.faults import translated
from acc.errors import ConfigurationError, StoreError, StoreLockedError

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.config import Settings

DATABASE = "chroma.sqlite3"
_embedded: weakref.WeakSet[EmbeddedClient] = weakref.WeakSet()


class EmbeddedClient:
    """Chroma in this process, on a folder that it locks.

    Two processes on one folder lose vectors without an error. The lock lies on the folder itself: there is no
    file that somebody could delete.

    Attributes:
        is_broken: Whether a vector index was damaged, and has been dropped.

    Raises:
        StoreLockedError: Another store, here or in another process, holds the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.where, self.folder, self.is_broken = str(folder), folder, False
        with translated("the folder of the index cannot be locked", self.where):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._unlock = _locked(folder)
        try:
            self.client = self.opened()
        except BaseException:
            self._unlock()
            raise
        _embedded.add(self)

    def opened(self) -> ClientAPI:
        """Open the client, without the vector indexes that a power cut has left cut: Chroma would crash on them.

        It starts such a collection with an empty index.
        """
        for each in index_folders(self.folder):
            if (each / "header.bin").exists() and not _is_whole(each):
                shutil.rmtree(each)
                self.is_broken = True
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

    def reopen(self, meanwhile: Callable[[], object]) -> None:
        """Close the client, call ``meanwhile`` with the files at rest, and open it again."""
        self._stop()
        try:
            meanwhile()
        finally:
            self.client = self.opened()

    def close(self) -> None:
        """Close the files, and let go of the folder."""
        try:
            self._stop()
        finally:
            self._unlock()

    def _stop(self) -> None:
        with translated("the embedded Chroma cannot be closed", self.where):
            self.client.close()  # type: ignore[attr-defined]
            _forget(self.where)
        for index in index_folders(self.folder):
            _blank(index)


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

    Raises:
        ConfigurationError: It is no such address.
        StoreError: The server cannot be used.
    """

    is_broken = False

    def __init__(
        self, address: str, *, headers: Mapping[str, str], verify: str | bool, timeout: float
    ) -> None:
        found, port = _split(address)
        is_secure, host = found.scheme == "https", found.hostname or ""
        given = {**_basic(found), **headers}
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
    """Return the parts of an address, and its port."""
    ports = {"http": 8000, "https": 443}
    with suppress(ValueError):
        found = urlsplit(address)
        if found.scheme in ports and found.hostname:
            return found, found.port or ports[found.scheme]
    hint = "such as http://127.0.0.1:8000"  # a password in the address is not repeated
    raise ConfigurationError("no address of a Chroma server", where="store", hint=hint)


def _basic(address: SplitResult) -> dict[str, str]:
    if address.username is None:
        return {}
    named = f"{unquote(address.username)}:{unquote(address.password or '')}"
    return {"Authorization": f"Basic {b64encode(named.encode()).decode()}"}


def _settings(**given: Any) -> Settings:
    from chromadb.config import Settings

    # Without _env_file=None, a .env in the working directory would override the deployer.
    return Settings(_env_file=None, anonymized_telemetry=False, allow_reset=False, **given)


def _locked(folder: Path) -> Callable[[], None]:
    """Lock the folder until the returned function is called, or the process ends."""
    import filelock

    try:
        try:
            return _locked_itself(folder)
        except BlockingIOError:
            raise
        except (ImportError, OSError):  # Windows, or a network file system that locks files only
            lock = filelock.FileLock(folder / "acc.lock", timeout=0, thread_local=False)
            lock.acquire()
            return lock.release
    except (BlockingIOError, filelock.Timeout) as error:
        raise StoreLockedError(
            "another store, in this process or another, holds the folder of the index",
            where=str(folder),
            hint="close it first, or let both use a Chroma server: `chroma run --path DIR`",
        ) from error


def _locked_itself(folder: Path) -> Callable[[], None]:
    import fcntl

    handle = os.open(folder, os.O_RDONLY)

    def unlock() -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)  # a fork may have the handle, too
        os.close(handle)

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return unlock


def forked(where: str) -> StoreError:
    """Return the error for the use of a store in a fork of the process that opened it."""
    what = "the store was opened before the process forked"
    hint = "open it after the fork, start processes with 'spawn', or use a Chroma server"
    return StoreError(what, where=where, hint=hint)


def _after_fork() -> None:
    # Chroma's client waits for its threads when it is freed, and a fork has none of them: it is never freed.
    for each in _embedded:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each.client))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


_HEADER = struct.Struct("<i4Q")
"""Of an index's header.bin: format, offset, capacity, number of elements, size of an element."""


def index_folders(folder: Path) -> Iterator[Path]:
    """Yield the folders of vector indexes: Chroma names them by UUIDs."""
    for path in folder.glob("*"):
        with suppress(ValueError):
            if path.is_dir() and str(UUID(path.name)) == path.name:
                yield path


def _is_whole(index: Path) -> bool:
    try:
        count, size = _sizes(index)
        data, lengths = ((index / n).stat().st_size for n in ("data_level0.bin", "length.bin"))
    except (OSError, struct.error):
        return False
    named = not count or (index / "index_metadata.pickle").is_file()
    return named and data >= count * size and lengths >= count * 4


def _blank(index: Path) -> None:
    """Overwrite the part of an index's files that no element uses, while Chroma is closed.

    Chroma writes an index at full capacity from memory that it does not clear: a text erased since can reach the disk.
    """
    if not _is_whole(index):
        return
    count, size = _sizes(index)
    for name, used in (("data_level0.bin", count * size), ("length.bin", count * 4)):
        with (index / name).open("r+b") as file:
            rest = file.seek(0, os.SEEK_END) - used
            file.seek(used)
            file.write(bytes(rest))


def _sizes(index: Path) -> tuple[int, int]:
    """Return how many elements an index has, and the bytes of one."""
    *_, count, size = _HEADER.unpack_from((index / "header.bin").read_bytes())
    return count, size
