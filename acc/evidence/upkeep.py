"""Upkeep of a memory's files: vacuum, and recovery of work that a kill interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from acc.evidence import marks
from acc.evidence.addition import Addition
from acc.evidence.audits import logged
from acc.evidence.checkpoints import CheckpointsDue
from acc.evidence.compaction import compact
from acc.evidence.documents import Documents, Partial, partial_ingests, take_back_ingests
from acc.evidence.erasure import Erasure
from acc.evidence.erasure_journal import NAME as ERASURE
from acc.evidence.intents import noted, notes
from acc.evidence.portability import MARK as IMPORT
from acc.evidence.portability import Moved, import_from, undo
from acc.evidence.retention import Retention
from acc.stores.directory import spaces_in
from acc.stores.protocol import Thread
from acc.stores.shelf import managed, namespace, namespace_of

if TYPE_CHECKING:
    from acc.memory import Memory


def retention(memory: Memory) -> Retention:
    """Return the `Retention` of ``memory``.

    Raises:
        StoreError: Its store cannot delete.
    """
    return Retention(
        memory.artifacts,
        memory.settings.audit,
        memory.now,
        lock=memory.lock,
        forget=memory.forget,
        notes=next(iter(folders(memory)), None),
    )


def erasure(memory: Memory) -> Erasure:
    """Return the `Erasure` of ``memory``.

    Raises:
        StoreError: Its store cannot delete.
    """
    return Erasure(
        memory.artifacts,
        folders(memory),
        memory.settings.audit,
        memory.now,
        lock=memory.lock,
        forget=memory.forget,
    )


def documents(memory: Memory, space: Thread, addition: Addition | None = None) -> Documents:
    """Return the documents of a namespace of ``memory``."""
    notes = next(iter(folders(memory)), None)
    return Documents(
        memory.artifacts, space, memory.now, addition, notes=notes, redact=memory.redact
    )


def take_in(memory: Memory, source: Path) -> Moved:
    """Import an export file into ``memory``; see `acc.evidence.portability.import_from`."""
    with memory.lock:
        memory.forget()  # an open thread would overwrite the imported records
        return import_from(
            memory.artifacts, next(iter(folders(memory)), None), source, memory.settings.audit
        )


def folders(memory: Memory) -> list[Path]:
    """Return the folders of ``memory``'s files: the audit logs' parent, and an embedded store's."""
    audit = memory.settings.audit
    directory: Path | None = getattr(memory.artifacts, "directory", None)
    found = [audit.absolute().parent] if audit is not None else []
    return list(dict.fromkeys([*found, *([directory] if directory else [])]))


VACUUM = "vacuum.json"


def vacuum(memory: Memory) -> tuple[int, int, bool]:
    """Rewrite the memory's files without deleted content.

    Returns:
        Bytes before and after, and whether this process owns the store's files.

    Raises:
        StoreError: The files cannot be rewritten; every record is unchanged.
    """
    where = folders(memory)
    before = _bytes(where)
    for folder in where[:1]:
        marks.begin(folder / VACUUM, {"at": memory.now()})
    with memory.lock:
        memory.forget()
        for space in namespaces(memory):
            compact(memory.artifacts, space, memory.now)
        own = managed(memory.artifacts).compact()
    for folder in where[:1]:
        marks.wipe(folder / VACUUM)
    return before, _bytes(where), own


def resume(memory: Memory) -> list[str]:
    """Complete or undo work that a killed process began; return descriptions of it.

    Raises:
        StoreError: The recovery failed; it can be repeated.
        AuditError: An audit log cannot be rewritten now.
    """
    done: list[str] = []
    where = folders(memory)
    if where and (where[0] / VACUUM).exists():
        marks.wipe(where[0] / VACUUM)
        done.append("a vacuum was interrupted: nothing was lost, run it again")
    if where and (taken := undo(memory.artifacts, where[0])) is not None:
        done.append(f"an import was interrupted and has not happened: {taken} records taken back")
    done += _erased(memory)
    done += _pruned(memory)
    # In a shared store, another process may still be running the ingest.
    if not memory.artifacts.shared:
        done += map(_said, taken_back(memory))
    return done


def begun(memory: Memory) -> list[str]:
    """Describe the interrupted work that the folder's marks name. Changes nothing."""
    where = folders(memory)[:1]
    said = {
        VACUUM: "a vacuum was interrupted: nothing is lost by it",
        IMPORT: "an import was interrupted: its records are to be taken back",
        ERASURE: "an erasure was interrupted: it is to be done to its end",
    }
    found = [what for name, what in said.items() for folder in where if (folder / name).exists()]
    return found + ["a prune was interrupted" for folder in where if notes(folder)]


def pending(memory: Memory) -> list[str]:
    """Describe the work that `resume` would complete or undo, except checkpoints. Changes nothing.

    Raises:
        StoreError: The store cannot be read.
    """
    found = begun(memory)
    if not found and left_half_done(memory) and not memory.artifacts.shared:
        found += [
            f"an ingest of {each.name or each.ref} was interrupted"
            for space in namespaces(memory)
            for each in partial_ingests(memory.artifacts, space)
        ]
    return found


def taken_back(memory: Memory) -> list[Partial]:
    """Undo unfinished ingests; complete ones stay. A running ingest fails.

    Raises:
        StoreError: The undo failed; it can be repeated.
    """
    with memory.lock:
        return [
            each
            for space in namespaces(memory)
            for each in take_back_ingests(memory.artifacts, space, memory.now)
        ]


def left_half_done(memory: Memory) -> bool:
    """Return whether `resume` may have work: a cheap check for every opening of a memory."""
    where = folders(memory)
    begun = where and (
        any((where[0] / name).exists() for name in (ERASURE, IMPORT, VACUUM))
        or CheckpointsDue(where[0]).notes()
        or notes(where[0])
    )
    return bool(begun) or bool(getattr(memory.artifacts, "after_kill", False))


def _said(document: Partial) -> str:
    what = f"an ingest of {document.name or document.ref} was interrupted"
    if document.whole:
        return f"{what} and has happened"
    return f"{what} and has not happened: {document.there} of {document.of} parts taken back"


def _erased(memory: Memory) -> Iterator[str]:
    eraser = erasure(memory)
    receipt = eraser.resume()
    if receipt is not None:
        left = "nothing found" if receipt.proved else "not proved: run acc erase again"
        rows = f", {receipt.checkpoints} rows of checkpoints deleted" if receipt.checkpoints else ""
        yield f"erasure {receipt.id} was interrupted and has now happened: {left}{rows}"
    for name, settled in eraser.settle():
        said = "; ".join(settled.left) or f"{settled.rows} rows deleted"
        yield f"erasure {name} had left checkpoints of LangGraph: {said}"


def _pruned(memory: Memory) -> Iterator[str]:
    since = {space: at for folder in folders(memory)[:1] for space, at in noted(folder)}
    keeper = retention(memory)
    for space in dict.fromkeys([*since, *namespaces(memory)]):
        done = keeper.resume(space, since.get(space, ""))
        what = f"a prune of user {space.user!r} was interrupted"
        if done:
            yield f"{what} and has now happened"
        elif space in since:
            yield f"{what} before it began: nothing of it has happened"


def namespaces(memory: Memory) -> list[Thread]:
    """Return the namespaces that the audit logs and their tenants' directories list."""
    known = [namespace(), *map(namespace_of, logged(memory.settings.audit))]
    store = managed(memory.artifacts)
    for tenant in sorted({space.tenant for space in known}):
        known += spaces_in(store.get(tenant, store.ids(tenant, kind="thread")))
    return list(dict.fromkeys(known))


def _bytes(where: list[Path]) -> int:
    return sum(p.stat().st_size for p in {
        p for folder in where for p in folder.rglob("*") if p.is_file()
    })  # fmt: skip
