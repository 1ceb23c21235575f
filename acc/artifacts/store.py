"""What a store does with a collection of rows, be it Chroma's or one in memory."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from acc.artifacts.embedding import Embedder, embedded
from acc.artifacts.faults import translated
from acc.artifacts.protocol import MAIN, Artifact, Branches, Messages, ThreadName
from acc.artifacts.rows import (
    StoredRow,
    artifacts_of,
    filter_of,
    id_of,
    lane_in,
    lane_of,
    part_id,
    passes,
    rows_of,
    seen_by,
    seq_of,
    whole_id,
)
from acc.errors import StoreError, StoreMismatchError

BATCH = 100
"""Rows of one write: Chroma holds Python's lock for some 0.3 ms a row."""

_ASKED = 500
_Found = tuple[str, str, Mapping[str, Any]]


class Store:
    """An `ArtifactStore` on ``_collection``, which a subclass opens; it has methods of a collection of Chroma."""

    _collection: Any

    def __init__(self, embedder: Embedder, where: str) -> None:
        self.embedder, self.where = embedder, where
        self._writing = threading.RLock()
        self._closed, self._stale = False, ""

    @property
    def stale(self) -> str:
        """Why `clear` is needed; empty if it is not."""
        return self._stale

    def add(self, thread: ThreadName, artifacts: Sequence[Artifact]) -> int:
        """Add messages; return how many were new (`ArtifactStore.add`)."""
        with self._using("artifacts cannot be added", needs_embedder=True):
            rows = {row.id: row for each in artifacts for row in rows_of(thread, each)}
            found = self._read(list(rows))
            changed = {whole_id(id_) for id_, text, _ in found if text != rows[id_].text}
            self._delete(list(_ids_of([each for each in found if whole_id(each[0]) in changed])))
            there = {each[0] for each in found if whole_id(each[0]) not in changed}
            new = [row for id_, row in rows.items() if id_ not in there]
            for at in range(0, len(new), BATCH):
                self._write(new[at : at + BATCH])
            return sum("part" not in row.metadata for row in new)

    def query(
        self,
        thread: ThreadName,
        question: str,
        *,
        branches: Branches = MAIN,
        upto: int | None = None,
        limit: int = 16,
    ) -> list[tuple[Artifact, float]]:
        """Return the messages nearest in meaning with their cosine (`ArtifactStore.query`)."""
        with self._using("the artifacts cannot be searched", needs_embedder=True):
            if not branches:
                return []
            vector = embedded(self.embedder, [question], asks=True)
            most = limit + 16  # parts of one text are one message
            # Numbers cost Chroma more than the names of threads: first without, which suffices nearly always.
            found = self._nearest(vector, most, filter_of(thread))
            on_branch = seen_by(branches, upto)
            seen = [each for each in found if passes(each[0][2], on_branch)]
            if len(found) == most and len(seen) < len(found):
                seen = self._nearest(vector, most, filter_of(thread, on_branch))
            scores: dict[str, float] = {}
            for row, distance in seen:
                scores.setdefault(whole_id(row[0]), 1 - distance)
            rows = self._joined([row for row, _ in seen])
            by_id = {id_of(thread, a.branch, a.message.ref): a for a in rows}
            return [(by_id[id_], score) for id_, score in list(scores.items())[:limit]]

    def _nearest(self, vector: Any, most: int, where: Any) -> list[tuple[_Found, float]]:
        """Return the rows of a filter that are nearest to a vector, with their distances."""
        found: Any = self._collection.query(
            query_embeddings=vector, n_results=most, where=where,
            include=["distances", "metadatas", "documents"],
        )  # fmt: skip
        fields = (found[name][0] for name in ("ids", "documents", "metadatas"))
        return list(zip(zip(*fields, strict=True), found["distances"][0], strict=True))

    def get(self, thread: ThreadName, messages: Sequence[tuple[str, str]]) -> list[Artifact]:
        """Return messages by branch and ref (`ArtifactStore.get`)."""
        with self._using("the artifacts cannot be read"):
            rows = self._read([id_of(thread, branch, ref) for branch, ref in messages])
            return self._joined(rows)

    def delete(self, thread: ThreadName, messages: Messages | None = None) -> None:
        """Delete messages, or the whole thread (`ArtifactStore.delete`); `compact` removes their bytes."""
        with self._using("the artifacts cannot be deleted"), self._writing:
            if messages is None:
                self._collection.delete(where=filter_of(thread))
            for each in messages or ():
                if isinstance(each, Artifact):
                    self._delete([row.id for row in rows_of(thread, each)])
            named = dict.fromkeys(each for each in messages or () if not isinstance(each, Artifact))
            found = self._read([id_of(thread, branch, ref) for branch, ref in named])
            self._delete(list(_ids_of(found)))

    def _delete(self, ids: Sequence[str]) -> None:
        """Delete rows from the last one on: the first of a text names its parts."""
        for end in range(len(ids), 0, -_ASKED):
            self._collection.delete(ids=list(ids[max(end - _ASKED, 0) : end]))

    def count(self, thread: ThreadName | None = None) -> int:
        """Return how many messages are there (`ArtifactStore.count`)."""
        with self._using("the artifacts cannot be counted"):
            ids = self._ids(filter_of(thread) if thread is not None else None)
            return sum(1 for id_ in ids if lane_in(id_))

    def counts(self) -> Mapping[str, int]:
        """Return how many messages each branch has (`ArtifactStore.counts`). Ids alone are read: they say it."""
        with self._using("the artifacts cannot be counted"):
            return Counter(lane for lane in map(lane_in, self._ids()) if lane)

    def last(self, thread: ThreadName, branch: str) -> int:
        """Return the highest seq on the branch (`ArtifactStore.last`).

        Chroma finds a thread's rows among a million at once, but not those of a branch's name or above a number.
        """
        lane, name, seq = lane_of(thread, branch), seq_of(branch), -1
        with self._using("the artifacts cannot be read"):
            ids = [id_ for id_ in self._ids(filter_of(thread)) if lane_in(id_) == lane]
            while ids:
                # Rows come in the order of writing: the last ones are nearly always the highest.
                seq = max(int(metadata[name]) for _, _, metadata in self._read(ids[-_ASKED:]))
                if len(ids) <= _ASKED:
                    break
                ids = self._ids(filter_of(thread, {name: {"$gt": seq}}))
            return seq

    def close(self) -> None:
        """Release what the store holds. Idempotent."""
        with self._writing:
            if not self._closed:
                self._closed = True
                self._release()

    def _release(self) -> None:
        """Close files and connections."""

    @contextmanager
    def _using(self, doing: str, *, needs_embedder: bool = False) -> Iterator[None]:
        """Check that the store can be used, and translate what goes wrong."""
        with translated(doing, self.where):
            if self._closed:
                raise StoreError("the store is closed", where=self.where, hint="open it again")
            if needs_embedder and self._stale:
                hint = "run `acc reindex`, or call clear()"
                raise StoreMismatchError(self._stale, where=self.where, hint=hint)
            yield

    def _write(self, rows: Sequence[StoredRow]) -> None:
        texts = [row.text for row in rows]
        vectors = embedded(self.embedder, texts)
        with self._writing:
            self._collection.add(
                ids=[row.id for row in rows],
                documents=texts,
                embeddings=vectors,
                metadatas=[row.metadata for row in rows],
            )

    def _ids(self, where: Mapping[str, Any] | None = None) -> list[str]:
        return list(self._collection.get(where=where, include=[])["ids"])

    def _read(self, ids: Sequence[str]) -> list[_Found]:
        rows: list[_Found] = []
        for at in range(0, len(ids), _ASKED):
            asked = list(ids[at : at + _ASKED])
            found: Any = self._collection.get(ids=asked, include=["documents", "metadatas"])
            rows += zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        return rows

    def _joined(self, rows: Sequence[_Found]) -> list[Artifact]:
        """Return the artifacts of some rows, and read the parts that are missing."""
        there = {row[0] for row in rows}
        return artifacts_of([*rows, *self._read([i for i in _ids_of(rows) if i not in there])])


def _ids_of(rows: Sequence[_Found]) -> Iterator[str]:
    """Yield the ids of all parts of the texts that rows belong to."""
    counts = {whole_id(id_): metadata.get("parts", 1) for id_, _, metadata in rows}
    return (part_id(id_, part) for id_, count in counts.items() for part in range(count))
