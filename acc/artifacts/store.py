"""What the index does with its rows, which lie in one collection of Chroma for all threads."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from acc.artifacts.embedding import Embedder, embedded
from acc.artifacts.rows import (
    MAIN,
    Artifact,
    Branches,
    Row,
    ThreadName,
    key_of,
    lane_of,
    place_of,
    rows_of,
    seq_of,
)

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection as Rows

BATCH = 100
"""Rows of one write: Chroma holds Python's lock for some 0.3 ms a row."""

_ASKED, _NO_END = 500, 1 << 53


class Hit(NamedTuple):
    """A message that a query found, and its cosine."""

    branch: str
    ref: str
    seq: int
    cosine: float


class Store(ABC):
    """The messages of threads. Any number of threads may use it.

    Every method raises `StoreError` where the store cannot be used, and nothing else of a vendor's. A subclass opens
    the rows.
    """

    _rows: Rows

    def __init__(self, embedder: Embedder) -> None:
        self.embedder, self._writing = embedder, threading.RLock()

    @abstractmethod
    def _using(self, doing: str, *, needs_embedder: bool = False) -> AbstractContextManager[None]:
        """Check that the store can be used, and translate what goes wrong."""

    def add(self, thread: ThreadName, artifacts: Sequence[Artifact]) -> int:
        """Add messages; return how many were new. The same message again is no write; another text replaces it."""
        with self._using("artifacts cannot be added", needs_embedder=True):
            rows = {each.name: list(rows_of(thread, each)) for each in artifacts}
            there = self._texts_of([row.id for own in rows.values() for row in own])
            new = {
                name: own
                for name, own in rows.items()
                if any(there.get(row.id) != row.text for row in own)
            }
            for (branch, ref), own in new.items():
                if any(row.id in there for row in own):
                    self.delete(thread, [ref], branch)
            written = [row for own in new.values() for row in own]
            for at in range(0, len(written), BATCH):
                self._write(written[at : at + BATCH])
            return len(new)

    def query(
        self,
        thread: ThreadName,
        question: str,
        *,
        branches: Branches = MAIN,
        upto: int | None = None,
        limit: int = 16,
    ) -> list[Hit]:
        """Return the messages nearest in meaning, the nearest first.

        Args:
            branches: The ancestry that is seen.
            upto: The last seq that is seen, whatever the branch.
            limit: How many at most.
        """
        with self._using("the artifacts cannot be searched", needs_embedder=True):
            if not branches:
                return []
            vector = embedded(self.embedder, [question], asks=True)
            last = _NO_END if upto is None else upto
            ends = {branch: last if end is None else min(end, last) for branch, end in branches}
            most = limit + 16  # parts of one text are one message
            # Numbers cost Chroma more than the names of threads: first without, which suffices nearly always.
            found = self._nearest(vector, most, _of_thread(thread))
            seen = [each for each in found if each.seq <= ends.get(each.branch, -1)]
            if len(found) == most and len(seen) < len(found):
                lanes = [{seq_of(branch): {"$lte": end}} for branch, end in ends.items()]
                on_branch = {"$or": lanes} if len(lanes) > 1 else lanes[0]
                seen = self._nearest(vector, most, _of_thread(thread, on_branch))
            best: dict[tuple[str, str], Hit] = {}
            for each in seen:
                best.setdefault((each.branch, each.ref), each)
            return list(best.values())[:limit]

    def _nearest(self, vector: Any, most: int, where: Any) -> list[Hit]:
        found: Any = self._rows.query(
            query_embeddings=vector, n_results=most, where=where, include=["distances", "metadatas"]
        )
        columns = (found[name][0] for name in ("ids", "metadatas", "distances"))
        hits = []
        for id_, metadata, distance in zip(*columns, strict=True):
            place = place_of(id_)
            seq = int(metadata[seq_of(place.branch)])
            hits.append(Hit(place.branch, place.ref, seq, 1 - distance))
        return hits

    def texts(self, thread: ThreadName, refs: Collection[str]) -> dict[tuple[str, str], str]:
        """Return the texts of messages by branch and ref; absent ones not."""
        with self._using("the artifacts cannot be read"):
            if not refs:
                return {}
            found: Any = self._rows.get(
                where=_of_thread(thread, _of_refs(refs)), include=["documents"]
            )
            parts = sorted(zip(map(place_of, found["ids"]), found["documents"], strict=True))
            texts: dict[tuple[str, str], str] = {}
            for place, text in parts:
                name = place.branch, place.ref
                texts[name] = texts.get(name, "") + (text or "")
            return texts

    def delete(
        self, thread: ThreadName, refs: Collection[str] | None = None, branch: str | None = None
    ) -> None:
        """Delete messages, of one branch or of all; the whole thread if ``refs`` is None.

        Their bytes stay in the files until the store is compacted.
        """
        with self._using("the artifacts cannot be deleted"), self._writing:
            if refs is None:
                self._rows.delete(where=_of_thread(thread))
                return
            named = list(refs)
            on_branch = [] if branch is None else [{seq_of(branch): {"$gte": 0}}]
            for at in range(0, len(named), _ASKED):
                of_these = _of_refs(named[at : at + _ASKED])
                self._rows.delete(where=_of_thread(thread, of_these, *on_branch))

    def count(self, thread: ThreadName | None = None) -> int:
        """Return how many messages of the thread, or of all threads, are there."""
        return sum(self.counts(thread).values())

    def counts(self, thread: ThreadName | None = None) -> Mapping[str, int]:
        """Return how many messages each branch of the thread, or of all, has, by `lane_of`: the ids say it."""
        with self._using("the artifacts cannot be counted"):
            places = map(place_of, self._ids(None if thread is None else _of_thread(thread)))
            return Counter(each.lane for each in places if not each.part)

    def last(self, thread: ThreadName, branch: str) -> int:
        """Return the highest seq on the branch, from which the journal fills the rest; -1 if nothing is there.

        Chroma finds a thread's rows among a million at once, but not those of a branch's name or above a number.
        """
        lane, name, seq = lane_of(thread, branch), seq_of(branch), -1
        with self._using("the artifacts cannot be read"):
            ids = [id_ for id_ in self._ids(_of_thread(thread)) if place_of(id_).lane == lane]
            while ids:
                # Rows come in the order of writing: the last ones are nearly always the highest.
                found: Any = self._rows.get(ids=ids[-_ASKED:], include=["metadatas"])
                seq = max(int(metadata[name]) for metadata in found["metadatas"])
                if len(ids) <= _ASKED:
                    break
                ids = self._ids(_of_thread(thread, {seq_of(branch): {"$gt": seq}}))
            return seq

    def _write(self, rows: Sequence[Row]) -> None:
        texts = [row.text for row in rows]
        vectors = embedded(self.embedder, texts)
        with self._writing:
            self._rows.add(
                ids=[row.id for row in rows],
                documents=texts,
                embeddings=vectors,
                metadatas=[row.metadata for row in rows],
            )

    def _ids(self, where: Any = None) -> list[str]:
        return list(self._rows.get(where=where, include=[])["ids"])

    def _texts_of(self, ids: Sequence[str]) -> dict[str, str]:
        texts: dict[str, str] = {}
        for at in range(0, len(ids), _ASKED):
            asked = list(ids[at : at + _ASKED])
            found: Any = self._rows.get(ids=asked, include=["documents"])
            texts |= zip(found["ids"], found["documents"], strict=True)
        return texts


def _of_refs(refs: Collection[str]) -> dict[str, Any]:
    return {"ref": {"$in": list(refs)}}


def _of_thread(thread: ThreadName, *further: Mapping[str, Any]) -> dict[str, Any]:
    """Return Chroma's filter for the rows of a thread that pass further ones."""
    own = {"thread": key_of(thread)}
    return {"$and": [own, *further]} if further else own
