"""Dense vectors in Chroma, and checks and repairs of its vector indexes.

An index is a graph, and a query walks it. Equal vectors link to each other, and can cut off others
from every walk: a read by id still returns those, but no query finds them. A query with a stored
vector must return that vector before all farther ones. If all answers are equal to it, any of them
may represent it: that is a tie.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from acc.stores.chroma.collections import DENSE, SYNC, GuardedClient, wide
from acc.stores.chroma.rows import (
    as_numpy,
    batches,
    delete_rows,
    read_batch,
    read_vectors,
    reembed,
    row_id,
    tells_of_loss,
)
from acc.stores.protocol import CheckedVectors

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api import ClientAPI


_EMBEDDER = "acc:embedder"

# No query uses this index, and "cosine" would change the length of a returned vector.
_INDEX: Mapping[str, Any] = {"space": "l2", "sync_threshold": SYNC}


class DenseRecords(GuardedClient):
    """The `acc.stores.protocol.DenseStore` part of the Chroma store."""

    def keep_dense(self, tenant: str, embedder: str, vectors: Mapping[str, bytes]) -> None:
        """Keep these vectors; see `acc.stores.protocol.DenseStore`."""
        with self._changing(tenant, "the dense vectors cannot be written"):
            name = collection_name(tenant, embedder)
            collection = _ensure(self._ask, self._connection.client, name, {_EMBEDDER: embedder})
            _write(self._ask, collection, {row_id(id_): v for id_, v in vectors.items()})

    def dense(self, tenant: str, embedder: str, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the kept vectors; see `acc.stores.protocol.DenseStore`."""
        with self._reading(tenant):
            name = collection_name(tenant, embedder)
            client = self._connection.client
            there = {c.name: c for c in self._ask(client.list_collections)}
            if name not in there:
                return {}
            # No `_ask` here: a lost vector is no failure of the connection.
            return read_vectors(self._patience, there[name], ids)


def collection_name(tenant: str, embedder: str) -> str:
    """Return ``acc-dense-<hash of the tenant>-<hash of the embedder's name>``."""
    return f"{_prefix(tenant)}{hashlib.sha256(embedder.encode()).hexdigest()[:8]}"


def _write(ask: Any, collection: Collection, vectors: Mapping[str, bytes]) -> None:
    """Write vectors, overwriting existing ones under their keys."""
    for batch in batches(list(vectors)):
        embeddings = as_numpy(vectors[key] for key in batch)
        ask(
            lambda batch=batch, embeddings=embeddings: collection.upsert(
                ids=batch, embeddings=embeddings
            )
        )


def collections_of(ask: Any, client: ClientAPI, tenant: str) -> list[Collection]:
    """Return the tenant's collections, one per embedder."""
    return _with_prefix(ask, client, _prefix(tenant))


def embedder_of(collection: Collection) -> str:
    """Return the name of the embedder of a collection's vectors."""
    return str((collection.metadata or {}).get(_EMBEDDER, collection.name))


def drop_dense(ask: Any, client: ClientAPI, tenant: str, keys: Sequence[str]) -> None:
    """Delete the dense vectors under these keys, of every embedder."""
    for collection in collections_of(ask, client, tenant):
        delete_rows(ask, collection, keys)


def rewrite_dense(ask: Any, client: ClientAPI) -> None:
    """Rewrite every collection of dense vectors: an index keeps its deleted vectors.

    A kill in between loses vectors, which are embedded again on demand.
    """
    for collection in _with_prefix(ask, client, DENSE):
        _rewrite(ask, client, collection)


def _rewrite(
    ask: Any, client: ClientAPI, collection: Collection, more: Mapping[str, int] | None = None
) -> None:
    """Rewrite one collection, with index settings ``more``; see `rewrite_dense`."""
    name, metadata = collection.name, dict(collection.metadata or {})
    keys = ask(lambda: collection.get(include=[]))["ids"]
    kept = dict(pair for batch in batches(keys) for pair in read_batch(ask, collection, batch))
    ask(lambda: client.delete_collection(name))
    _write(ask, _ensure(ask, client, name, metadata, {**_INDEX, **(more or {})}), kept)


def _with_prefix(ask: Any, client: ClientAPI, prefix: str) -> list[Collection]:
    return [c for c in ask(client.list_collections) if c.name.startswith(prefix)]


def _ensure(
    ask: Any,
    client: ClientAPI,
    name: str,
    metadata: dict[str, Any],
    index: Mapping[str, Any] = _INDEX,
) -> Collection:
    """Return the collection; create it if absent."""
    configuration: Any = {"hnsw": dict(index)}
    collection: Collection = ask(
        lambda: client.get_or_create_collection(
            name, embedding_function=None, metadata=metadata, configuration=configuration
        )
    )
    return collection


def _prefix(tenant: str) -> str:
    digest = hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{DENSE}{digest[:24]}-"


_NEAR = 8
"""Number of requested answers."""

_ROUNDING = 1e-6
"""Limit of the cosine distance of a vector to itself, with a margin; under "l2" it is 0."""


class IndexedRecords(GuardedClient):
    """The `acc.stores.protocol.IndexedStore` part of the Chroma store."""

    def indexes(self, tenant: str) -> list[str]:
        """Return the tenant's indexes; see `acc.stores.protocol.IndexedStore`."""
        with self._reading(tenant) as collection:
            dense = map(embedder_of, collections_of(self._ask, self._connection.client, tenant))
            return [*([""] if collection is not None else []), *sorted(dense)]

    def check_index(self, tenant: str, index: str) -> Iterator[CheckedVectors]:
        """Check every vector; see `acc.stores.protocol.IndexedStore`."""
        with self._reading(tenant):
            collection = self._index(tenant, index)
            keys = self._ask(lambda: collection.get(include=[])["ids"]) if collection else []
        seen = 0
        for batch in batches(keys):
            with self._reading(tenant):
                collection = self._index(tenant, index)
                # No `_ask` here: a lost vector is no failure of the connection.
                found = dict(read_batch(self._patience, collection, batch)) if collection else {}
                missed = tuple(_missed(self._patience, collection, found))
            lost = tuple(key for key in batch if key not in found)
            seen += len(batch)
            yield CheckedVectors(seen, len(keys), lost, missed)

    def relink(self, tenant: str, index: str, keys: Sequence[str]) -> None:
        """Rewrite these vectors; see `acc.stores.protocol.IndexedStore`."""
        self._check_usable()
        with self._changing(tenant, "the vectors cannot be written"):
            collection = self._index(tenant, index)
            for batch in batches(keys) if collection is not None else ():
                if index:
                    self._relink_dense(collection, batch)
                else:
                    reembed(self._ask, collection, batch)

    def widen(self, tenant: str, index: str, links: int) -> bool:
        """Rebuild an index with ``links`` links per vector; see `acc.stores.protocol.IndexedStore`."""
        self._check_usable()
        with self._changing(tenant, "the index cannot be rebuilt"):
            collection = self._index(tenant, index)
            if collection is None:
                return False
            if index:
                _rewrite(self._ask, self._connection.client, collection, wide(links))
                return True
            done = self._connection.widen(collection.name, links)
            self._read_anew(self._connection.client)
            return done

    def _relink_dense(self, collection: Any, batch: list[str]) -> None:
        found = dict(read_batch(self._patience, collection, batch))
        delete_rows(self._ask, collection, [key for key in batch if key not in found])
        _write(self._ask, collection, found)

    def _index(self, tenant: str, index: str) -> Any:
        """Return the collection, or None."""
        if not index:
            return self._collections.existing(tenant)
        found = collections_of(self._ask, self._connection.client, tenant)
        return next((c for c in found if embedder_of(c) == index), None)


def _missed(ask: Any, collection: Any, vectors: Mapping[str, bytes]) -> Iterator[str]:
    """Yield keys missing from the answers to their own vector, except for ties."""
    tie = 0.0 if vectors and collection.name.startswith(DENSE) else _ROUNDING
    answers = _answers(ask, collection, list(vectors.values()))
    for key, (ids, distances) in zip(vectors, answers, strict=True):
        are_ties = len(ids) == _NEAR and distances[-1] <= tie
        if key not in ids and not are_ties:
            yield key


def _answers(
    ask: Any, collection: Any, vectors: Sequence[bytes]
) -> Iterator[tuple[list[str], list[float]]]:
    """Yield ids and distances per vector; empty if the query reaches a vector without an id."""
    if not vectors:
        return
    asked = as_numpy(vectors)
    try:
        found = ask(
            lambda: collection.query(query_embeddings=asked, n_results=_NEAR, include=["distances"])
        )
    except BaseException as error:
        if not tells_of_loss(error):
            raise
        if len(vectors) == 1:
            yield [], []
        else:
            half = len(vectors) // 2
            yield from _answers(ask, collection, vectors[:half])
            yield from _answers(ask, collection, vectors[half:])
        return
    yield from zip(found["ids"], found["distances"], strict=True)
