"""What a doctor finds of a tenant's vectors: those that are lost, and those that no query comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from acc.evidence import upkeep
from acc.evidence.audits import logged
from acc.evidence.documents import partial_ingests
from acc.stores.directory import Directory
from acc.stores.protocol import ArtifactStore, IndexedStore, Looked, Thread
from acc.stores.shelf import Shelf, managed, namespace, namespace_of

if TYPE_CHECKING:
    from acc.evidence.documents import Partial
    from acc.memory import Memory


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
        store: One that offers `acc.stores.protocol.ManagedStore`; of one that is no `IndexedStore`, lost vectors
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


class Shelves(NamedTuple):
    """What was found.

    Attributes:
        partial: Documents that were begun and not ended; taken back where it was mended.
        unlisted: Threads, and namespaces with evidence, without an entry in their directory: written
            before there were directories. Entered where it was mended.
        nameless: Keys of namespaces with evidence whose names nobody knows: an entry is written
            with the next that they write.
    """

    partial: tuple[Partial, ...]
    unlisted: tuple[Thread, ...]
    nameless: tuple[str, ...]


def check_shelves(memory: Memory, tenant: str, *, repair: bool = True) -> Shelves:
    """Look at the shelves of ``memory``, and mend what is not as it should be.

    Args:
        memory: The memory.
        tenant: In which namespaces without a name are looked for.
        repair: Whether it is mended. A document that another process is taking in at this moment is
            taken back too: that process is told.

    Raises:
        StoreError: The store cannot be read or written.
    """
    store = memory.artifacts
    with memory.lock:
        directory = Directory(store)
        unlisted = tuple(_unlisted(memory, directory))
        for thread in unlisted if repair else ():
            directory.enrol(thread, memory.now())
    spaces = upkeep.namespaces(memory)
    known = {space.key for space in spaces}
    kept = {
        id_.partition(".")[0]
        for kind in ("document", "experience")
        for id_ in managed(store).ids(tenant, kind=kind)
    }
    if repair:
        partial = upkeep.taken_back(memory)
    else:
        partial = [each for space in spaces for each in partial_ingests(store, space)]
    return Shelves(tuple(partial), unlisted, tuple(sorted(kept - known)))


def _unlisted(memory: Memory, directory: Directory) -> Iterator[Thread]:
    store = memory.artifacts
    threads = list(logged(memory.settings.audit))
    yield from (thread for thread in threads if not directory.has(thread))
    for space in dict.fromkeys([namespace(), *map(namespace_of, threads)]):
        shelves = (Shelf(store, space, name) for name in ("documents", "experiences", "quarantine"))
        if any(shelf.records() for shelf in shelves) and not directory.has(space):
            yield space
