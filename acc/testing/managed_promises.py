"""What `acc.store.ManagedStore` promises beyond a plain store, each promise tried by breaking it."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from acc.store import ManagedStore
from acc.stores.embedding import embed
from acc.testing.store_promises import Case


def _managed(case: Case) -> ManagedStore:
    return cast(ManagedStore, case.store)


def _lists(case: Case) -> None:
    """It lists ids by kind and thread, sorted, of one tenant alone."""
    store, tenant = _managed(case), f"{case.tenant} listed"
    records = [case.artifact(seq, "listed", thread=f"list {seq % 2}") for seq in range(1, 131)]
    records[4] = records[4].model_copy(update={"kind": "document"})
    odd = records[6].model_copy(update={"id": f"{'ü' * 3000} is no plain id"})
    records[6] = odd
    store.add(tenant, records)
    require(store.ids(f"{tenant} other") == [], "ids() of a tenant without records found some")
    require(store.ids(tenant) == sorted(a.id for a in records), "ids() is not all ids, sorted")
    require(store.ids(tenant, kind="document") == [records[4].id], "ids(kind=) found others")
    thread = records[0].thread
    own = sorted(a.id for a in records if a.thread == thread)
    require(store.ids(tenant, thread=thread) == own, "ids(thread=) is not that thread's ids")
    both = store.ids(tenant, thread=thread, kind="observation")
    require(both == [i for i in own if i != records[4].id], "ids(thread=, kind=) found others")


def _replaces(case: Case) -> None:
    """It replaces a record whole: no field of the old one stays."""
    store = _managed(case)
    full = case.artifact(1, "the old words", thread="replaced").model_copy(
        update={"name": "n", "call_id": "c", "reason": "r", "sources": ("u1",), "ref": "u1"}
        | {"part": 1, "parts": 2, "identity": "i", "at": "2026-01-01", "branch": "main"}
    )
    bare = case.artifact(1, "", thread="replaced").model_copy(update={"kind": "tombstone"})
    fresh = case.artifact(2, "new", thread="replaced")
    store.add(case.tenant, [full])
    store.replace(case.tenant, [bare, fresh])
    case.expect([bare, fresh])
    store.replace(case.tenant, [bare])
    store.add(case.tenant, [full])
    case.expect([bare, fresh])
    store.replace(case.tenant, [full])
    case.expect([full])


def _deletes(case: Case) -> None:
    """It deletes what it is told, once or twice, and nothing else; an id may be used again."""
    store = _managed(case)
    records = [case.artifact(seq, f"number {seq}", thread="deleted") for seq in range(1, 251)]
    store.add(case.tenant, records)
    gone = [a.id for a in records[::2]]
    store.delete(case.tenant, [*gone, "absent"])
    store.delete(case.tenant, gone)
    store.delete(f"{case.tenant} absent", gone)
    case.expect(records[1::2], ids=[a.id for a in records])
    require(not store.vectors(case.tenant, gone), "a deleted record has a vector")
    again = records[0].model_copy(update={"text": "another"})
    store.add(case.tenant, [again])
    case.expect([again])


def _vectors(case: Case) -> None:
    """It gives the lexical vector of each record's text, of a replaced one the new text's."""
    store = _managed(case)
    records = [case.artifact(seq, f"vector {seq} of many", thread="vectors") for seq in (1, 2, 3)]
    store.add(case.tenant, records)
    store.replace(case.tenant, [records[1].model_copy(update={"text": "something else"})])
    wanted = {records[0].id: records[0].text, records[1].id: "something else"}
    got = store.vectors(case.tenant, [*wanted, "absent"])
    require(got.keys() == wanted.keys(), f"vectors() of {len(wanted)} records gave {len(got)}")
    for id_, text in wanted.items():
        near = memoryview(embed(text))
        read = memoryview(got[id_]).cast("f")
        require(
            len(read) == len(near)
            and all(abs(a - b) < 1e-5 for a, b in zip(read, near, strict=True)),
            "a vector is not that of the record's text",
        )


def _compacts(case: Case) -> None:
    """It rewrites its files without losing a record, a vector, or what is added next."""
    store = _managed(case)
    records = [case.artifact(seq, f"compact {seq}", thread="compacted") for seq in range(1, 131)]
    store.add(case.tenant, records)
    store.delete(case.tenant, [records[0].id])
    require(isinstance(store.compact(), bool), "compact() does not say whose the files are")
    late = case.artifact(500, "added after", thread="compacted")
    store.add(case.tenant, [late])
    kept = [*records[1:], late]
    case.expect(kept)
    found = store.vectors(case.tenant, [a.id for a in kept])
    require(len(found) == len(kept), f"of {len(kept)} vectors {len(found)} are left")


MANAGED: tuple[Callable[[Case], None], ...] = (
    _lists,
    _replaces,
    _deletes,
    _vectors,
    _compacts,
)


def require(condition: bool, breach: str) -> None:
    """Raise unless ``condition`` holds."""
    if not condition:
        raise AssertionError(breach)
