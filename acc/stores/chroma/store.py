"""The artifact store on Chroma: embedded in this process, or a server for several.

Each tenant has one collection. Records are read by id alone, which costs the same at any
size of the store.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

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
    BATCH,
    READ,
    Row,
    deleted,
    from_row,
    listed,
    replaced,
    row_id,
    to_rows,
    vectors,
)
from acc.stores.chroma.vectors import DenseRecords, IndexedRecords, dropped, renewed
from acc.stores.dropped import when_dropped
from acc.stores.protocol import Artifact

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api import ClientAPI
    from tenacity.wait import wait_base


class ManagedRecords(GuardedClient):
    """The part of `acc.stores.chroma.store.ChromaArtifactStore` that retention and erasure need."""

    def ids(self, tenant: str, *, kind: str = "", thread: str = "") -> list[str]:
        """The ids of all records, or of those of this kind or thread, sorted; linear in the tenant's.

        Raises:
            StoreError: The store cannot be read.
        """
        with self._reading(tenant) as collection:
            if collection is None:
                return []
            return listed(self._ask, collection, kind=kind, thread=thread)

    def replace(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        """Write these records, over what stands under their ids; see `acc.stores.protocol.ManagedStore`.

        Raises:
            StoreError: A record is beyond `acc.stores.limits`, or cannot be written.
        """
        self._check_usable()
        if rows := to_rows(tenant, artifacts):
            with self._changing(tenant, "the records cannot be replaced"):
                self.rewrites += 1
                dropped(self._ask, self._connection.client, tenant, [row.id for row in rows])
                replaced(self._ask, self._collections.ensured(tenant), rows)

    def delete(self, tenant: str, ids: Sequence[str]) -> None:
        """Take the records of these ids out, with their vectors. Absent ones are passed over.

        Raises:
            StoreError: They cannot be deleted.
        """
        self._check_usable()
        with self._changing(tenant, "the records cannot be deleted"):
            self.rewrites += 1
            keys = [row_id(id_) for id_ in ids]
            dropped(self._ask, self._connection.client, tenant, keys)
            if (collection := self._collections.existing(tenant)) is not None:
                deleted(self._ask, collection, keys)

    def vectors(self, tenant: str, ids: Sequence[str]) -> dict[str, bytes]:
        """The vectors of these ids; see `acc.stores.protocol.ManagedStore`.

        Raises:
            StoreError: The store cannot be read.
        """
        with self._reading(tenant) as collection:
            # A lost vector is an answer, not a failure of the connection: no `_ask` here.
            return vectors(self._patience, collection, ids) if collection is not None else {}

    def compact(self) -> bool:
        """Rewrite the files, so that nothing deleted is left in them; see `acc.stores.protocol.ManagedStore`.

        Some 0.7 ms for each record: every vector is made anew.

        Raises:
            StoreError: They cannot be rewritten.
        """
        self._check_usable()
        with self._writing, translated("the files cannot be rewritten", self._where):
            self._recover()
            if self._connection.owns_files:
                renewed(self._patience, self._connection.client)
            done = self._connection.scrub()
            self._read_anew(self._connection.client)
            return done


class ChromaArtifactStore(ManagedRecords, DenseRecords, IndexedRecords):
    """Artifacts in Chroma. For any number of threads; not across a fork.

    Args:
        client: A Chroma client of the caller's, which `close` leaves open. With an embedded
            one, the caller sees to it that no second process opens its path, and that it is
            replaced after a failure.
        shared: Whether another process may write to the same data.
        where: Path or address, for messages.
        patience: How calls of the client are repeated.

    Attributes:
        directory: The embedded path; None where the files are not this process's.
        after_kill: Whether the process before may have been killed.
        revision: Goes up with every write of this object's; ``rewrites`` with those alone that
            replaced or deleted something.
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
        """Open the store in the directory ``path``, made if absent, for this process alone.

        Where the process before was killed while Chroma wrote a vector index, the index is made
        anew, which takes some 0.7 ms for each record.

        Args:
            path: The directory.
            looks: Whether this is only a look: if the process before was killed, the next opening is told
                so again (``after_kill``).

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

        Chroma's server asks for no credentials: keep it on the local host, or behind a proxy.

        Args:
            host: Name or address, or a whole URL.
            port: Its port.
            ssl: Whether it speaks https.
            headers: Sent with each request: what a proxy asks for.
            timeout: Seconds that a request may wait for the server.
            attempts: How often a request is tried while the connection fails.
            wait: tenacity's strategy for the time between; by default at most a second.

        Raises:
            StoreError: The server cannot be reached, or refuses.
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
        """Insert those whose id is absent; what is there stays as it is.

        Written in batches of `BATCH`, each whole or not at all. Safe to repeat.

        Raises:
            StoreMismatchError: The tenant's records were written under another schema or embedder.
            StoreError: A record is beyond `acc.stores.limits`, or cannot be written.
        """
        self._check_usable()
        rows = to_rows(tenant, artifacts)
        if not rows:
            return
        with self._changing(tenant, "the records cannot be written"):
            collection = self._collections.ensured(tenant)
            for start in range(0, len(rows), BATCH):
                self._write(collection, rows[start : start + BATCH])
            self._connection.keep_private()

    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        """The records of these ids that exist, in the order asked; any number of ids.

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
            for start in range(0, len(keys) if collection is not None else 0, READ):
                self._read(collection, keys[start : start + READ], found)
        return [found[id_] for id_ in ids if id_ in found]

    def close(self) -> None:
        """Release files and connections. Safe to repeat; using it afterwards is a `StoreError`.

        In a forked child nothing is released: it is the parent's.
        """
        self._closed = True
        if os.getpid() == self._pid:
            with self._writing, translated("the store cannot be closed", self._where):
                self._connection.close()
                self._closed_by_hand()

    def _owns(self, connection: Connection) -> None:
        """Close ``connection`` with this store, also when the store is dropped without `close`."""
        self._connection = connection
        what = f"the store in {self._where}, which was not closed, cannot be released"
        self._closed_by_hand = when_dropped(self, connection.close, what)

    def _write(self, collection: Collection, rows: Sequence[Row]) -> None:
        import numpy

        embeddings: list[Any] = [numpy.frombuffer(row.embedding, numpy.float32) for row in rows]
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
