"""Compact a usage shelf: one summary replaces many events, with the same effect on policies.

The summary is appended after the last event, with the current holds and the unfinished intents. A
record then says that the shelf begins there; each beginning of the shelf can have only one such
record. A kill before that record changes nothing, as does another process that was first; a kill
after it leaves the compaction complete. Unreachable records are then deleted. In a shared store,
another process may be about to append after an event that it has read, so the next compaction
deletes the records that this one replaced.
"""

from __future__ import annotations

from collections.abc import Callable

from acc.evidence.intents import Standing, records_of, unfinished
from acc.evidence.retention_plan import Holds, hold_record, holds
from acc.evidence.usage import SUMMARY, Ledger, execution_ledger, summary, usage_records
from acc.stores.protocol import Artifact, ArtifactStore, ManagedStore, Thread
from acc.stores.shelf import BASE, Shelf

WORTH = 1_000
"""Minimum number of records of a usage shelf for a compaction."""


def compact(
    store: ArtifactStore, space: Thread, now: Callable[[], str], *, worth: int = WORTH
) -> int:
    """Compact the usage shelf of a namespace, unless it is short. Concurrent writes are allowed.

    Also removes the tallies of deleted experiences.

    Args:
        store: The store of the shelf.
        space: The namespace.
        now: Returns the time in the format of records.
        worth: Minimum number of records for a compaction.

    Returns:
        The decrease in records to read; 0 if another process was first.

    Raises:
        StoreError: The compaction failed; the shelf's content is unchanged.
    """
    usage = Shelf(store, space, "usage")
    if not isinstance(store, ManagedStore) or len(usage.records()) < worth:
        return 0
    Standing(usage, now).resume()
    records, before = usage.records(), usage.first
    ledger = execution_ledger(records)
    _forget_gone(ledger, {a.ref for a in Shelf(store, space, "experiences").records()}, space)
    at = now()
    kept = [
        *usage_records(SUMMARY, summary(ledger), at),
        *_standing(holds(records), at),
        *records_of(records, unfinished(records)),
    ]
    placed = usage.append_next(kept)
    if placed is None or not _begun_at(usage, before, placed[0]):
        return 0
    _sweep(store, usage, before, placed[0])
    return len(records) - len(kept)


def _begun_at(usage: Shelf, before: int, first: Artifact) -> bool:
    """Record that the shelf begins at ``first``; False if another process was first."""
    said = first.model_copy(update={
        "id": usage.moved_id(before), "branch": f"usage.{BASE}", "seq": before,
        "name": BASE, "text": str(first.seq), "part": 0, "parts": 1,
    })  # fmt: skip
    usage.store.add(usage.space.tenant, [said])
    return usage.store.get(usage.space.tenant, [said.id]) == [said]


def _sweep(store: ManagedStore, usage: Shelf, before: int, first: Artifact) -> None:
    """Store the new beginning in the first place, and delete unreachable records."""
    tenant, key = usage.space.tenant, usage.space.key
    base = first.model_copy(update={
        "id": usage.id_of(1), "seq": 1, "name": BASE, "text": str(first.seq), "part": 0, "parts": 1,
    })  # fmt: skip
    store.replace(tenant, [base])
    ids = [i for kind in ("usage", "tombstone") for i in store.ids(tenant, kind=kind, thread=key)]
    end = before if store.shared else first.seq
    gone = []
    for record in store.get(tenant, ids):
        is_signpost = record.branch == f"usage.{BASE}" and not store.shared
        if is_signpost or (record.branch == "usage" and 1 < record.seq < end):
            gone.append(record.id)
    store.delete(tenant, gone)


def _standing(held: Holds, at: str) -> list[Artifact]:
    return [hold_record(key, reason, at) for key, reason in held.reasons.items()]


def _forget_gone(ledger: Ledger, known: set[str], space: Thread) -> None:
    for key in list(ledger.tallies):
        owner, _, ref = key.partition(":")
        if owner == space.key and ref.startswith("exp.") and ref not in known:
            del ledger.tallies[key]
