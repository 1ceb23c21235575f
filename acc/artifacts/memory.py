"""The artifact store in memory: for tests, demos, and agents whose evidence may end with the process."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from acc.artifacts.embedding import Embedder, HashedWords, Vectors
from acc.artifacts.rows import passes
from acc.artifacts.store import Store


class InMemoryArtifacts(Store):
    """An `ArtifactStore` that ends with the process. Only what holds the rows differs from Chroma's."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        super().__init__(embedder or HashedWords(), "memory")
        self._collection = Rows()

    def clear(self) -> None:
        """Begin anew, empty."""
        with self._using("the store cannot be cleared"):
            self._collection = Rows()

    def compact(self) -> bool:
        """Return True: nothing that was deleted is left."""
        return self.count() >= 0

    def _release(self) -> None:
        self._collection = Rows()


class Rows:
    """Behaves as far as `Store` goes as a collection of Chroma does."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[str, Mapping[str, Any], Vectors]] = {}
        self._lock = threading.Lock()

    def add(
        self,
        ids: Sequence[str],
        documents: Sequence[str],
        metadatas: Sequence[Mapping[str, Any]],
        embeddings: Vectors,
    ) -> None:
        """Add rows; ids that are there stay as they are."""
        with self._lock:
            for id_, *row in zip(ids, documents, metadatas, embeddings, strict=True):
                self._rows.setdefault(id_, (row[0], row[1], row[2]))

    def get(
        self, ids: Sequence[str] | None = None, where: Any = None, include: Sequence[str] = ()
    ) -> dict[str, list[Any]]:
        """Return the rows with these ids, or of this filter, in the order of adding."""
        with self._lock:
            asked = self._rows if ids is None else set(ids)
            found = [i for i, row in self._rows.items() if i in asked and passes(row[1], where)]
            documents, metadatas = ([self._rows[i][n] for i in found] for n in (0, 1))
        return {"ids": found, "documents": documents, "metadatas": metadatas}

    def query(
        self, query_embeddings: Vectors, n_results: int, where: Any, include: Sequence[str]
    ) -> dict[str, list[list[Any]]]:
        """Return the nearest rows of a filter."""
        found: dict[str, list[Any]] = self.get(where=where)
        vectors = np.array([self._rows[id_][2] for id_ in found["ids"]])
        distances = 1 - vectors @ query_embeddings[0] if len(vectors) else np.zeros(0)
        order = np.argsort(distances, kind="stable")[:n_results].tolist()
        found["distances"] = distances.tolist()
        return {name: [[values[at] for at in order]] for name, values in found.items()}

    def delete(self, ids: Sequence[str] | None = None, where: Any = None) -> None:
        """Delete the rows with these ids, or of this filter."""
        gone = set(self.get(ids, where)["ids"])
        with self._lock:
            self._rows = {i: row for i, row in self._rows.items() if i not in gone}
