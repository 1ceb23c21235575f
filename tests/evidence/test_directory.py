"""`acc.stores.shelf`: entries found again, at a cost that does not grow with their number."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from acc.stores.directory import enrol, enrolled, ensure_enrolled, entry, namespace
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Artifact, Thread
from acc.stores.shelf import Shelf

SPACE = namespace()


class Asked(InMemoryStore):
    """A store that counts the ids it is asked for."""

    count = 0

    def get(self, tenant: str, ids: Sequence[str]) -> list[Artifact]:
        self.count += len(ids)
        return super().get(tenant, ids)


def names(store: InMemoryStore) -> list[str]:
    return [thread.thread for thread in enrolled(store, SPACE)]


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 255, 256, 257, 300, 4_400, 70_000])
def test_a_new_thread_costs_little_however_many_there_are(count: int) -> None:
    store = Asked()
    shelf = Shelf(store, SPACE, "threads")
    shelf.append([entry(Thread(thread=f"inc-{number}"), "now") for number in range(count)])
    store.count = 0
    enrol(store, Thread(thread="new"), "now")
    assert store.count <= 200
    assert shelf.news()[-1].identity == Thread(thread="new").key
    assert shelf.end == count + 2


def test_a_thread_is_listed_once_whoever_enters_it() -> None:
    store = InMemoryStore()
    for _ in range(3):
        enrol(store, Thread(thread="a"), "now")
        enrol(store, Thread(thread="b"), "now")
    assert names(store) == ["a", "b"]


def test_an_entry_that_was_erased_is_made_anew() -> None:
    store = InMemoryStore()
    enrol(store, Thread(thread="a"), "now")
    (record,) = Shelf(store, SPACE, "threads").records()
    store.replace(
        "default", [record.model_copy(update={"kind": "tombstone", "identity": "erased"})]
    )
    assert names(store) == []
    enrol(store, Thread(thread="a"), "now")
    assert names(store) == ["a"]


def test_entries_taken_back_leave_no_gap() -> None:
    """As where an import is undone: behind a gap nobody would find what is entered later."""
    store = InMemoryStore()
    for name in ("a", "b", "c"):
        enrol(store, Thread(thread=name), "now")
    store.delete("default", [record.id for record in Shelf(store, SPACE, "threads").records()[1:]])
    enrol(store, Thread(thread="d"), "now")
    assert names(store) == ["a", "d"]


@pytest.mark.parametrize("gone", [range(5, 7), range(17, 40), range(90, 93), range(1, 30)])
def test_entries_behind_a_gap_are_found_again_by_a_repair(gone: range) -> None:
    """As where an import is undone after others have entered threads behind it."""
    store = InMemoryStore()
    threads = [Thread(thread=f"t{number}") for number in range(100)]
    shelf = Shelf(store, SPACE, "threads")
    ensure_enrolled(store, threads, "now")
    store.delete("default", [shelf.id_of(place) for place in gone])
    enrol(store, Thread(thread="new"), "now")
    ensure_enrolled(store, [*threads, Thread(thread="new")], "now")
    assert set(names(store)) == {"new", *(thread.thread for thread in threads)}
