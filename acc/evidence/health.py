"""What a doctor finds of a tenant's vectors: those that are lost, and those that no query comes to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from acc.evidence.tombstones import managed
from acc.store import ArtifactStore
from acc.stores.indexes import IndexedStore, Looked

Progress = Callable[[int, int], None]
"""Told how many vectors were looked at, and of how many."""


LINKS = (32, 256, 1_000)
"""Links a vector with which an index is made anew, as long as some vectors are not come to.

Of hundreds of pages of one template most are not come to with Chroma's own 16, many with 32, some
with 256, and none with 1,000.
"""

LINK_BYTES, MOST_BYTES = 8, 1 << 28
"""What a link takes for each vector, and the most that those of an index may take together."""


class IndexHealth(NamedTuple):
    """What was found of one index.

    Attributes:
        embedder: Whose vectors; "" for the records' own.
        vectors: Records that have a place in it.
        lost: Keys of those without a vector.
        unreachable: Keys of those that the index does not answer a query with their own vector.
        left: Keys of those that still are one or the other, or have become it.
    """

    embedder: str
    vectors: int
    lost: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class Health(NamedTuple):
    """What a doctor found of a tenant's records.

    Attributes:
        records: Records.
        lost: Keys of those with a lost vector, in any index: ids, or hashes of what is no plain id.
        unreachable: Likewise of those that an index does not come to.
        repaired: How many of both are as they should be again.
        indexes: The same, index by index.
    """

    records: int
    lost: tuple[str, ...]
    unreachable: tuple[str, ...]
    repaired: int
    indexes: tuple[IndexHealth, ...] = ()


def examine(
    store: ArtifactStore, tenant: str, *, repair: bool = True, told: Progress = lambda *_: None
) -> Health:
    """Find a tenant's vectors that are lost or unreachable, and mend them.

    Every vector is asked for by itself, which takes about a millisecond each.

    Args:
        store: One that offers `acc.store.ManagedStore`; of one that is no `IndexedStore`, lost vectors
            alone are looked for.
        tenant: The tenant.
        repair: Whether they are mended.
        told: Told of every hundred or so.

    Raises:
        StoreError: The store cannot be read or written.
    """
    ids = managed(store).ids(tenant)
    if isinstance(store, IndexedStore):
        found = tuple(
            _index(store, tenant, name, repair=repair, told=told) for name in store.indexes(tenant)
        )
    else:
        found = (_vectors(store, tenant, ids, repair=repair),)
    ailing = sum(len(each.lost) + len(each.unreachable) for each in found)
    left = sum(len(each.left) for each in found)
    return Health(
        len(ids),
        tuple(key for each in found for key in each.lost),
        tuple(key for each in found for key in each.unreachable),
        max(0, ailing - left),
        found,
    )


def _index(
    store: IndexedStore, tenant: str, name: str, *, repair: bool, told: Progress
) -> IndexHealth:
    count, lost, unreachable = _looked(store, tenant, name, told)
    left = [*lost, *unreachable]
    if left and repair:
        left = _relinked(store, tenant, name, left, told)
        for links in LINKS:
            fits = count * links * LINK_BYTES <= MOST_BYTES
            if left and fits and store.widen(tenant, name, links):
                left = _relinked(store, tenant, name, _ailing(store, tenant, name, told), told)
    return IndexHealth(name, count, tuple(lost), tuple(unreachable), tuple(left))


def _relinked(
    store: IndexedStore, tenant: str, name: str, left: list[str], told: Progress
) -> list[str]:
    """Write ``left`` anew and look again, as long as that helps: one mended may cut off another."""
    before = len(left) + 1
    while 0 < len(left) < before:
        before = len(left)
        store.relink(tenant, name, left)
        left = _ailing(store, tenant, name, told)
    return left


def _ailing(store: IndexedStore, tenant: str, name: str, told: Progress) -> list[str]:
    _, lost, unreachable = _looked(store, tenant, name, told)
    return [*lost, *unreachable]


def _looked(
    store: IndexedStore, tenant: str, name: str, told: Progress
) -> tuple[int, list[str], list[str]]:
    lost: list[str] = []
    unreachable: list[str] = []
    looked = Looked(0, 0)
    for looked in store.look(tenant, name):
        lost += looked.lost
        unreachable += looked.unreachable
        told(looked.seen, looked.of)
    return looked.of, lost, unreachable


def _vectors(store: ArtifactStore, tenant: str, ids: Sequence[str], *, repair: bool) -> IndexHealth:
    kept = managed(store)
    found = kept.vectors(tenant, ids)
    lost = left = tuple(id_ for id_ in ids if id_ not in found)
    if lost and repair:
        kept.replace(tenant, kept.get(tenant, lost))
        again = kept.vectors(tenant, lost)
        left = tuple(id_ for id_ in lost if id_ not in again)
    return IndexHealth("", len(ids), lost, (), left)
