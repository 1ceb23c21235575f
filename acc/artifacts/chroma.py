"""Chroma as the artifact store: one collection for all threads, searched by Chroma's own query.

Only ids, texts, metadata and vectors of ours go in; Chroma is never given an embedding function, which it would
store and rebuild from the stored form.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from acc.artifacts.clients import EmbeddedClient, ServerClient, forked
from acc.artifacts.embedding import Embedder, HashedWords
from acc.artifacts.faults import DAMAGED, translated
from acc.artifacts.store import Store
from acc.artifacts.upkeep import opened, rewritten, scrub, staleness
from acc.errors import ConfigurationError, StoreError

NAME = "acc-artifacts"
"""The collection."""


class ChromaStore(Store):
    """An `ArtifactStore` in Chroma. Open it with `embedded` or `server`.

    A folder is one process's; several processes and machines use one server.
    """

    def __init__(
        self, client: EmbeddedClient | ServerClient, embedder: Embedder, collection: str = NAME
    ) -> None:
        super().__init__(embedder, client.where)
        self._client, self._name = client, collection
        self._pid, self._failed = os.getpid(), False
        try:
            self._open()
        except BaseException:
            client.close()
            raise

    @classmethod
    def embedded(
        cls, folder: str | Path, embedder: Embedder | None = None, *, collection: str = NAME
    ) -> ChromaStore:
        """Open Chroma in this process, in ``folder``.

        Raises:
            StoreLockedError: Another store holds the folder.
            StoreError: The folder cannot be used.
        """
        return cls(EmbeddedClient(Path(folder)), embedder or HashedWords(), collection)

    @classmethod
    def at(cls, address: str, embedder: Embedder | None = None, **more: Any) -> ChromaStore:
        """Use a Chroma server at an address such as ``http://chroma:8000``; the rest is that of `server`.

        Name and password in the address, ``https://name:password@chroma``, are its basic credentials.

        Raises:
            ConfigurationError: It is no such address.
            StoreError: The server cannot be reached.
        """
        try:
            found = urlsplit(address)
            host, given = found.hostname or "", found.port
        except ValueError:
            host = ""
        if not host or found.scheme not in ("http", "https"):  # a password in it is not repeated
            raise ConfigurationError(
                "no address of a Chroma server", where="store", hint="such as http://127.0.0.1:8000"
            )
        is_secure = found.scheme == "https"
        port = given or (443 if is_secure else 8000)
        if found.username is not None:
            named = f"{unquote(found.username)}:{unquote(found.password or '')}"
            basic = {"Authorization": f"Basic {b64encode(named.encode()).decode()}"}
            more["headers"] = {**basic, **more.get("headers", {})}
        return cls.server(host, port, embedder, ssl=is_secure, **more)

    @classmethod
    def set_aside(cls, folder: Path) -> Path | None:
        """Give the folder another name if its files are damaged; return it, or None if they are not.

        The journal has every text: the next store in ``folder`` begins empty, and is filled from it.
        """
        try:
            cls.embedded(folder).close()
        except StoreError as error:
            if error.what == DAMAGED:
                now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
                return folder.rename(folder.with_name(f"{folder.name}-damaged-{now}"))
        return None

    @classmethod
    def server(
        cls,
        host: str = "localhost",
        port: int = 8000,
        embedder: Embedder | None = None,
        *,
        ssl: bool = False,
        headers: Mapping[str, str] | None = None,
        verify: str | bool = True,
        timeout: float = 30.0,
        collection: str = NAME,
    ) -> ChromaStore:
        """Use a Chroma server; the arguments are those of `acc.artifacts.clients.ServerClient`.

        Raises:
            StoreError: The server cannot be used.
        """
        client = ServerClient(host, port, ssl=ssl, headers=headers, verify=verify, timeout=timeout)
        return cls(client, embedder or HashedWords(), collection)

    def rebuild(self) -> int:
        """Embed every text anew into a new collection, which then takes the place of this one."""
        with self._using("the index cannot be rebuilt"), self._writing:
            self._collection = rewritten(self._client.client, self._collection, self.embedder)
            self._stale, self._is_usable = "", True
            return self.count()

    def compact(self) -> bool:
        """Write the files anew without deleted texts and vectors; False on a server (`chroma vacuum` there)."""
        client = self._client
        if not isinstance(client, EmbeddedClient):
            return False
        with self._using("the files of the index cannot be rewritten"), self._writing:
            if self._stale:  # vectors are missing, or are another embedder's
                self.rebuild()
            else:
                self._collection = rewritten(client.client, self._collection, None)
            client.reopen(lambda: scrub(client.folder))
            self._open()
        return True

    def _release(self) -> None:
        if os.getpid() == self._pid:
            self._client.close()

    @contextmanager
    def _using(self, doing: str) -> Iterator[None]:
        """Check and translate as every store; open Chroma anew after a failure: else a later write may hang."""
        if os.getpid() != self._pid:
            raise forked(self.where)
        with super()._using(doing):
            if self._failed:
                self._recover()
            try:
                yield
            except StoreError:
                raise
            except BaseException:
                self._failed = True
                raise

    def _recover(self) -> None:
        with self._writing:
            if self._failed and isinstance(self._client, EmbeddedClient):
                self._client.reopen(lambda: None)
            self._open()
            self._failed = False

    def _open(self) -> None:
        client = self._client
        with translated("the collection cannot be opened", self.where):
            self._collection = opened(client.client, self._name, self.embedder)
            found = staleness(self._collection, self.embedder, client.broken)
            self._stale, self._is_usable = found
            client.broken = []
        self._marks.clear()
