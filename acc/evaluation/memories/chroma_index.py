"""Retrieval by vectors: an in-memory Chroma collection of its own for each evaluated memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from acc.stores.chroma_errors import translated

Embed = Callable[[str], Sequence[float]]
"""A text's vector."""

_COLLECTIONS = count(1)
_EF = 1_000
"""Neighbours that the search looks at: more than a conversation has, so that it is exact."""


class ChromaIndex:
    """Texts ranked by the cosine of their vectors."""

    def __init__(self, embed: Embed | None = None) -> None:
        """Open one.

        Args:
            embed: Makes vectors; the keyless hashed BM25 of `acc.stores.embedding` if None.

        Raises:
            StoreError: Chroma cannot be opened.
        """
        from acc.stores.embedding import embed as hashed

        self._embed = embed or hashed
        self._size = 0
        self._name = f"evaluated-{next(_COLLECTIONS)}"
        with translated("the in-memory Chroma cannot be opened", self._name):
            import chromadb
            from chromadb.config import Settings

            self._client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
            self._collection: Any = self._client.create_collection(
                self._name,
                embedding_function=None,
                configuration={"hnsw": {"space": "cosine", "ef_search": _EF}},
            )

    def add(self, text: str) -> int:
        """Add a text; its position."""
        position, self._size = self._size, self._size + 1
        with translated("a text cannot be stored", self._name):
            self._collection.add(ids=[str(position)], embeddings=[list(self._embed(text))])
        return position

    def best(self, query: str, k: int, keep: Callable[[int], bool]) -> list[int]:
        """Positions by distance, the later first where distances are equal."""
        if not self._size:
            return []
        with translated("the collection cannot be searched", self._name):
            found = self._collection.query(
                query_embeddings=[list(self._embed(query))],
                n_results=min(self._size, _EF),
                include=["distances"],
            )
        places = [int(id_) for id_ in found["ids"][0]]
        nearest = sorted(
            zip(found["distances"][0], places, strict=True), key=lambda each: (each[0], -each[1])
        )
        return [place for _, place in nearest if keep(place)][:k]

    def close(self) -> None:
        """Drop the collection: indexes of one process share Chroma's memory. Safe to repeat."""
        if self._name:
            with translated("the collection cannot be dropped", self._name):
                self._client.delete_collection(self._name)
        self._name = ""
