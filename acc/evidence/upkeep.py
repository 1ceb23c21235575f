"""Upkeep of a memory: recovery after a kill, vacuum, and checks and repairs of its records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import filter as filter_names
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from acc.audit.namespaces import logged_threads
from acc.evidence.checkpoints import DUE
from acc.evidence.documents import Partial, partial_ingests, undo_ingests
from acc.evidence.erasure import JOURNAL as ERASURE
from acc.evidence.erasure import Erasure
from acc.evidence.marks import Marks, folders, marks_of
from acc.evidence.portability import MARK as IMPORT
from acc.evidence.portability import undo
from acc.evidence.retention import Retention
from acc.evidence.unfinished import PRUNE, marked_prunes
from acc.evidence.usage import compact
from acc.stores.directory import ensure_enrolled, namespace, namespace_of, spaces_in
from acc.stores.protocol import ArtifactStore, Thread, managed
from acc.stores.shelf import Shelf

if TYPE_CHECKING:
    from acc.memory import Memory


VACUUM = "vacuum.json"


def vacuum(memory: Memory) -> tuple[int, int, bool]:
    """Rewrite the memory's files without deleted content; a failure changes no record.

    Return the bytes before and after, and whether this process owns the store's files.
    """
    marks = marks_of(memory)
    before = _bytes(folders(memory))
    marks.write(VACUUM, {"at": memory._now()})
    with memory._lock:
        memory._forget()
        for space in namespaces(memory):
            compact(memory.artifacts, space, memory._now)
        own = managed(memory.artifacts).compact()
    marks.remove(VACUUM)
    return before, _bytes(folders(memory)), own


def _bytes(where: list[Path]) -> int:
    files = {p for folder in where for p in folder.rglob("*") if p.is_file()}
    return sum(p.stat().st_size for p in files)


def namespaces(memory: Memory) -> list[Thread]:
    """Return the namespaces that the audit logs and their tenants' directories list."""
    known = [namespace(), *map(namespace_of, logged_threads(memory.settings.audit))]
    store = managed(memory.artifacts)
    for tenant in sorted({space.tenant for space in known}):
        known += spaces_in(store.get(tenant, store.ids(tenant, kind="thread")))
    return list(dict.fromkeys(known))


def resume(memory: Memory) -> list[str]:
    """Complete or undo work that a killed process began; return descriptions of it."""
    done: list[str] = []
    marks = marks_of(memory)
    if VACUUM in marks.names():
        marks.remove(VACUUM)
        done.append("a vacuum was interrupted; no data was lost; run the vacuum again")
    audit = memory.settings.audit
    if (count := undo(memory.artifacts, marks, audit)) is not None:
        done.append(f"an import was interrupted and is undone: {count} records were removed")
    done += _resumed_erasures(memory)
    done += _resumed_prunes(memory)
    # In a shared store, another process may still be running the ingest.
    if not memory.artifacts.shared:
        done += map(_ingest_result, undo_open_ingests(memory))
    return done


def left_half_done(memory: Memory) -> bool:
    """Return whether `resume` may have work: a cheap check for every opening of a memory."""
    known = (ERASURE, IMPORT, VACUUM, DUE, PRUNE)
    is_marked = any(fnmatch(name, each) for name in marks_of(memory).names() for each in known)
    return is_marked or bool(getattr(memory.artifacts, "after_kill", False))


def interrupted(marks: Marks) -> list[str]:
    """Describe the interrupted work that ``marks`` name. Changes nothing."""
    names = {
        VACUUM: "a vacuum was interrupted; no data was lost",
        IMPORT: "an import was interrupted; its records have to be removed",
        ERASURE: "an erasure was interrupted; it has to be completed",
    }
    there = marks.names()
    found = [names[name] for name in there if name in names]
    return found + (["a prune was interrupted"] if filter_names(there, PRUNE) else [])


def pending(memory: Memory) -> list[str]:
    """Describe the work that `resume` would complete or undo, except checkpoints. Changes nothing."""
    found = interrupted(marks_of(memory))
    if not found and left_half_done(memory) and not memory.artifacts.shared:
        found += [
            f"an ingest of {each.name or each.ref} was interrupted"
            for space in namespaces(memory)
            for each in partial_ingests(memory.artifacts, space)
        ]
    return found


def undo_open_ingests(memory: Memory) -> list[Partial]:
    """Undo unfinished ingests; complete ones stay. A running ingest fails. Safe to repeat."""
    with memory._lock:
        return [
            each
            for space in namespaces(memory)
            for each in undo_ingests(memory.artifacts, space, memory._now)
        ]


def _ingest_result(document: Partial) -> str:
    what = f"an ingest of {document.name or document.ref} was interrupted"
    if document.whole:
        return f"{what} and is complete"
    return f"{what} and is undone: {document.there} of {document.of} parts were removed"


def _resumed_erasures(memory: Memory) -> Iterator[str]:
    erasure = Erasure(memory)
    receipt = erasure.resume()
    if receipt is not None:
        left = "no trace was found" if receipt.proved else "it is not proved: run acc erase again"
        rows = f", {receipt.checkpoints} rows of checkpoints deleted" if receipt.checkpoints else ""
        yield f"erasure {receipt.id} was interrupted and is now complete: {left}{rows}"
    for name, settled in erasure.settle():
        result = "; ".join(settled.left) or f"{settled.rows} rows deleted"
        yield f"erasure {name} had not deleted all checkpoints of LangGraph: {result}"


def _resumed_prunes(memory: Memory) -> Iterator[str]:
    since = dict(marked_prunes(marks_of(memory)))
    retention = Retention(memory)
    for space in dict.fromkeys([*since, *namespaces(memory)]):
        done = retention.resume(space, since.get(space, ""))
        what = f"a prune of user {space.user!r} was interrupted"
        if done:
            yield f"{what} and is now complete"
        elif space in since:
            yield f"{what} before it began; nothing was deleted"


Progress = Callable[[int, int], None]
"""Called with the number of checked records and the total."""

_READ = 1_000
"""Records that one call of the store reads."""


def check_records(store: ArtifactStore, tenant: str, progress: Progress = lambda *_: None) -> int:
    """Read every record of a tenant, and return their number.

    Raises:
        StoreError: A record cannot be read, or was changed after it was stored.
    """
    ids = managed(store).ids(tenant)
    for start in range(0, len(ids), _READ):
        store.get(tenant, ids[start : start + _READ])
        progress(start, len(ids))
    return len(ids)


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
    """Check the shelves of ``memory``; search ``tenant`` for namespaces without a name.

    A repair also undoes an ingest that another process is running; that process gets an error.
    """
    store = memory.artifacts
    with memory._lock:
        unlisted = tuple(_unlisted(memory))
        if repair:
            ensure_enrolled(store, unlisted, memory._now())
    spaces = namespaces(memory)
    known = {space.key for space in spaces}
    kept = {
        id_.partition(".")[0]
        for kind in ("document", "experience")
        for id_ in managed(store).ids(tenant, kind=kind)
    }
    if repair:
        partial = undo_open_ingests(memory)
    else:
        partial = [each for space in spaces for each in partial_ingests(store, space)]
    return Shelves(tuple(partial), unlisted, tuple(sorted(kept - known)))


def _unlisted(memory: Memory) -> Iterator[Thread]:
    store = memory.artifacts
    threads = list(logged_threads(memory.settings.audit))
    spaces = dict.fromkeys([namespace(), *map(namespace_of, threads)])
    listed = {a.identity for space in spaces for a in Shelf(store, space, "threads").records()}
    yield from (thread for thread in threads if thread.key not in listed)
    for space in spaces:
        shelves = (Shelf(store, space, name) for name in ("documents", "experiences", "quarantine"))
        if space.key not in listed and any(shelf.records() for shelf in shelves):
            yield space
