"""Dense vectors in Chroma, as metadata of rows that are read by id.

Chroma returns an embedding only from its vector index, which a power cut can damage. So each vector is
base64 text in its row's metadata, and the row's own embedding is the same single number everywhere.
"""

from __future__ import annotations

import hashlib
import logging
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from acc.logs import log_event
from acc.stores.chroma.collections import DENSE, SYNC, GuardedClient
from acc.stores.chroma.rows import READ, VALUE_BYTES, batches, delete_rows, row_id

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api import ClientAPI

    from acc.stores.chroma.client import Patience


_LOG = logging.getLogger(__name__)

_EMBEDDER = "acc:embedder"
_PIECE = "v"
"""Prefix of the metadata keys that hold a vector's text, in pieces of `VALUE_BYTES`."""


class DenseRecords(GuardedClient):
    """The `acc.stores.protocol.DenseStore` part of the Chroma store."""

    def keep_dense(self, tenant: str, embedder: str, vectors: Mapping[str, bytes]) -> None:
        """Keep these vectors; see `acc.stores.protocol.DenseStore`."""
        self._check_usable()
        with self._changing(tenant, "the dense vectors cannot be written"):
            collection = _ensure(self._ask, self._connection.client, tenant, embedder)
            for batch in batches(list(vectors)):
                rows: dict[str, Any] = {
                    "ids": [row_id(id_) for id_ in batch],
                    "embeddings": [[1.0]] * len(batch),
                    "metadatas": [_pieces(vectors[id_]) for id_ in batch],
                }
                self._ask(partial(collection.upsert, **rows))

    def dense(self, tenant: str, embedder: str, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the kept vectors; see `acc.stores.protocol.DenseStore`."""
        keys = {row_id(id_): id_ for id_ in ids}
        found: dict[str, bytes] = {}
        with self._reading(tenant):
            name = collection_name(tenant, embedder)
            there = {c.name: c for c in self._ask(self._connection.client.list_collections)}
            for batch in batches(list(keys), READ) if name in there else ():
                rows = self._ask(partial(there[name].get, ids=batch, include=["metadatas"]))
                for key, metadata in zip(rows["ids"], rows["metadatas"] or [], strict=True):
                    found[keys[key]] = _joined(metadata or {})
        return found


def collection_name(tenant: str, embedder: str) -> str:
    """Return ``acc-dense-<hash of the tenant>-<hash of the embedder's name and of this layout>``."""
    return _prefix(tenant) + _digest(f"{embedder}\n{_PIECE}")


def drop_dense(ask: Patience, client: ClientAPI, tenant: str, keys: Sequence[str]) -> None:
    """Delete the dense vectors under these keys, of every embedder."""
    for collection in ask(client.list_collections):
        if collection.name.startswith(_prefix(tenant)):
            delete_rows(ask, collection, keys)


def _ensure(ask: Patience, client: ClientAPI, tenant: str, embedder: str) -> Collection:
    """Return the collection of an embedder; create it if absent."""
    there = {c.name: c for c in ask(client.list_collections)}
    if (found := there.get(collection_name(tenant, embedder))) is not None:
        return found
    if (earlier := _prefix(tenant) + _digest(embedder)) in there:
        log_event(
            _LOG, logging.WARNING, "vectors_dropped",
            "the vectors that an earlier release kept are dropped; recall embeds their records again",
            embedder=embedder,
        )  # fmt: skip
        ask(lambda: client.delete_collection(earlier))
    return ask(
        lambda: client.get_or_create_collection(
            collection_name(tenant, embedder),
            embedding_function=None,
            metadata={_EMBEDDER: embedder},
            configuration={"hnsw": {"space": "l2", "sync_threshold": SYNC}},
        )
    )


def _pieces(vector: bytes) -> dict[str, str]:
    text = b64encode(vector).decode("ascii")
    starts = range(0, len(text), VALUE_BYTES)
    return {f"{_PIECE}{n}": text[at : at + VALUE_BYTES] for n, at in enumerate(starts)}


def _joined(metadata: Mapping[str, Any]) -> bytes:
    return b64decode("".join(str(metadata[f"{_PIECE}{n}"]) for n in range(len(metadata))))


def _prefix(tenant: str) -> str:
    return f"{DENSE}{hashlib.sha256(tenant.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}-"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
