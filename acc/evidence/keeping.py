"""Retention, erasure, documents and imports of an open memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from acc.evidence.addition import Addition
from acc.evidence.documents import Documents
from acc.evidence.erasure import Erasure
from acc.evidence.portability import Moved, import_from
from acc.evidence.retention import Retention
from acc.store import Thread

if TYPE_CHECKING:
    from acc.memory import Memory


def retention(memory: Memory) -> Retention:
    """What plans and prunes in ``memory``.

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
    """What erases from ``memory``.

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
    """The documents of a namespace of ``memory``."""
    notes = next(iter(folders(memory)), None)
    return Documents(
        memory.artifacts, space, memory.now, addition, notes=notes, redact=memory.redact
    )


def take_in(memory: Memory, source: Path) -> Moved:
    """Import what an export wrote into ``memory``; see `acc.evidence.portability.import_from`."""
    with memory.lock:
        memory.forget()  # a thread that is open would write over what comes in
        return import_from(
            memory.artifacts, next(iter(folders(memory)), None), source, memory.settings.audit
        )


def folders(memory: Memory) -> list[Path]:
    """The folders that hold files of ``memory``: the audit logs' parent, and an embedded store's."""
    audit = memory.settings.audit
    directory: Path | None = getattr(memory.artifacts, "directory", None)
    found = [audit.absolute().parent] if audit is not None else []
    return list(dict.fromkeys([*found, *([directory] if directory else [])]))
