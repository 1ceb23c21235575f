"""Deleting records of a namespace so that a kill leaves all of them or none.

The intent that stands in the store decides. A note in the memory's folder, where there is one,
says of which namespace one may be found: namespaces cannot be told from ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from acc.evidence import marks
from acc.evidence.intents import Intent, begin, end, ended, unfinished
from acc.evidence.shelf import Shelf
from acc.evidence.tombstones import buried, managed
from acc.store import ArtifactStore, Thread

_NOTE = "prune-{}.json"
_PRUNE = "prune"


class Standing:
    """What is begun on a namespace and done to its end, even by another process.

    Args:
        usage: The namespace's usage shelf.
        now: Tells the time as records have it.
        folder: The memory's folder, if it has one.
    """

    def __init__(self, usage: Shelf, now: Callable[[], str], folder: Path | None = None) -> None:
        self._usage = usage
        self._now = now
        self._note = folder / _NOTE.format(usage.space.key) if folder is not None else None

    def prune(self, ids: Sequence[str]) -> None:
        """Put tombstones in the place of the records of these ids.

        Raises:
            StoreError: It cannot be done now; if it was begun, `resume` does the rest.
        """
        if not ids:
            return
        managed(self._usage.store)
        self.resume()  # one that failed before: its note has the place of this one's
        at = self._now()
        if self._note is not None:
            marks.begin(self._note, {"space": self._usage.space.model_dump(), "at": at})
        intent = begin(self._usage, _PRUNE, ids, at)
        self._done(intent)
        self._forget()

    def resume(self) -> int:
        """Do the rest of what was begun and not ended; how many acts that were."""
        intents = [each for each in unfinished(self._usage.records()) if each.act == _PRUNE]
        for intent in intents:
            self._done(intent)
        self._forget()
        return len(intents)

    def has_happened(self, at: str) -> bool:
        """Whether the prune that was noted at ``at`` was ended, now or before."""
        return ended(self._usage.records(), at)

    def _forget(self) -> None:
        if self._note is not None:
            marks.wipe(self._note)

    def _done(self, intent: Intent) -> None:
        bury(self._usage.store, self._usage.space, intent.ids, self._now())
        end(self._usage, intent)


def noted(folder: Path) -> Iterator[tuple[Thread, str]]:
    """Namespaces in which a prune may be under way by the notes in ``folder``, and since when.

    Raises:
        StoreError: A note cannot be read.
    """
    for path in notes(folder):
        said = marks.read(path)
        if said is not None:
            yield Thread(**said["space"]), said["at"]


def notes(folder: Path) -> list[Path]:
    """The notes that there are in ``folder``."""
    return sorted(folder.glob(_NOTE.format("*")))


def bury(store: ArtifactStore, space: Thread, ids: Sequence[str], at: str) -> None:
    """Put tombstones in the place of the records of these ids; repeatable."""
    records = store.get(space.tenant, ids)
    graves = [buried(a, "pruned", at) for a in records if a.kind != "tombstone"]
    if graves:
        managed(store).replace(space.tenant, graves)
