"""Memories that store every message and retrieve those nearest to the user's words.

`Retrieval` is the paper's second agent (top k, from its own isolated store). With k = 1 it is the
top-1 semantic memory of the tutorial agent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Protocol

from acc.errors import ConfigurationError
from acc.evaluation.memories.protocol import Reading
from acc.evaluation.memories.transcript import as_message, reading_of
from acc.stores.chroma.client import translated
from acc.text.ranking import LexicalIndex
from acc.turn.observations import Channel
from acc.turn.turn import Turn

Embed = Callable[[str], Sequence[float]]
"""Computes the vector of a text."""

_COLLECTIONS = count(1)
_EF = 1_000
"""Neighbours that a search visits. It exceeds the texts of a conversation, which makes the search
exact.
"""


class ChromaIndex:
    """Ranks texts by the cosine similarity of their vectors."""

    def __init__(self, embed: Embed | None = None) -> None:
        """Create an index.

        Args:
            embed: Computes vectors; None for the keyless hashed BM25 of `acc.stores.embedding`.

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
        """Add a text and return its position."""
        position, self._size = self._size, self._size + 1
        with translated("a text cannot be stored", self._name):
            self._collection.add(ids=[str(position)], embeddings=[list(self._embed(text))])
        return position

    def best(self, query: str, k: int, keep: Callable[[int], bool]) -> list[int]:
        """Positions by distance; of equal distances the later position comes first."""
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
        """Delete the collection: all indexes of a process share Chroma's memory. Safe to repeat."""
        if self._name:
            with translated("the collection cannot be dropped", self._name):
                self._client.delete_collection(self._name)
        self._name = ""


class Index(Protocol):
    """An index of texts. Positions count from 0, in the order of `add`."""

    def add(self, text: str) -> int:
        """Add a text and return its position."""
        ...

    def best(self, query: str, k: int, keep: Callable[[int], bool]) -> Sequence[int]:
        """The ``k`` nearest positions that ``keep`` accepts, nearest first."""
        ...

    def close(self) -> None:
        """Release all resources. Safe to repeat."""
        ...


class Bm25Index:
    """Ranks texts by the BM25 of `acc.text.ranking`, without scores from neighbouring texts."""

    def __init__(self) -> None:
        self._index = LexicalIndex()

    def add(self, text: str) -> int:
        """Add a text and return its position."""
        return self._index.add(text)

    def best(self, query: str, k: int, keep: Callable[[int], bool]) -> list[int]:
        """Positions by score; of equal scores the later position comes first."""
        return [position for position, _ in self._index.best(query, k, keep)]

    def close(self) -> None:
        """Nothing to release."""


class Retrieval:
    """Stores every message as an artifact and reads the ``k`` nearest to the user's words.

    After a turn, the memory holds the artifacts retrieved for that turn. They exclude the user's
    message of the turn, which the agent reads anyway.
    """

    has_slots = False

    def __init__(self, k: int = 5, *, index: Index | None = None) -> None:
        """Create a memory.

        Args:
            k: Maximum number of artifacts.
            index: The index; None for BM25 in memory.

        Raises:
            ConfigurationError: ``k`` is below 1.
        """
        if k < 1:
            raise ConfigurationError(f"k is {k}", where="retrieval", hint="give 1 or more")
        self._k = k
        self._index: Index = index or Bm25Index()
        self._artifacts: list[str] = []
        self._asked: frozenset[int] = frozenset()
        self._query = ""

    def observe(self, turn: Turn) -> None:
        """Store the turn's messages."""
        asked = set()
        for observation in turn.observations:
            if observation.text:
                self._artifacts.append(as_message(observation))
                position = self._index.add(observation.text)
                if observation.channel is Channel.USER:
                    asked.add(position)
        self._asked, self._query = frozenset(asked), turn.user_words

    def held(self) -> Reading:
        """The artifacts retrieved for the last turn."""
        return self._nearest(self._query, self._asked)

    def read(self, question: str) -> Reading:
        """The artifacts retrieved for ``question`` from all stored messages."""
        return self._nearest(question, frozenset())

    def close(self) -> None:
        """Close the index."""
        self._index.close()

    def _nearest(self, query: str, left_out: frozenset[int]) -> Reading:
        best = self._index.best(query, self._k, lambda position: position not in left_out)
        return reading_of(tuple(self._artifacts[position] for position in best))
