"""Deleting records of a namespace so that a kill leaves all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acc.evidence.intents import Intent, begin, end, unfinished
from acc.evidence.shelf import Shelf
from acc.evidence.tombstones import buried, managed
from acc.store import ArtifactStore, Thread


class Standing:
    """What is begun on a namespace and done to its end, even by another process.

    Args:
        usage: The namespace's usage shelf.
        now: Tells the time as records have it.
    """

    def __init__(self, usage: Shelf, now: Callable[[], str]) -> None:
        self._usage = usage
        self._now = now

    def prune(self, ids: Sequence[str]) -> None:
        """Put tombstones in the place of the records of these ids.

        Raises:
            StoreError: It cannot be done now; if it was begun, `resume` does the rest.
        """
        if not ids:
            return
        managed(self._usage.store)
        intent = begin(self._usage, "prune", ids, self._now())
        self._done(intent)

    def resume(self) -> int:
        """Do the rest of what was begun and not ended; how many acts that were."""
        intents = unfinished(self._usage.records())
        for intent in intents:
            self._done(intent)
        return len(intents)

    def _done(self, intent: Intent) -> None:
        bury(self._usage.store, self._usage.space, intent.ids, self._now())
        end(self._usage, intent)


def bury(store: ArtifactStore, space: Thread, ids: Sequence[str], at: str) -> None:
    """Put tombstones in the place of the records of these ids; repeatable."""
    records = store.get(space.tenant, ids)
    graves = [buried(a, "pruned", at) for a in records if a.kind != "tombstone"]
    if graves:
        managed(store).replace(space.tenant, graves)
