"""`acc.stores.shelf`: entries found again, at a cost that does not grow with their number."""

from __future__ import annotations

from collections.abc import Sequence

from acc.stores.directory import Directory, enrolled, namespace
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


def test_a_new_thread_costs_the_same_however_many_there_are() -> None:
    store = Asked()
    directory = Directory(store)
    cost = []
    for number in range(600):
        before = store.count
        directory.enrol(Thread(thread=f"inc-{number}"), "now")
        cost.append(store.count - before)
    assert max(cost[1:]) <= cost[1] == cost[-1]
    assert len(names(store)) == 600


def test_a_thread_is_entered_once_by_whoever() -> None:
    store = InMemoryStore()
    one, other = Directory(store), Directory(store)
    for directory in (one, other, one):
        directory.enrol(Thread(thread="a"), "now")
        directory.enrol(Thread(thread="b"), "now")
    assert names(store) == ["a", "b"]


def test_an_entry_that_was_erased_elsewhere_is_made_anew() -> None:
    store = InMemoryStore()
    directory = Directory(store)
    directory.enrol(Thread(thread="a"), "now")
    (entry,) = Shelf(store, SPACE, "threads").records()
    store.replace("default", [entry.model_copy(update={"kind": "tombstone", "identity": "erased"})])
    assert not directory.has(Thread(thread="a"))
    directory.enrol(Thread(thread="a"), "now")
    assert names(store) == ["a"]


def test_entries_taken_back_elsewhere_leave_no_gap() -> None:
    """As where an import is undone: behind a gap nobody would find what is entered later."""
    store = InMemoryStore()
    directory = Directory(store)
    for name in ("a", "b", "c"):
        directory.enrol(Thread(thread=name), "now")
    taken_back = [record.id for record in Shelf(store, SPACE, "threads").records()[1:]]
    store.delete("default", taken_back)
    directory.enrol(Thread(thread="d"), "now")
    assert names(store) == ["a", "d"]
