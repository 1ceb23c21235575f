"""What the tests of the artifacts share: messages, a journal of them, and what every store of them promises."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from acc.artifacts.chroma import ChromaStore
from acc.artifacts.store import lane_of, place_of
from acc.controller.indexing import Indexing
from acc.errors import StoreError
from acc.journal import StoredMessage, ThreadKey
from acc.state.tail import Message
from acc.turn.observations import Channel, Observation

THREAD = ThreadKey("a conversation")


def said(seq: int, text: str, branch: str = "main", **fields: object) -> StoredMessage:
    """Return a user's message."""
    given = {"channel": Channel.USER, "ref": f"u{seq}", "text": text, **fields}
    message = Message(Observation.model_validate(given), seq, "2026-03-04T10:00:00Z")
    return StoredMessage(message, branch, seq, 1, "digest")


def words(number: int) -> str:
    """Return eight words, other ones for each number: vectors that are all alike are no graph."""
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    return " ".join(digest[at : at + 4] for at in range(0, 32, 4))


def texts(
    store: ChromaStore, thread: ThreadKey, refs: Collection[str] | None = None
) -> dict[tuple[str, str], str]:
    """Return the texts of messages by branch and ref, as the store has them."""
    found: Any = store._rows.get(ids=list(_ids(store, thread)), include=["documents"])
    rows = sorted(zip(map(place_of, found["ids"]), found["documents"], strict=True))
    held: dict[tuple[str, str], str] = {}
    for place, text in rows:
        name = place.branch, place.ref
        if refs is None or place.ref in refs:
            held[name] = held.get(name, "") + (text or "")
    return held


def _ids(store: ChromaStore, thread: ThreadKey) -> Iterable[str]:
    own = lane_of(thread, "").partition(":")[0]
    return (id_ for id_ in store._ids() if place_of(id_).lane.partition(":")[0] == own)


@dataclass
class Journal:
    """Messages of one thread's main branch, in order, as an index reads them."""

    rows: list[StoredMessage] = field(default_factory=list)
    first: int = 0

    def write(self, text: str, **fields: object) -> list[StoredMessage]:
        row = said(self.first + len(self.rows), text, **fields)  # type: ignore[arg-type]
        self.rows.append(row)
        return [row]

    def messages(
        self, _: ThreadKey, first: int, limit: int | None = None, *, branch: str
    ) -> list[StoredMessage]:
        return [row for row in self.rows if row.seq >= first][:limit]

    def numbered(self, _: ThreadKey, numbers: Sequence[int], *, branch: str) -> list[StoredMessage]:
        return self.around(numbers)

    def note_index(self, place: str, *, alone: bool = False) -> None:
        """Nothing is erased here."""

    def newest(self) -> Iterable[StoredMessage]:
        return reversed(self.rows)

    def around(self, numbers: Sequence[int]) -> list[StoredMessage]:
        return [row for row in self.rows if row.seq in numbers]


def indexed(journal: Journal, store: ChromaStore, *, behind: bool = False) -> Indexing:
    """Return the index of a journal of this kind."""
    given: Any = journal
    return Indexing(given, store, None, behind=behind)


def keeps_promises(store: ChromaStore) -> None:
    """Check the promises, each on a thread of its own, and close the store."""
    for number, promise in enumerate((adds_once, finds, sees_branches, deletes, compacts, shares)):
        promise(store, ThreadKey(f"thread {number}"))
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.count()


def adds_once(store: ChromaStore, thread: ThreadKey) -> None:
    """The same message again is no write; another text under its name takes its place. Every character is kept."""
    one, two, three = said(1, "one"), said(2, "two"), said(3, "three")
    assert store.add(thread, [one, two]) == 2
    assert store.add(thread, [one, two, three, three]) == 1
    assert store.add(thread, []) == 0
    found = texts(store, thread, ["u3", "u1", "u99"])
    assert found == {("main", "u1"): "one", ("main", "u3"): "three"}
    odd = ["", " \n", "Größe 東京 🧬 \x01 'quoted\" \\", "long ü " * 9_000, "x" * 20_001]
    for text in (*odd, "another"):
        assert store.add(thread, [two, said(1, text)]) == 1
        assert texts(store, thread, ["u1"]) == {("main", "u1"): text}
        assert store.count(thread) == 3


def finds(store: ChromaStore, thread: ThreadKey) -> None:
    """The nearest message comes first, with its cosine; limit and upto bound what comes."""
    four = ["the rollout begins on Friday", "Ann owns the budget", "the rollout is late", "lunch"]
    store.add(thread, [said(n, text) for n, text in enumerate(four)])
    found = store.query(thread, "rollout begins Friday")
    assert (found[0].seq, found[0].ref, len(found)) == (0, "u0", 4)
    assert 0.5 < found[0].cosine <= 1.001
    assert [a.seq for a in store.query(thread, "rollout late", limit=1)] == [2]
    assert {a.seq for a in store.query(thread, "rollout late", upto=1)} == {0, 1}
    assert store.query(ThreadKey(f"{thread.thread} other"), "rollout") == []
    assert store.query(thread, "rollout", branches=()) == []


def sees_branches(store: ChromaStore, thread: ThreadKey) -> None:
    """A fork sees its own messages and its parent's up to the fork, and nothing later than it."""
    store.add(thread, [said(n, f"main {n}") for n in range(1, 5)])
    store.add(thread, [said(n, f"fork {n}", "fork") for n in (3, 4)])
    fork = [("main", 2), ("fork", None)]
    wanted = {("main", 1), ("main", 2), ("fork", 3), ("fork", 4)}
    assert {(a.branch, a.seq) for a in store.query(thread, "fork", branches=fork)} == wanted
    seen = texts(store, thread, ["u4", "u2"])
    assert seen == {("main", "u2"): "main 2", ("main", "u4"): "main 4", ("fork", "u4"): "fork 4"}
    assert [store.last(thread, each) for each in ("main", "fork", "none")] == [4, 4, -1]
    counts = store.counts()
    assert [counts.get(lane_of(thread, each), 0) for each in ("main", "fork", "none")] == [4, 2, 0]


def deletes(store: ChromaStore, thread: ThreadKey) -> None:
    """What is deleted is found no more, and can be added again; a message goes alone, and a whole thread does."""
    other = ThreadKey(thread.thread, user="other")
    store.add(thread, [said(1, "a secret"), said(2, "long secret " * 2_000), said(3, "kept")])
    store.add(thread, [said(1, "kept", "fork")])
    store.add(other, [said(1, "kept")])
    store.delete(thread, ["u1", "u2", "u1", "absent"], "main")
    assert [a.seq for a in store.query(thread, "secret")] == [3]
    assert (store.count(thread), store.last(thread, "fork")) == (2, 1)
    assert store.counts().get(lane_of(thread, "main")) == 1
    assert texts(store, thread, ["u1"]) == {("fork", "u1"): "kept"}
    store.delete(thread, ["u1"])
    assert texts(store, thread, ["u1"]) == {}
    assert store.add(thread, [said(1, "new words")]) == 1
    store.delete(thread)
    store.delete(thread)
    assert (store.count(thread), store.last(thread, "main"), store.count(other)) == (0, -1, 1)


def compacts(store: ChromaStore, thread: ThreadKey) -> None:
    """Compacting loses nothing, and messages can be added after it."""
    store.add(thread, [said(n, f"number {n}") for n in range(130)])
    store.delete(thread, ["u7"])
    assert isinstance(store.compact(), bool)
    assert store.stale == ""
    assert store.add(thread, [said(130, "after")]) == 1
    assert (store.count(thread), store.last(thread, "main")) == (130, 130)
    assert store.query(thread, "number 8", limit=1)[0].seq == 8


def shares(store: ChromaStore, thread: ThreadKey) -> None:
    """Several threads of a process can use the store at once."""

    def work(worker: int) -> int:
        own = ThreadKey(f"{thread.thread} {worker}")
        for seq in range(10):
            store.add(own, [said(seq, f"word {seq} of {worker}")])
            store.add(thread, [said(seq, f"shared {seq}")])
            assert store.query(own, f"word {seq}")
        return store.count(own)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [10] * 4
    assert store.count(thread) == 10
