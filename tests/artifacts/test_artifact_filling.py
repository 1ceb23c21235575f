"""Filling: what the journal has committed reaches the store, now or later."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from messages import THREAD, Journal, indexed

from acc.artifacts.chroma import ChromaStore
from acc.artifacts.store import Row
from acc.controller import indexing
from acc.controller.indexing import Indexing
from acc.errors import StoreError
from acc.journal import StoredMessage, ThreadKey


class Shaky(ChromaStore):
    """A store that fails while it is down."""

    is_down = False
    gate: threading.Event | None = None

    def add(self, thread: ThreadKey, artifacts: Sequence[StoredMessage]) -> int:
        if self.gate is not None:
            self.gate.wait(10)
        if self.is_down:
            raise StoreError("the store is down", where="test", hint="wait")
        return super().add(thread, artifacts)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    made = Shaky.embedded(tmp_path)
    yield made
    made.close()


def commit(index: Indexing, journal: Journal, *texts: str) -> None:
    """Commit messages, and say so."""
    for text in texts:
        journal.write(text)
        index.committed(THREAD, "main")


def test_it_is_there_on_return(store: Shaky) -> None:
    journal = Journal(first=1)
    index = indexed(journal, store)
    for text in ("one", "two", "three"):
        commit(index, journal, text)
        assert store.count(THREAD) == len(journal.rows)
    assert (index.warnings, index.drain()) == ((), True)


def test_behind_a_commit_returns_at_once_and_drain_waits(store: Shaky) -> None:
    journal = Journal(first=1)
    index = indexed(journal, store, behind=True)
    store.gate = threading.Event()
    commit(index, journal, *(f"number {number}" for number in range(300)))
    assert store.count() == 0
    assert not index.drain(0.05)
    store.gate.set()
    assert index.drain(10)
    assert store.count(THREAD) == 300
    commit(index, journal, "the last")
    assert index.drain(10)
    assert store.count() == 301
    index.close()
    index.close()


def test_what_a_worker_has_begun_is_not_there_yet(store: Shaky) -> None:
    journal = Journal(first=1)
    index = indexed(journal, store, behind=True)
    store.gate = threading.Event()
    commit(index, journal, "one")
    assert not index.drain(0.2)
    store.gate.set()
    assert index.drain(10)
    assert store.count() == 1


@pytest.mark.parametrize("fault", [StoreError("disk", where="test", hint="wait"), OSError("disk")])
@pytest.mark.parametrize("behind", [False, True])
def test_a_journal_that_cannot_be_read_fails_no_step(
    store: Shaky, behind: bool, fault: Exception
) -> None:
    class Broken(Journal):
        def messages(self, *_: object, **__: object) -> list[StoredMessage]:
            raise fault

    filled, journal = indexed(Broken(first=1), store, behind=behind), Journal(first=1)
    commit(filled, journal, "one")
    assert not filled.drain(5)
    assert "disk" in str(filled.warnings)


@pytest.mark.parametrize("behind", [False, True])
def test_a_store_that_fails_fails_no_step_and_catches_up(store: Shaky, behind: bool) -> None:
    journal = Journal(first=1)
    filled = indexed(journal, store, behind=behind)
    store.is_down = True
    commit(filled, journal, "one", "two")
    assert not filled.drain()
    assert "down" in str(filled.warnings)
    store.is_down = False
    assert filled.drain()
    commit(filled, journal, "three")
    assert filled.drain()
    assert (store.count(), filled.warnings) == (3, ())


def test_after_an_outage_a_commit_fills_its_own_branch_alone(
    store: Shaky, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "PATIENCE", 0.0)
    journal = Journal(first=1)
    filled = indexed(journal, store)
    store.is_down = True
    journal.write("one")
    others = [ThreadKey(f"other {number}") for number in range(3)]
    for thread in others:
        filled.committed(thread, "main")
    store.is_down = False
    commit(filled, journal, "two")
    assert (store.count(THREAD), store.count()) == (2, 2)
    assert filled.drain()
    assert store.count() == 8


def test_it_goes_on_where_the_store_ends_after_a_crash_or_another_process(store: Shaky) -> None:
    journal = Journal(first=1)
    commit(indexed(journal, store), journal, *(f"number {number}" for number in range(5)))
    for number in range(5, 8):  # committed, and the process died before they were added
        journal.write(f"number {number}")
    second = indexed(journal, store)
    commit(second, journal, "number 8")
    assert store.count(THREAD) == 9
    journal.write("of another process")
    commit(second, journal, "number 10")
    assert store.count(THREAD) == 11


def test_a_long_text_that_is_erased_while_it_is_added_leaves_no_part(store: Shaky) -> None:
    """The eraser is another process: it deletes what it finds between two writes of parts."""
    journal = Journal(first=1)
    index = indexed(journal, store)
    journal.write("a secret of many words " * 60_000)
    writes = store._write

    def write(rows: Sequence[Row]) -> None:
        writes(rows)
        if erased := [row.message.ref for row in journal.rows]:
            store.delete(THREAD, erased)
            assert store._ids() == []
            journal.rows.clear()

    store._write = write  # type: ignore[method-assign]
    index.committed(THREAD, "main")
    assert journal.rows == []
    assert store._ids() == []
