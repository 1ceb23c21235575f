"""Filling: what the journal has committed reaches the store, now, behind, or later."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

import pytest
from messages import THREAD, Journal

from acc.artifacts.filling import Filling
from acc.artifacts.memory import InMemoryArtifacts
from acc.artifacts.protocol import Artifact, ThreadName
from acc.artifacts.rows import StoredRow
from acc.errors import StoreError


class Shaky(InMemoryArtifacts):
    """A store that fails while it is down, and waits at a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.is_down = False
        self.gate = threading.Event()
        self.gate.set()

    def add(self, thread: ThreadName, artifacts: Sequence[Artifact]) -> int:
        self.gate.wait(10)
        if self.is_down:
            raise StoreError("the store is down", where="test", hint="wait")
        return super().add(thread, artifacts)


def test_now_it_is_there_on_return_and_the_journal_is_not_read() -> None:
    journal, store = Journal(), InMemoryArtifacts()
    filling = Filling(store, journal.after)
    for text in ("one", "two", "three"):
        filling.committed(THREAD, "main", journal.write(text))
        assert store.count(THREAD) == len(journal.rows)
    assert journal.read == 1  # at the first, to see what the store lacks
    assert (filling.lag, filling.last_error, filling.close()) == (0, None, True)


def test_behind_a_commit_returns_at_once_and_drain_waits() -> None:
    journal, store = Journal(), Shaky()
    filling = Filling(store, journal.after, "behind")
    store.gate.clear()
    for number in range(300):
        filling.committed(THREAD, "main", journal.write(f"number {number}"))
    assert (filling.lag, store.count()) == (pytest.approx(1, abs=1), 0)
    assert not filling.drain(0.05)
    store.gate.set()
    assert filling.drain(10)
    assert (store.count(THREAD), filling.lag) == (300, 0)
    filling.committed(THREAD, "main", journal.write("the last"))
    assert filling.close()
    assert filling.close()
    assert store.count() == 301
    filling.committed(THREAD, "main", journal.write("too late"))
    assert store.count() == 301


@pytest.mark.parametrize("index", ["now", "behind"])
def test_a_store_that_fails_fails_no_step_and_catches_up(index: str) -> None:
    journal, store = Journal(), Shaky()
    filling = Filling(store, journal.after, index, patience=60)  # type: ignore[arg-type]
    store.is_down = True
    for text in ("one", "two"):
        filling.committed(THREAD, "main", journal.write(text))
    assert not filling.drain(5)
    assert "down" in str(filling.last_error)
    assert filling.lag == 1
    store.is_down = False
    assert filling.drain(5)
    filling.committed(THREAD, "main", journal.write("three"))
    assert filling.drain(5)
    assert (store.count(), filling.last_error) == (3, None)
    assert filling.close()


def test_it_goes_on_where_the_store_ends_after_a_crash_or_another_process() -> None:
    journal, store = Journal(), InMemoryArtifacts()
    first = Filling(store, journal.after)
    for number in range(5):
        first.committed(THREAD, "main", journal.write(f"number {number}"))
    for number in range(5, 8):  # committed, and the process died before they were added
        journal.write(f"number {number}")
    second = Filling(store, journal.after)
    second.committed(THREAD, "main", journal.write("number 8"))
    assert store.count(THREAD) == 9
    journal.write("of another process")
    second.committed(THREAD, "main", journal.write("number 10"))
    assert store.count(THREAD) == 11


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_of_a_process_that_fills_behind_fills_now() -> None:
    journal, store = Journal(), InMemoryArtifacts()
    filling = Filling(store, journal.after, "behind")
    filling.committed(THREAD, "main", journal.write("one"))
    assert filling.drain(10)
    with filling._adding:
        child = os.fork()
        if not child:
            filling.committed(THREAD, "main", journal.write("two"))
            os._exit(store.count() if filling.close() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert filling.close()


def test_a_journal_that_cannot_be_read_does_not_end_the_worker() -> None:
    store = InMemoryArtifacts()

    def after(*_: object) -> list[Artifact]:
        raise OSError("disk")

    filling = Filling(store, after, "behind", patience=0.01)
    filling.committed(THREAD, "main", Journal().write("one"))
    assert not filling.drain(0.2)
    assert "disk" in str(filling.last_error)
    assert not filling.close(1)


def test_a_long_text_that_is_erased_while_it_is_added_leaves_no_part() -> None:
    """The eraser is another process: it deletes what it finds between two writes of parts."""
    journal, store = Journal(), InMemoryArtifacts()
    erased: list[str] = []
    filling = Filling(store, journal.after, held=lambda *_: [])
    long = journal.write("a secret of many words " * 60_000)
    writes = store._write

    def write(rows: Sequence[StoredRow]) -> None:
        writes(rows)
        if not erased:
            erased.append(long[0].message.ref)
            store.delete(THREAD, [("main", erased[0])])
            assert not store._collection._rows

    store._write = write  # type: ignore[method-assign]
    filling.committed(THREAD, "main", long)
    assert erased
    assert not store._collection._rows
