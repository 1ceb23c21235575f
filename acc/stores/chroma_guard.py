"""What every call of a Chroma client goes through: locks, patience, recovery, our errors for its own."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from acc.errors import StoreError
from acc.stores.chroma_client import Connection, Patience
from acc.stores.chroma_collections import TenantCollections
from acc.stores.chroma_errors import translated

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

T = TypeVar("T")


class GuardedClient:
    """A client of Chroma, for any number of threads; the base of what reads and writes through it."""

    def __init__(self, client: ClientAPI, *, shared: bool, where: str, patience: Patience) -> None:
        self._connection = Connection(client)
        self._shared = shared
        self._where = where
        self._patience = patience
        self._read_anew(client)
        self._writing = threading.Lock()
        self._pid = os.getpid()
        self._closed = False
        self.directory: Path | None = None
        self.after_kill = False
        self.revision = self.rewrites = 0

    @contextmanager
    def _reading(self, tenant: str) -> Iterator[Any]:
        """The tenant's collection, or None; errors are translated."""
        self._check_usable()
        with self._watched(tenant, "the records cannot be read"):
            if self._connection.failed:
                with self._writing:
                    self._recover()
            yield self._collections.existing(tenant)

    def _ask(self, call: Callable[[], T], /) -> T:
        try:
            return self._patience(call)
        except BaseException:
            self._connection.failed = True
            raise

    def _recover(self) -> None:
        self._check_usable()  # again, now that no other thread can close it
        if self._connection.failed:
            self._connection.recover()
            self._read_anew(self._connection.client)

    def _read_anew(self, client: ClientAPI) -> None:
        """Know nothing of the tenants' collections: ``client`` is new, or its files were rewritten."""
        store = weakref.proxy(self)  # so that a store that nobody holds is released at once
        self._collections = TenantCollections(
            client, lambda call: store._ask(call), shared=self._shared
        )

    @contextmanager
    def _changing(self, tenant: str, doing: str) -> Iterator[None]:
        with self._writing, self._watched(tenant, doing):
            self.revision += 1
            self._recover()
            yield

    @contextmanager
    def _watched(self, tenant: str, doing: str) -> Iterator[None]:
        try:
            with translated(doing, self._where):
                yield
        except StoreError:
            self._collections.forget(tenant)
            raise

    def _check_usable(self) -> None:
        if os.getpid() != self._pid:
            raise StoreError(
                "the store was opened before the process forked",
                where=self._where,
                mend="open it in the child, or start processes by 'spawn' or 'forkserver'",
            )
        if self._closed:
            raise StoreError("the store is closed", where=self._where, mend="open it again")
