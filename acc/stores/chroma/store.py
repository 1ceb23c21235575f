"""The artifact store on Chroma: embedded in this process, or a server for several processes.

Each tenant has one collection. Records are read by id only, at a cost independent of the store's
size.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from acc.folders import expanded
from acc.stores.chroma.client import (
    Connection,
    Patience,
    ServerConnection,
    address,
    at_once,
    patient,
    translated,
)
from acc.stores.chroma.collections import GuardedClient
from acc.stores.chroma.embedded import EmbeddedConnection
from acc.stores.chroma.rows import (
    READ,
    Row,
    as_numpy,
    batches,
    delete_rows,
    from_row,
    ids_containing,
    list_ids,
    replace_rows,
    row_id,
    to_rows,
)
from acc.stores.chroma.vectors import DenseRecords, drop_dense
from acc.stores.finalizer import when_dropped
from acc.stores.protocol import Artifact

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api import ClientAPI
    from tenacity.wait import wait_base


class ManagedRecords(GuardedClient):
    """The `acc.stores.protocol.SearchableStore` part of the Chroma store."""

    def ids(self, tenant: str, *, kind: str = "", thread: str = "") -> list[str]:
        """Return the sorted ids of all records, or of those of this kind or thread."""
        with self._reading(tenant) as collection:
            if collection is None:
                return []
            return list_ids(self._ask, collection, kind=kind, thread=thread)

    def containing(self, tenant: str, word: str) -> list[str]:
        """Return the sorted ids of the records whose text contains ``word`` in any case.

        Chroma keeps an index of the three-letter sequences of all texts, which answers this.
        """
        with self._reading(tenant) as collection:
            return [] if collection is None else ids_containing(self._ask, collection, word)

    def replace(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        """Write these records, overwriting existing ones; see `acc.stores.protocol.ManagedStore`."""
        self._check_usable()
        if rows := to_rows(tenant, artifacts):
            with self._changing(tenant, "the records cannot be replaced"):
                self.rewrites += 1
                drop_dense(self._ask, self._connection.client, tenant, [row.id for row in rows])
                replace_rows(self._ask, self._collections.ensured(tenant), rows)

    def delete(self, tenant: str, ids: Sequence[str]) -> None:
        """Delete the records of these ids with their vectors; ignore absent ones."""
        self._check_usable()
        with self._changing(tenant, "the records cannot be deleted"):
            self.rewrites += 1
            keys = [row_id(id_) for id_ in ids]
            drop_dense(self._ask, self._connection.client, tenant, keys)
            if (collection := self._collections.existing(tenant)) is not None:
                delete_rows(self._ask, collection, keys)

    def compact(self) -> bool:
        """Rewrite the files without deleted content; False if a server owns them."""
        self._check_usable()
        with self._writing, translated("the files cannot be rewritten", self._where):
            self._recover()
            done = self._connection.scrub()
            self._read_anew(self._connection.client)
            return done


class ChromaArtifactStore(ManagedRecords, DenseRecords):
    """Artifacts in Chroma. Safe for use by any number of threads, but not across a fork.

    Args:
        client: The caller's Chroma client, which `close` leaves open. With an embedded client,
            the caller must prevent a second process on its path, and replace it after a failure.
        shared: Whether another process may write to the same data.
        where: Path or address, for messages.
        patience: Retries the client's calls.

    Attributes:
        directory: The embedded path; None if this process does not own the files.
        after_kill: Whether the previous process may have been killed.
        revision: Increases with every write of this object.
        rewrites: Increases with every replacement or deletion of this object.
    """

    def __init__(
        self,
        client: ClientAPI,
        *,
        shared: bool = True,
        where: str = "chroma",
        patience: Patience = at_once,
    ) -> None:
        super().__init__(client, shared=shared, where=where, patience=patience)
        self._closed_by_hand: Callable[[], object] = lambda: None

    @classmethod
    def embedded(cls, path: str | Path, *, looks: bool = False) -> Self:
        """Open the store in the directory ``path``, created if absent, for this process alone.

        Chroma's vector indexes are deleted first: nothing reads them, and a power cut can damage them.

        Args:
            path: The directory.
            looks: Whether this opening only inspects. After a kill of the previous process, the
                next opening then still reports it (``after_kill``).

        Raises:
            StoreLockedError: Another store holds the path.
            StoreMismatchError: It was written under another schema or embedder.
            StoreError: The path cannot be read or written, or its files are damaged.
        """
        directory = expanded(path).absolute()
        connection = EmbeddedConnection(directory, looks=looks)
        store = cls(connection.client, shared=False, where=str(directory))
        store._owns(connection)
        store.directory = directory
        store.after_kill = connection.after_kill
        try:
            with translated("the collections cannot be listed", str(directory)):
                store._collections.check()
        except BaseException:
            connection.close()
            raise
        return store

    @classmethod
    def server(
        cls,
        host: str = "127.0.0.1",
        port: int = 8000,
        ssl: bool = False,
        headers: Mapping[str, str] | None = None,
        *,
        timeout: float = 30.0,
        attempts: int = 3,
        wait: wait_base | None = None,
    ) -> Self:
        """Use a Chroma server, which several processes may share.

        Chroma's server does not authenticate: keep it on the local host, or behind a proxy.

        Args:
            host: Name or address, or a whole URL.
            port: The server's port.
            ssl: Whether the server uses https.
            headers: Headers of each request, for example for a proxy.
            timeout: Limit, in seconds, that a request waits for the server.
            attempts: Number of attempts while the connection fails.
            wait: tenacity's strategy for the time between attempts; by default at most a second.
        """
        patience = patient(attempts, wait)
        connection = patience(
            lambda: ServerConnection(host, port, ssl=ssl, headers=headers, timeout=timeout)
        )
        where = address(host, port)
        store = cls(connection.client, shared=True, where=where, patience=patience)
        store._owns(connection)
        return store

    @property
    def shared(self) -> bool:
        """Whether another process may write to the same data."""
        return self._shared

    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        """Insert records with an absent id; existing records stay unchanged.

        Writes in batches of `BATCH`, each atomic. Idempotent.

        Raises:
            StoreMismatchError: The tenant's records were written under another schema or embedder.
            StoreError: A record exceeds `acc.stores.protocol`, or cannot be written.
        """
        self._check_usable()
        rows = to_rows(tenant, artifacts)
        if not rows:
            return
        with self._changing(tenant, "the records cannot be written"):
            collection = self._collections.ensured(tenant)
            for batch in batches(rows):
                self._write(collection, batch)

    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        """Return the existing records of these ids, in the requested order; any number of ids.

        Raises:
            StoreMismatchError: The tenant's records were written under another schema or embedder.
            StoreError: The store cannot be read, or a record in it was changed.
        """
        self._check_usable()
        keys = list(dict.fromkeys(row_id(id_) for id_ in ids))
        if not keys:
            return []
        found: dict[str, Artifact] = {}
        with self._reading(tenant) as collection:
            for batch in batches(keys, READ) if collection is not None else ():
                self._read(collection, batch, found)
        return [found[id_] for id_ in ids if id_ in found]

    def close(self) -> None:
        """Release files and connections. Idempotent; any later use raises a `StoreError`.

        A forked child releases nothing, because the parent holds the resources.
        """
        self._closed = True
        if os.getpid() == self._pid:
            with self._writing, translated("the store cannot be closed", self._where):
                self._connection.close()
                self._closed_by_hand()

    def _owns(self, connection: Connection) -> None:
        """Close ``connection`` with this store, even if the store is dropped without `close`."""
        self._connection = connection
        what = f"the store in {self._where}, which was not closed, cannot be released"
        self._closed_by_hand = when_dropped(self, connection.close, what)

    def _write(self, collection: Collection, rows: Sequence[Row]) -> None:
        embeddings = as_numpy(row.embedding for row in rows)
        self._ask(
            lambda: collection.add(
                ids=[row.id for row in rows],
                documents=[row.document for row in rows],
                embeddings=embeddings,
                metadatas=[row.metadata for row in rows],
            )
        )

    def _read(self, collection: Collection, keys: list[str], found: dict[str, Artifact]) -> None:
        rows = self._ask(lambda: collection.get(ids=keys, include=["documents", "metadatas"]))
        documents, metadatas = rows["documents"] or [], rows["metadatas"] or []
        for key, document, metadata in zip(rows["ids"], documents, metadatas, strict=True):
            artifact = from_row(key, document, metadata)
            found[artifact.id] = artifact
