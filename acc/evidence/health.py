"""Check a tenant's vectors and shelves, and repair them."""

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
"""Called with the number of checked vectors and the total."""


LINKS = (32, 256, 1_000)
"""Links per vector of a rebuilt index, tried in order while some vectors are unreachable.

Of hundreds of pages of one template most are unreachable with Chroma's default of 16, many with 32,
some with 256, and none with 1,000.
"""

LINK_BYTES, MOST_BYTES = 8, 1 << 28
"""Bytes per link of a vector, and the limit for all links of an index together."""


class IndexHealth(NamedTuple):
    """The health of one index.

    Attributes:
        embedder: Embedder of the vectors; "" for the records' own index.
        vectors: Number of records in it.
        lost: Keys of records without a vector.
        unreachable: Keys of records that a query with their own vector does not find.
        left: Keys of records that are lost or unreachable after the repair.
    """

    embedder: str
    vectors: int
    lost: tuple[str, ...] = ()
    unreachable: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


class Health(NamedTuple):
    """The health of a tenant's records.

    Attributes:
        records: Number of records.
        lost: Keys of records with a lost vector in any index: ids, or hashes of unusual ids.
        unreachable: Keys of records that an index does not reach.
        repaired: Number of repaired records of both.
        indexes: The same by index.
    """

    records: int
    lost: tuple[str, ...]
    unreachable: tuple[str, ...]
    repaired: int
    indexes: tuple[IndexHealth, ...] = ()


def examine(
    store: ArtifactStore, tenant: str, *, repair: bool = True, told: Progress = lambda *_: None
) -> Health:
    """Find a tenant's lost or unreachable vectors, and repair them.

    One query per vector takes about a millisecond.

    Args:
        store: A store with the methods of `acc.stores.protocol.ManagedStore`; if it is no
            `IndexedStore`, only lost vectors are found.
        tenant: The tenant.
        repair: Whether to repair them.
        told: Called after every hundred or so.

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
    """Rewrite ``left`` and check again while that helps: repairing one may cut off another."""
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
    """The result of checking the shelves.

    Attributes:
        partial: Documents with an unfinished ingest, which a repair undoes.
        unlisted: Threads, and namespaces with evidence, without an entry in their directory: they
            are older than directories. A repair adds the entries.
        nameless: Keys of namespaces with evidence but unknown names: their next write adds an
            entry.
    """

    partial: tuple[Partial, ...]
    unlisted: tuple[Thread, ...]
    nameless: tuple[str, ...]


def check_shelves(memory: Memory, tenant: str, *, repair: bool = True) -> Shelves:
    """Check the shelves of ``memory``, and repair them.

    Args:
        memory: The memory.
        tenant: The tenant to search for namespaces without a name.
        repair: Whether to repair them. This also undoes an ingest that another process is
            running; that process gets an error.

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
