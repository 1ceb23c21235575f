"""Compacting a usage shelf: many small events become one summary that policies judge alike.

The summary is appended, with the holds that stand; then the first place says that the shelf begins
there; then what lies between goes. Killed before the second step nothing has happened, killed after
it all has, but for records that nobody reads and the next compaction takes.
"""

from __future__ import annotations

from collections.abc import Callable

from acc.evidence.holds import Holds, hold_record, holds
from acc.evidence.shelf import BASE, Shelf
from acc.evidence.standing import Standing
from acc.evidence.usage import Ledger
from acc.evidence.usage_events import SUMMARY, execution_ledger, summary, usage_records
from acc.store import Artifact, ArtifactStore, ManagedStore, Thread

WORTH = 1_000
"""Records of a usage shelf from which compacting it is worth the while."""


def compact(
    store: ArtifactStore, space: Thread, now: Callable[[], str], *, worth: int = WORTH
) -> int:
    """Compact the usage shelf of a namespace, unless it is short, or others may be writing to it.

    What is said of experiences that are gone goes.

    Args:
        store: Where it is.
        space: The namespace.
        now: Tells the time as records have it.
        worth: Records from which it is done.

    Returns:
        The number of records that went.

    Raises:
        StoreError: It cannot be done now; what was told, is told as before.
    """
    usage = Shelf(store, space, "usage")
    if store.shared or not isinstance(store, ManagedStore) or len(usage.records()) < worth:
        return 0
    Standing(usage, now).resume()
    records = usage.records()
    ledger = execution_ledger(records)
    _forget_gone(ledger, {a.ref for a in Shelf(store, space, "experiences").records()}, space)
    at = now()
    start = usage.next_seq()
    kept = [*usage_records(SUMMARY, summary(ledger), at), *_standing(holds(records), at)]
    first, *_ = usage.append(kept)
    base = first.model_copy(update={
        "id": usage.id_of(1), "seq": 1, "name": BASE, "text": str(start), "part": 0, "parts": 1,
    })  # fmt: skip
    store.replace(space.tenant, [base])
    told = store.get(space.tenant, store.ids(space.tenant, kind="usage", thread=space.key))
    store.delete(space.tenant, [a.id for a in told if 1 < a.seq < start])
    return len(records) - len(kept)


def _standing(held: Holds, at: str) -> list[Artifact]:
    return [hold_record(key, reason, at) for key, reason in held.reasons.items()]


def _forget_gone(ledger: Ledger, known: set[str], space: Thread) -> None:
    for key in list(ledger.tallies):
        owner, _, ref = key.partition(":")
        if owner == space.key and ref.startswith("exp.") and ref not in known:
            del ledger.tallies[key]
