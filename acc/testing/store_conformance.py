"""The promises of `ManagedStore` and `DenseStore`, each as a function that tries to break it."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar, cast

from acc.stores.embedding import embed
from acc.stores.protocol import ArtifactStore, DenseStore, ManagedStore
from acc.testing.store_promises import PROMISES, Case, ends


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
        update={
            "name": "n",
            "call_id": "c",
            "message": "m",
            "reason": "r",
            "sources": ("u1",),
            "ref": "u1",
        }
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


def _keeps_dense(case: Case) -> None:
    """It keeps dense vectors by tenant and embedder, and drops them with the text they were made of."""
    store = cast(DenseStore, case.store)
    records = [case.artifact(seq, f"dense {seq}", thread="dense") for seq in range(1, 131)]
    ids = [a.id for a in records]
    made = {id_: array("f", [n, 1.0, 2.0]).tobytes() for n, id_ in enumerate(ids)}
    store.add(case.tenant, records)
    require(store.dense(case.tenant, "one:3", ids) == {}, "dense() found what nobody kept")
    store.keep_dense(case.tenant, "one:3", made)
    store.keep_dense(case.tenant, "two:1", {ids[0]: array("f", [7.0]).tobytes()})
    require(store.dense(case.tenant, "one:3", [*ids, "absent"]) == made, "dense() lost a vector")
    require(not store.dense(f"{case.tenant} other", "one:3", ids), "another tenant's were given")
    require(store.vectors(case.tenant, ids[:2]).keys() == {*ids[:2]}, "lexical vectors are others")
    store.delete(case.tenant, ids[1:3])
    store.replace(case.tenant, [records[0].model_copy(update={"text": "another"})])
    left = {id_: made[id_] for id_ in ids[3:]}
    require(store.dense(case.tenant, "one:3", ids) == left, "a vector outlived its text")
    require(store.dense(case.tenant, "two:1", ids) == {}, "another embedder's outlived its text")
    store.compact()
    require(store.dense(case.tenant, "one:3", ids) == left, "compact() lost a dense vector")
    again = array("f", [9.0, 9.0, 9.0]).tobytes()
    store.keep_dense(case.tenant, "one:3", {ids[3]: again})
    require(store.dense(case.tenant, "one:3", ids[3:4]) == {ids[3]: again}, "it kept the old one")


DENSE: tuple[Callable[[Case], None], ...] = (_keeps_dense,)


def require(condition: bool, breach: str) -> None:
    """Raise an AssertionError unless ``condition`` holds."""
    if not condition:
        raise AssertionError(breach)


T = TypeVar("T")


def check_store(open_store: Callable[[], ArtifactStore], *, reopens: bool = True) -> None:
    """Test that a backend keeps the promises of `acc.stores.protocol.ArtifactStore`.

    Call it in a test of any framework: ``check_store(lambda: MyStore(path))``. It also tests the
    promises of `acc.stores.protocol.ManagedStore` and `acc.stores.protocol.DenseStore` if the store
    implements them. Each run uses new tenants, which makes it safe for a store that holds data.

    Args:
        open_store: Opens the store; called again after the store was closed.
        reopens: Whether the reopened store must hold the earlier records.

    Raises:
        AssertionError: A promise is broken; the error names the first one and how it failed.
    """
    case = Case(_proved("It opens.", open_store))
    try:
        offered = PROMISES
        if isinstance(case.store, ManagedStore):
            offered = (*offered, *MANAGED)
        if isinstance(case.store, DenseStore):
            offered = (*offered, *DENSE)
        for promise in offered:
            _proved(promise.__doc__ or promise.__name__, partial(promise, case))
        kept = [case.artifact(seq, f"kept {seq}", thread="kept") for seq in range(1, 4)]
        _proved("It closes, more than once, and for good.", partial(ends, case, kept))
        if reopens:
            case.store = _proved("It opens again.", open_store)
            _proved("What was added outlives a close.", partial(case.expect, kept))
    except BaseException:
        with suppress(Exception):  # report the first breach only
            case.store.close()
        raise
    _proved("It closes after use.", case.store.close)


def _proved(promise: str, act: Callable[[], T]) -> T:
    try:
        return act()
    except AssertionError as breach:
        raise AssertionError(f"{promise} It does not: {breach}") from breach
    except Exception as error:
        broken = f"{promise} It does not: {type(error).__name__}: {error}"
        raise AssertionError(broken) from error
