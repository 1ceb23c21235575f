"""Looking whether Chroma's vector indexes come to every vector, and mending those that do not.

An index is a graph, and a query a walk through it. Where many vectors are equal they link to one
another, and others can end up in a corner that no walk comes to: they are read by id as before, and
no query finds them. Asked with a vector itself, an exact comparison answers that vector before all
that are farther. Where all answers are equal to it, one of them stands for it: that is a tie.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from acc.stores.chroma_batches import BATCH, deleted, embedded_again, read, tells_of_loss
from acc.stores.chroma_collections import DENSE, wide
from acc.stores.chroma_dense import collections_of, embedder_of, rewritten, written
from acc.stores.chroma_guard import GuardedClient
from acc.stores.indexes import Looked

_NEAR = 8
"""Answers that are asked for."""

_ROUNDING = 1e-6
"""Cosine distance of a vector to itself, and then some; under "l2" it is 0."""


class IndexedRecords(GuardedClient):
    """The part of `acc.stores.chroma.ChromaArtifactStore` that is an `acc.stores.indexes.IndexedStore`."""

    def indexes(self, tenant: str) -> list[str]:
        """The tenant's indexes; see `acc.stores.indexes.IndexedStore`.

        Raises:
            StoreError: The store cannot be read.
        """
        with self._reading(tenant) as collection:
            dense = map(embedder_of, collections_of(self._ask, self._connection.client, tenant))
            return [*([""] if collection is not None else []), *sorted(dense)]

    def look(self, tenant: str, index: str) -> Iterator[Looked]:
        """Look at every vector; see `acc.stores.indexes.IndexedStore`.

        Raises:
            StoreError: The store cannot be read.
        """
        with self._reading(tenant):
            collection = self._index(tenant, index)
            keys = self._ask(lambda: collection.get(include=[])["ids"]) if collection else []
        for start in range(0, len(keys), BATCH):
            batch = keys[start : start + BATCH]
            with self._reading(tenant):
                collection = self._index(tenant, index)
                # A lost vector is an answer, not a failure of the connection: no `_ask` here.
                found = dict(read(self._patience, collection, batch)) if collection else {}
                missed = tuple(_missed(self._patience, collection, found))
            lost = tuple(key for key in batch if key not in found)
            yield Looked(start + len(batch), len(keys), lost, missed)

    def relink(self, tenant: str, index: str, keys: Sequence[str]) -> None:
        """Write these vectors anew; see `acc.stores.indexes.IndexedStore`.

        Raises:
            StoreError: They cannot be written.
        """
        self._check_usable()
        with self._changing(tenant, "the vectors cannot be written"):
            collection = self._index(tenant, index)
            for start in range(0, len(keys) if collection is not None else 0, BATCH):
                batch = list(keys[start : start + BATCH])
                if index:
                    self._relink_dense(collection, batch)
                else:
                    embedded_again(self._ask, collection, batch)

    def widen(self, tenant: str, index: str, links: int) -> bool:
        """Make an index anew with ``links`` links for each vector; see `acc.stores.indexes.IndexedStore`.

        Raises:
            StoreError: It cannot be written.
        """
        self._check_usable()
        with self._changing(tenant, "the index cannot be made anew"):
            collection = self._index(tenant, index)
            if collection is None:
                return False
            if index:
                rewritten(self._ask, self._connection.client, collection, wide(links))
                return True
            done = self._connection.widen(collection.name, links)
            self._read_anew(self._connection.client)
            return done

    def _relink_dense(self, collection: Any, batch: list[str]) -> None:
        import numpy

        found = dict(read(self._patience, collection, batch))
        deleted(self._ask, collection, [key for key in batch if key not in found])
        rows = {key: numpy.frombuffer(vector, numpy.float32) for key, vector in found.items()}
        written(self._ask, collection, rows)

    def _index(self, tenant: str, index: str) -> Any:
        """The collection, or None."""
        if not index:
            return self._collections.existing(tenant)
        found = collections_of(self._ask, self._connection.client, tenant)
        return next((c for c in found if embedder_of(c) == index), None)


def _missed(ask: Any, collection: Any, vectors: Mapping[str, bytes]) -> Iterator[str]:
    """Keys that do not come though something farther does, or though there is room."""
    tie = 0.0 if vectors and collection.name.startswith(DENSE) else _ROUNDING
    answers = _answers(ask, collection, list(vectors.values()))
    for key, (ids, distances) in zip(vectors, answers, strict=True):
        are_ties = len(ids) == _NEAR and distances[-1] <= tie
        if key not in ids and not are_ties:
            yield key


def _answers(
    ask: Any, collection: Any, vectors: Sequence[bytes]
) -> Iterator[tuple[list[str], list[float]]]:
    """Ids and distances for each vector; none where the query comes upon what has lost its id."""
    import numpy

    if not vectors:
        return
    asked: list[Any] = [numpy.frombuffer(vector, numpy.float32) for vector in vectors]
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
