"""Listing, replacing and deleting records in a Chroma collection, and reading their vectors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from acc.store import Artifact
from acc.stores.chroma_client import Connection, Patience
from acc.stores.chroma_collections import TenantCollections
from acc.stores.chroma_errors import translated
from acc.stores.chroma_rows import ID_KEY, Row, row_id, to_rows

if TYPE_CHECKING:
    from chromadb import Collection

T = TypeVar("T")
Ask = Callable[[Callable[[], T]], T]


class ManagedRecords:
    """The part of `acc.stores.chroma.ChromaArtifactStore` that retention and erasure need."""

    _ask: Any
    _patience: Patience
    _writing: threading.Lock
    _connection: Connection
    _collections: TenantCollections
    _shared: bool
    _where: str
    rewrites: int

    def _check_usable(self) -> None:
        raise NotImplementedError

    def _recover(self) -> None:
        raise NotImplementedError

    def _reading(self, tenant: str) -> AbstractContextManager[Any]:
        raise NotImplementedError

    def _changing(self, tenant: str, doing: str) -> AbstractContextManager[None]:
        raise NotImplementedError

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
        """Write these records, over what stands under their ids; see `acc.store.ManagedStore`.

        Raises:
            StoreError: A record is beyond `acc.stores.limits`, or cannot be written.
        """
        self._check_usable()
        if rows := to_rows(tenant, artifacts):
            with self._changing(tenant, "the records cannot be replaced"):
                self.rewrites += 1
                replaced(self._ask, self._collections.ensured(tenant), rows)

    def delete(self, tenant: str, ids: Sequence[str]) -> None:
        """Take the records of these ids out, with their vectors. Absent ones are passed over.

        Raises:
            StoreError: They cannot be deleted.
        """
        self._check_usable()
        with self._changing(tenant, "the records cannot be deleted"):
            self.rewrites += 1
            if (collection := self._collections.existing(tenant)) is not None:
                deleted(self._ask, collection, ids)

    def vectors(self, tenant: str, ids: Sequence[str]) -> dict[str, bytes]:
        """The vectors of these ids; see `acc.store.ManagedStore`.

        Raises:
            StoreError: The store cannot be read.
        """
        with self._reading(tenant) as collection:
            # A lost vector is an answer, not a failure of the connection: no `_ask` here.
            return vectors(self._patience, collection, ids) if collection is not None else {}

    def compact(self) -> bool:
        """Rewrite the files, so that nothing deleted is left in them; see `acc.store.ManagedStore`.

        Some 0.7 ms for each record: every vector is made anew.

        Raises:
            StoreError: They cannot be rewritten.
        """
        self._check_usable()
        with self._writing, translated("the files cannot be rewritten", self._where):
            self._recover()
            done = self._connection.scrub()
            client = self._connection.client
            self._collections = TenantCollections(client, self._ask, shared=self._shared)
            return done


BATCH = 100
"""Records in one call that writes."""

READ = 300
"""Ids in one call that reads."""


def listed(ask: Any, collection: Collection, *, kind: str, thread: str) -> list[str]:
    """The artifacts' ids of a collection, or of one kind or thread, sorted."""
    wanted = [{name: value} for name, value in (("kind", kind), ("thread_id", thread)) if value]
    where: Any = {"$and": wanted} if len(wanted) > 1 else (wanted[0] if wanted else None)
    found = ask(lambda: collection.get(where=where, include=["metadatas"]))
    metadatas = found["metadatas"] or []
    pairs = zip(found["ids"], metadatas, strict=True)
    return sorted(_full_id(key, metadata or {}) for key, metadata in pairs)


def replaced(ask: Any, collection: Collection, rows: Sequence[Row]) -> None:
    """Write ``rows`` over what stands there: one call a batch, which is whole or not at all."""
    import numpy

    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        found = ask(
            lambda ids=[row.id for row in batch]: collection.get(ids=ids, include=["metadatas"])
        )
        old = dict(zip(found["ids"], found["metadatas"] or [], strict=True))
        embeddings: list[Any] = [numpy.frombuffer(row.embedding, numpy.float32) for row in batch]
        # Chroma merges metadata: a key that the new record lacks is taken out by name.
        metadatas: list[Any] = [
            {**dict.fromkeys(old.get(row.id) or {}), **row.metadata} for row in batch
        ]
        ask(
            lambda batch=batch, embeddings=embeddings, metadatas=metadatas: collection.upsert(
                ids=[row.id for row in batch],
                documents=[row.document for row in batch],
                embeddings=embeddings,
                metadatas=metadatas,
            )
        )


def deleted(ask: Any, collection: Collection, ids: Sequence[str]) -> None:
    """Delete the records of these ids that there are."""
    for keys in _batches(ids, BATCH):
        there = ask(lambda keys=keys: collection.get(ids=keys, include=[]))["ids"]
        if there:
            ask(lambda there=there: collection.delete(ids=there))


def vectors(ask: Any, collection: Collection, ids: Sequence[str]) -> dict[str, bytes]:
    """Vectors by artifact id. A batch in which one was lost is read one by one."""
    keys = {row_id(id_): id_ for id_ in ids}
    found: dict[str, bytes] = {}
    for batch in _batches(ids, READ):
        for key, vector in _read(ask, collection, batch):
            found[keys[key]] = vector
    return found


def _read(ask: Any, collection: Collection, keys: list[str]) -> Iterator[tuple[str, bytes]]:
    import numpy

    try:
        got = ask(lambda: collection.get(ids=keys, include=["embeddings"]))
    except BaseException as error:
        if "Error getting embedding" not in str(error) and "Error finding id" not in str(error):
            raise
        half = len(keys) // 2
        if half:
            yield from _read(ask, collection, keys[:half])
            yield from _read(ask, collection, keys[half:])
        return
    embeddings = got["embeddings"] if got["embeddings"] is not None else []
    for key, vector in zip(got["ids"], embeddings, strict=True):
        yield key, numpy.asarray(vector, numpy.float32).tobytes()


def _batches(ids: Sequence[str], size: int) -> Iterator[list[str]]:
    keys = list(dict.fromkeys(row_id(id_) for id_ in ids))
    for start in range(0, len(keys), size):
        yield keys[start : start + size]


def _full_id(key: str, metadata: Any) -> str:
    if ID_KEY not in metadata:
        return key
    pieces, index = [str(metadata[ID_KEY])], 1
    while f"{ID_KEY}.{index}" in metadata:
        pieces.append(str(metadata[f"{ID_KEY}.{index}"]))
        index += 1
    return "".join(pieces)
