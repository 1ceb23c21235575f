"""What a store does with a collection of rows, be it Chroma's or one in memory."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from acc.artifacts.embedding import Embedder, embedded
from acc.artifacts.faults import translated
from acc.artifacts.protocol import Artifact, Branches, ThreadName, conflict, id_of, key_of, lane_of
from acc.artifacts.rows import Row, artifacts_of, filter_of, is_part, part_id, rows_of, whole_id
from acc.errors import StoreError, StoreMismatchError

BATCH = 100
"""Rows of one write: Chroma holds Python's lock for some 0.3 ms a row."""

_ASKED = 500
_MOST_MARKS = 10_000
_Found = tuple[str, str, Mapping[str, Any]]


class Store:
    """An `ArtifactStore` on ``_collection``, which a subclass opens; it has methods of a collection of Chroma."""

    _collection: Any

    def __init__(self, embedder: Embedder, where: str) -> None:
        self.embedder, self.where = embedder, where
        self._writing = threading.RLock()
        # The highest seq known to be there: what lies beyond it is new, and is written without a look.
        self._marks: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._closed, self._stale, self._is_foreign = False, "", False

    @property
    def stale(self) -> str:
        """Why `rebuild` is needed; empty if it is not."""
        return self._stale

    def add(self, thread: ThreadName, artifacts: Sequence[Artifact]) -> int:
        """Add messages; return how many were new (`ArtifactStore.add`)."""
        with self._using("artifacts cannot be added"):
            self._check_embedder()
            rows: dict[str, Row] = {}
            for row in (row for artifact in artifacts for row in rows_of(thread, artifact)):
                if rows.setdefault(row.id, row).text != row.text:
                    raise conflict(row.id)
            asked = [row.id for row in rows.values() if self._may_be_there(row)]
            for at in range(0, len(asked), _ASKED):
                for id_, text, _ in self._read(ids=asked[at : at + _ASKED]):
                    if text != rows.pop(id_).text:
                        raise conflict(id_)
            new = list(rows.values())
            for at in range(0, len(new), BATCH):
                self._write(new[at : at + BATCH])
            self._mark(key_of(thread), artifacts)
            return sum("part" not in row.metadata for row in new)

    def query(
        self,
        thread: ThreadName,
        question: str,
        *,
        branches: Branches = (),
        upto: int | None = None,
        limit: int = 16,
        where: Mapping[str, str | int] | None = None,
    ) -> list[tuple[Artifact, float]]:
        """Return the messages nearest in meaning with their cosine (`ArtifactStore.query`)."""
        with self._using("the artifacts cannot be searched"):
            self._check_embedder()
            found: Any = self._collection.query(
                query_embeddings=embedded(self.embedder, [question], asks=True),
                n_results=limit + 16,  # parts of one text are one message
                where=filter_of(thread, branches, upto, where),
                include=["distances", "metadatas", "documents"],
            )
            fields = (found[name][0] for name in ("ids", "documents", "metadatas"))
            rows: list[_Found] = list(zip(*fields, strict=True))
            scores: dict[str, float] = {}
            for (id_, _, metadata), distance in zip(rows, found["distances"][0], strict=True):
                scores.setdefault(whole_id(id_, metadata), 1 - float(distance))
            by_id = {id_of(thread, each): each for each in self._joined(rows)}
            return [(by_id[id_], score) for id_, score in list(scores.items())[:limit]]

    def get(
        self,
        thread: ThreadName,
        refs: Sequence[str] = (),
        *,
        branches: Branches = (),
        seqs: Sequence[int] = (),
    ) -> list[Artifact]:
        """Return messages by ref or number (`ArtifactStore.get`)."""
        rows: dict[str, _Found] = {}
        with self._using("the artifacts cannot be read"):
            for name, values in (("ref", list(refs)), ("seq", list(seqs))):
                for at in range(0, len(values), _ASKED):
                    wanted: Any = {name: {"$in": values[at : at + _ASKED]}}
                    found = self._read(where=filter_of(thread, branches, where=wanted))
                    rows |= {row[0]: row for row in found}
            return self._joined(list(rows.values()))

    def delete(self, thread: ThreadName, refs: Sequence[str] | None = None) -> None:
        """Delete messages, or the whole thread (`ArtifactStore.delete`); `compact` removes their bytes."""
        with self._using("the artifacts cannot be deleted"), self._writing:
            for mark in [mark for mark in self._marks if mark[0] == key_of(thread)]:
                del self._marks[mark]
            if refs is None:
                self._collection.delete(where=filter_of(thread))
            for at in range(0, len(refs or ()), _ASKED):
                wanted: Any = {"ref": {"$in": list(refs or ())[at : at + _ASKED]}}
                self._collection.delete(where=filter_of(thread, where=wanted))

    def count(self, thread: ThreadName | None = None) -> int:
        """Return how many messages are there (`ArtifactStore.count`)."""
        with self._using("the artifacts cannot be counted"):
            further = filter_of(thread, where={"part": {"$gte": 1}})
            parts = len(self._collection.get(where=further, include=[])["ids"])
            if thread is None:
                return int(self._collection.count()) - parts
            return len(self._collection.get(where=filter_of(thread), include=[])["ids"]) - parts

    def counts(self) -> Mapping[str, int]:
        """Return how many messages each branch has (`ArtifactStore.counts`). Ids alone are read: they say it."""
        with self._using("the artifacts cannot be counted"):
            ids = (id_.rpartition(":") for id_ in self._collection.get(include=[])["ids"])
            return Counter(lane for lane, _, ref in ids if not is_part(ref))

    def last(self, thread: ThreadName, branch: str) -> int:
        """Return the highest seq on the branch (`ArtifactStore.last`).

        Chroma finds a thread's rows among a million at once, but not those of a branch's name or above a number.
        """
        lane = f"{lane_of(thread, branch)}:"
        with self._using("the artifacts cannot be read"):
            found = self._collection.get(where=filter_of(thread), include=[])["ids"]
            ids, seq = [id_ for id_ in found if id_.startswith(lane)], -1
            while ids:
                # Rows come in the order of writing: the last ones are nearly always the highest.
                seq = max(int(metadata["seq"]) for _, _, metadata in self._read(ids=ids[-_ASKED:]))
                if len(ids) <= _ASKED:
                    break
                where = filter_of(thread, [(branch, None)], where={"seq": {"$gt": seq}})
                ids = self._collection.get(where=where, include=[])["ids"]
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
    def _using(self, doing: str) -> Iterator[None]:
        """Check that the store can be used, and translate what goes wrong."""
        with translated(doing, self.where):
            if self._closed:
                raise StoreError("the store is closed", where=self.where, hint="open it again")
            yield

    def _check_embedder(self) -> None:
        if self._is_foreign:
            hint = "run `acc reindex`, or call rebuild()"
            raise StoreMismatchError(self._stale, where=self.where, hint=hint)

    def _may_be_there(self, row: Row) -> bool:
        mark = self._marks.get((row.metadata["key"], row.metadata["branch"]))
        return mark is None or row.metadata["seq"] <= mark

    def _mark(self, key: str, artifacts: Sequence[Artifact]) -> None:
        with self._writing:
            for artifact in artifacts:
                place = (key, artifact.branch)
                self._marks[place] = max(self._marks.pop(place, -1), artifact.seq)
            while len(self._marks) > _MOST_MARKS:
                self._marks.popitem(last=False)

    def _write(self, rows: Sequence[Row]) -> None:
        texts = [row.text for row in rows]
        vectors = embedded(self.embedder, texts)
        with self._writing:
            self._collection.add(
                ids=[row.id for row in rows],
                documents=texts,
                embeddings=vectors,
                metadatas=[row.metadata for row in rows],
            )

    def _read(self, **which: Any) -> list[_Found]:
        found: Any = self._collection.get(include=["documents", "metadatas"], **which)
        return list(zip(found["ids"], found["documents"], found["metadatas"], strict=True))

    def _joined(self, rows: Sequence[_Found]) -> list[Artifact]:
        """Return the artifacts of some rows, and read the parts that are missing."""
        counts = {whole_id(id_, metadata): metadata.get("parts", 1) for id_, _, metadata in rows}
        there = {row[0] for row in rows}
        every = (part_id(id_, part) for id_, count in counts.items() for part in range(count))
        missing = [id_ for id_ in every if id_ not in there]
        return artifacts_of([*rows, *(self._read(ids=missing) if missing else ())])
