"""Messages as rows of one collection of Chroma, for all threads, and what is asked of them.

The text is the row's document. It has few metadata, as each value is a row of Chroma's SQLite and costs a twentieth of
an add: ``thread`` (`key_of`), ``channel``, ``ref``, and its number under the branch's name (`seq_of`). The journal has
the rest. A text over `PART` bytes has several rows: Chroma slows down with long documents, the hosted one refuses them,
and embedders read no more than their first page.
"""

from __future__ import annotations

import hashlib
import json
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from acc.artifacts.embedding import Embedder, embedded

if TYPE_CHECKING:  # values of the journal, which the store reads by their fields
    from chromadb.api.models.Collection import Collection as Rows

    from acc.journal import StoredMessage, ThreadKey

PART = 8_000
"""Limit of a row's text in UTF-8 bytes."""

BATCH = 100
"""Rows of one write: Chroma holds Python's lock for some 0.3 ms a row."""

_ASKED, _NO_END = 500, 1 << 53

Branches = Sequence[tuple[str, int | None]]
"""A branch's ancestry, the root first: each branch with the last seq that is seen of it; None for no end."""

MAIN: Branches = (("main", None),)
"""The ancestry of a thread's main branch."""


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

    def add(self, thread: ThreadKey, artifacts: Sequence[StoredMessage]) -> int:
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
        thread: ThreadKey,
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

    def delete(
        self, thread: ThreadKey, refs: Collection[str] | None = None, branch: str | None = None
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

    def count(self, thread: ThreadKey | None = None) -> int:
        """Return how many messages of the thread, or of all threads, are there."""
        return sum(self.counts(thread).values())

    def counts(self, thread: ThreadKey | None = None) -> Mapping[str, int]:
        """Return how many messages each branch of the thread, or of all, has, by `lane_of`: the ids say it."""
        with self._using("the artifacts cannot be counted"):
            places = map(place_of, self._ids(None if thread is None else _of_thread(thread)))
            return Counter(each.lane for each in places if not each.part)

    def last(self, thread: ThreadKey, branch: str) -> int:
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


def _of_thread(thread: ThreadKey, *further: Mapping[str, Any]) -> dict[str, Any]:
    """Return Chroma's filter for the rows of a thread that pass further ones."""
    own = {"thread": key_of(thread)}
    return {"$and": [own, *further]} if further else own


class Row(NamedTuple):
    """One row of the collection."""

    id: str
    text: str
    metadata: Mapping[str, Any]


class Place(NamedTuple):
    """What an id says: the branch of a thread (`lane_of`), the message, and which part of its text."""

    lane: str
    ref: str
    part: int

    @property
    def branch(self) -> str:
        """The name of the branch."""
        return unquote(self.lane.partition(":")[2])


def key_of(thread: ThreadKey) -> str:
    """Return what names the thread and no other one: its own name, or JSON of all its names if it has an owner.

    So is a name written that could be such JSON.
    """
    names = {name: getattr(thread, name) for name in ("thread", "tenant", "user", "agent")}
    given = {name: value for name, value in names.items() if value}
    is_plain = list(given) == ["thread"] and not thread.thread.startswith("{")
    return thread.thread if is_plain else json.dumps(given, ensure_ascii=False)


def rows_of(thread: ThreadKey, stored: StoredMessage) -> Iterator[Row]:
    """Yield the rows of a message, the first part first."""
    message = stored.message
    metadata: dict[str, Any] = {
        "thread": key_of(thread),
        "channel": message.channel.value,
        "ref": message.ref,
        seq_of(stored.branch): stored.seq,
    }
    digest, _, branch = lane_of(thread, stored.branch).partition(":")
    for number, text in enumerate(parts(message.text)):
        part = f"+{number}" if number else ""
        yield Row(f"{digest}{part}:{branch}:{message.ref}", text, metadata)


def seq_of(branch: str) -> str:
    """Return the name of the metadata that holds the number of a message of this branch."""
    return f"seq:{branch}"


def lane_of(thread: ThreadKey, branch: str) -> str:
    """Return what names a branch of a thread in ids."""
    digest = hashlib.sha256(key_of(thread).encode()).hexdigest()[:24]
    return f"{digest}:{branch.replace('%', '%25').replace(':', '%3A')}"


def place_of(id_: str) -> Place:
    """Return what an id says."""
    head, branch, ref = id_.split(":", 2)
    digest, _, number = head.partition("+")
    return Place(f"{digest}:{branch}", ref, int(number or 0))


def parts(text: str, most: int = PART) -> Iterator[str]:
    """Yield the text in pieces of at most ``most`` UTF-8 bytes.

    Each ends with a paragraph, a line or a word if its second half has the end of one.
    """
    at = 0
    while at < len(text) or not at:
        head = text[at : at + most].encode()[:most].decode(errors="ignore")
        if at + len(head) < len(text):
            ends = (head.rfind(mark) + len(mark) for mark in ("\n\n", "\n", " "))
            head = head[: next((end for end in ends if end > len(head) // 2), len(head))]
        yield head
        at += max(len(head), 1)
