"""Keeping a memory's files in order: vacuum, doctor, and what a kill left half done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from acc.evidence import marks
from acc.evidence.audits import logged
from acc.evidence.erasure_journal import NAME as ERASURE
from acc.evidence.keeping import erasure, folders, retention
from acc.evidence.portability import MARK as IMPORT
from acc.evidence.portability import undo
from acc.evidence.shelf import namespace, namespace_of
from acc.evidence.tombstones import managed
from acc.store import ArtifactStore, Thread

if TYPE_CHECKING:
    from acc.memory import Memory

VACUUM = "vacuum.json"


class Health(NamedTuple):
    """What a doctor found of a tenant's records.

    Attributes:
        records: Records.
        lost: Ids of those whose vector was lost.
        repaired: How many of these have one again.
    """

    records: int
    lost: tuple[str, ...]
    repaired: int


def vacuum(memory: Memory) -> tuple[int, int, bool]:
    """Rewrite the memory's files, so that nothing deleted is left in them.

    Returns:
        Bytes before and after; and whether the files are this process's to rewrite.

    Raises:
        StoreError: They cannot be rewritten; every record is as it was.
    """
    where = folders(memory)
    before = _bytes(where)
    for folder in where[:1]:
        marks.begin(folder / VACUUM, {"at": memory.now()})
    with memory.lock:
        memory.forget()
        own = managed(memory.artifacts).compact()
    for folder in where[:1]:
        marks.wipe(folder / VACUUM)
    return before, _bytes(where), own


def examine(store: ArtifactStore, tenant: str, *, repair: bool = True) -> Health:
    """Find records of a tenant whose vector was lost or cannot be read, and make it anew.

    Raises:
        StoreError: The store cannot be read or written.
    """
    kept = managed(store)
    ids = kept.ids(tenant)
    found = kept.vectors(tenant, ids)
    lost = [id_ for id_ in ids if id_ not in found]
    if not lost or not repair:
        return Health(len(ids), tuple(lost), 0)
    kept.replace(tenant, kept.get(tenant, lost))
    return Health(len(ids), tuple(lost), len(kept.vectors(tenant, lost)))


def resume(memory: Memory) -> list[str]:
    """End or take back what a killed process had begun; what was done, in words.

    Raises:
        StoreError: It cannot be done now.
        AuditError: An audit log cannot be rewritten now.
    """
    done: list[str] = []
    where = folders(memory)
    if where and (where[0] / VACUUM).exists():
        marks.wipe(where[0] / VACUUM)
        done.append("a vacuum was interrupted: nothing was lost, run it again")
    if where and (taken := undo(memory.artifacts, where[0])) is not None:
        done.append(f"an import was interrupted and has not happened: {taken} records taken back")
    receipt = erasure(memory).resume()
    if receipt is not None:
        left = "nothing found" if receipt.proved else "not proved: run acc erase again"
        done.append(f"erasure {receipt.id} was interrupted and has now happened: {left}")
    pruned = [space for space in _namespaces(memory) if retention(memory).resume(space)]
    done += [f"a prune of user {s.user!r} was interrupted and has now happened" for s in pruned]
    return done


def left_half_done(memory: Memory) -> bool:
    """Whether anything may wait for `resume`: cheap enough to ask whenever a memory is opened."""
    where = folders(memory)
    begun = where and any((where[0] / name).exists() for name in (ERASURE, IMPORT, VACUUM))
    return bool(begun) or bool(getattr(memory.artifacts, "after_kill", False))


def _namespaces(memory: Memory) -> list[Thread]:
    known = [namespace(), *map(namespace_of, logged(memory.settings.audit))]
    return list({space.key: space for space in known}.values())


def _bytes(where: list[Path]) -> int:
    return sum(p.stat().st_size for p in {
        p for folder in where for p in folder.rglob("*") if p.is_file()
    })  # fmt: skip
