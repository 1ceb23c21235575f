"""Filling: what the journal has committed reaches the store, now or later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from messages import THREAD, Journal

from acc.artifacts.chroma import ChromaStore
from acc.artifacts.filling import Filling
from acc.artifacts.rows import Artifact, Row, ThreadName
from acc.errors import StoreError


class Shaky(ChromaStore):
    """A store that fails while it is down."""

    is_down = False

    def add(self, thread: ThreadName, artifacts: Sequence[Artifact]) -> int:
        if self.is_down:
            raise StoreError("the store is down", where="test", hint="wait")
        return super().add(thread, artifacts)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    made = Shaky.embedded(tmp_path)
    yield made
    made.close()


def test_it_is_there_on_return_and_the_journal_is_not_read(store: Shaky) -> None:
    journal = Journal()
    filling = Filling(store, journal.after)
    for text in ("one", "two", "three"):
        filling.committed(THREAD, "main", journal.write(text))
        assert store.count(THREAD) == len(journal.rows)
    assert journal.read == 1  # at the first, to see what the store lacks
    assert (filling.last_error, filling.drain()) == (None, True)


def test_a_store_that_fails_fails_no_step_and_catches_up(store: Shaky) -> None:
    journal = Journal()
    filling = Filling(store, journal.after, patience=60)
    store.is_down = True
    for text in ("one", "two"):
        filling.committed(THREAD, "main", journal.write(text))
    assert not filling.drain()
    assert "down" in str(filling.last_error)
    store.is_down = False
    assert filling.drain()
    filling.committed(THREAD, "main", journal.write("three"))
    assert filling.drain()
    assert (store.count(), filling.last_error) == (3, None)


def test_it_goes_on_where_the_store_ends_after_a_crash_or_another_process(store: Shaky) -> None:
    journal = Journal()
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


def test_a_journal_that_cannot_be_read_fails_no_step(store: Shaky) -> None:
    def after(*_: object) -> list[Artifact]:
        raise OSError("disk")

    filling = Filling(store, after)
    filling.committed(THREAD, "main", Journal().write("one"))
    assert not filling.drain()
    assert "disk" in str(filling.last_error)


def test_a_long_text_that_is_erased_while_it_is_added_leaves_no_part(store: Shaky) -> None:
    """The eraser is another process: it deletes what it finds between two writes of parts."""
    journal = Journal()
    erased: list[str] = []
    filling = Filling(store, journal.after, held=lambda *_: [])
    long = journal.write("a secret of many words " * 60_000)
    writes = store._write

    def write(rows: Sequence[Row]) -> None:
        writes(rows)
        if not erased:
            erased.append(long[0].message.ref)
            store.delete(THREAD, erased)
            assert store._ids() == []

    store._write = write  # type: ignore[method-assign]
    filling.committed(THREAD, "main", long)
    assert erased
    assert store._ids() == []
