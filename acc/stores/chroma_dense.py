"""Dense vectors beside the records: what an embedder made of them, so that it is asked once for each.

A tenant has a collection for each embedder, of vectors alone under the records' ids. They follow
from the texts, so they may be lost: whoever wants one makes it anew. They may not outlive a text:
whatever replaces or deletes a record drops its dense vectors first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acc.stores.chroma_batches import BATCH, deleted, read, vectors
from acc.stores.chroma_collections import DENSE, SYNC
from acc.stores.chroma_guard import GuardedClient
from acc.stores.chroma_rows import row_id

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api import ClientAPI

_EMBEDDER = "acc:embedder"

# Nobody queries it, and under "cosine" a vector comes back at another length.
_INDEX: Mapping[str, Any] = {"space": "l2", "sync_threshold": SYNC}


class DenseRecords(GuardedClient):
    """The part of `acc.stores.chroma.ChromaArtifactStore` that offers `acc.store.DenseStore`."""

    def keep_dense(self, tenant: str, embedder: str, vectors: Mapping[str, bytes]) -> None:
        """Keep these vectors; see `acc.store.DenseStore`.

        Raises:
            StoreError: They cannot be written.
        """
        import numpy

        with self._changing(tenant, "the dense vectors cannot be written"):
            collection = made(self._ask, self._connection.client, tenant, embedder)
            rows = {row_id(id_): numpy.frombuffer(v, numpy.float32) for id_, v in vectors.items()}
            written(self._ask, collection, rows)

    def dense(self, tenant: str, embedder: str, ids: Sequence[str]) -> dict[str, bytes]:
        """The vectors that are kept; see `acc.store.DenseStore`.

        Raises:
            StoreError: They cannot be read.
        """
        with self._reading(tenant):
            name = collection_name(tenant, embedder)
            client = self._connection.client
            there = {c.name: c for c in self._ask(client.list_collections)}
            if name not in there:
                return {}
            # A lost vector is an answer, not a failure of the connection: no `_ask` here.
            return vectors(self._patience, there[name], ids)


def collection_name(tenant: str, embedder: str) -> str:
    """``acc-dense-<hash of the tenant>-<hash of the embedder's name>``."""
    return f"{_prefix(tenant)}{hashlib.sha256(embedder.encode()).hexdigest()[:8]}"


def made(ask: Any, client: ClientAPI, tenant: str, embedder: str) -> Collection:
    """The collection, made if absent."""
    return _made(ask, client, collection_name(tenant, embedder), {_EMBEDDER: embedder})


def written(ask: Any, collection: Collection, rows: Mapping[str, Any]) -> None:
    """Write vectors over what stands under their keys."""
    keys = list(rows)
    for start in range(0, len(keys), BATCH):
        batch = keys[start : start + BATCH]
        ask(lambda batch=batch: collection.upsert(ids=batch, embeddings=[rows[k] for k in batch]))


def collections_of(ask: Any, client: ClientAPI, tenant: str) -> list[Collection]:
    """The tenant's collections, one for each embedder."""
    return _of(ask, client, _prefix(tenant))


def embedder_of(collection: Collection) -> str:
    """The name of the embedder whose vectors it has."""
    return str((collection.metadata or {}).get(_EMBEDDER, collection.name))


def dropped(ask: Any, client: ClientAPI, tenant: str, keys: Sequence[str]) -> None:
    """Take the dense vectors under these keys out, whichever embedder made them."""
    for collection in collections_of(ask, client, tenant):
        deleted(ask, collection, keys)


def renewed(ask: Any, client: ClientAPI) -> None:
    """Write every collection of dense vectors anew: an index keeps what was deleted from it.

    A kill meanwhile loses vectors, which are made anew when they are wanted.
    """
    for collection in _of(ask, client, DENSE):
        rewritten(ask, client, collection)


def rewritten(
    ask: Any, client: ClientAPI, collection: Collection, more: Mapping[str, int] | None = None
) -> None:
    """Write one anew, its index with ``more`` settings; see `renewed`."""
    name, metadata = collection.name, dict(collection.metadata or {})
    rows = dict(_kept(ask, collection))
    ask(lambda: client.delete_collection(name))
    written(ask, _made(ask, client, name, metadata, {**_INDEX, **(more or {})}), rows)


def _kept(ask: Any, collection: Collection) -> Iterator[tuple[str, Any]]:
    import numpy

    keys = ask(lambda: collection.get(include=[]))["ids"]
    for start in range(0, len(keys), BATCH):
        for key, vector in read(ask, collection, keys[start : start + BATCH]):
            yield key, numpy.frombuffer(vector, numpy.float32)


def _of(ask: Any, client: ClientAPI, prefix: str) -> list[Collection]:
    return [c for c in ask(client.list_collections) if c.name.startswith(prefix)]


def _made(
    ask: Any,
    client: ClientAPI,
    name: str,
    metadata: dict[str, Any],
    index: Mapping[str, Any] = _INDEX,
) -> Collection:
    configuration: Any = {"hnsw": dict(index)}
    collection: Collection = ask(
        lambda: client.get_or_create_collection(
            name,
            embedding_function=None,
            metadata=metadata,
            configuration=configuration,
        )
    )
    return collection


def _prefix(tenant: str) -> str:
    digest = hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{DENSE}{digest[:24]}-"
