"""What a doctor looks at beside the vectors: documents half taken in, and who has no directory entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from acc.evidence import ingests, upkeep
from acc.evidence.audits import logged
from acc.evidence.directory import Directory
from acc.evidence.shelf import Shelf, namespace, namespace_of
from acc.evidence.tombstones import managed
from acc.store import Thread

if TYPE_CHECKING:
    from acc.evidence.ingests import Partial
    from acc.memory import Memory


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
        partial = [each for space in spaces for each in ingests.partial(store, space)]
    return Shelves(tuple(partial), unlisted, tuple(sorted(kept - known)))


def _unlisted(memory: Memory, directory: Directory) -> Iterator[Thread]:
    store = memory.artifacts
    threads = list(logged(memory.settings.audit))
    yield from (thread for thread in threads if not directory.has(thread))
    for space in dict.fromkeys([namespace(), *map(namespace_of, threads)]):
        shelves = (Shelf(store, space, name) for name in ("documents", "experiences", "quarantine"))
        if any(shelf.records() for shelf in shelves) and not directory.has(space):
            yield space
