"""Documents of so many parts that they are not written at once: noted first, and ended or taken back.

The note is an intent on the namespace's usage shelf. Where this process alone has the store, whoever
opens it next takes back what is there of a document that a kill left half written. Where others
write to it too, one that is under way looks alike: a doctor takes it back, or the same document taken
in again ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from acc.errors import ConflictError
from acc.evidence import intents
from acc.evidence.intents import Intent, unfinished
from acc.evidence.shelf import Shelf
from acc.evidence.standing import bury
from acc.store import Artifact, ArtifactStore, Thread

_INGEST = "ingest"


class Partial(NamedTuple):
    """A document that was begun and not ended.

    Attributes:
        space: Its namespace.
        ref: What all its parts' refs begin with.
        name: The file, as it was named; "" where nothing of it is there.
        there: Parts that are there, of those that were to be written.
        of: Parts that were to be written.
    """

    space: Thread
    ref: str
    name: str
    there: int
    of: int

    @property
    def whole(self) -> bool:
        """Whether all was written, and the end of it not noted."""
        return self.there == self.of


def begin(usage: Shelf, parts: Sequence[Artifact], at: str) -> Intent:
    """Note that these parts are about to be written.

    Raises:
        StoreError: It cannot be noted.
    """
    return intents.begin(usage, _INGEST, [part.ref for part in parts], at)


def end(usage: Shelf, intent: Intent) -> None:
    """Note that they are written.

    Raises:
        ConflictError: Somebody took them back meanwhile.
        StoreError: It cannot be noted.
    """
    if intent.id not in {open_.id for open_ in begun(usage)}:
        raise ConflictError(
            "somebody took back the document while it was taken in",
            where=f"{_ref_of(intent)} of user {usage.space.user!r}",
            mend="take it in again when no acc doctor is running",
        )
    intents.end(usage, intent)


def begun(usage: Shelf, ref: str = "") -> list[Intent]:
    """What was begun and not ended, of all documents or of one."""
    found = [intent for intent in unfinished(usage.records()) if intent.act == _INGEST]
    return [intent for intent in found if ref in ("", _ref_of(intent))]


def partial(store: ArtifactStore, space: Thread) -> list[Partial]:
    """The documents of a namespace that were begun and not ended.

    Raises:
        StoreError: The store cannot be read.
    """
    return [told for _, _, told in _found(store, space)]


def taken_back(store: ArtifactStore, space: Thread, now: Callable[[], str]) -> list[Partial]:
    """Take back what is there of documents that were begun and not ended; the whole ones stay.

    Raises:
        StoreError: It cannot be done now.
    """
    done = []
    for intent, parts, told in list(_found(store, space)):
        if not told.whole:
            bury(store, space, [part.id for part in parts], now())
        intents.end(Shelf(store, space, "usage"), intent)
        done.append(told)
    return done


def _found(store: ArtifactStore, space: Thread) -> Iterator[tuple[Intent, list[Artifact], Partial]]:
    open_ = begun(Shelf(store, space, "usage"))
    shelves = [Shelf(store, space, name) for name in ("documents", "quarantine")] if open_ else []
    known = [record for shelf in shelves for record in shelf.records()]
    for intent in open_:
        refs = set(intent.ids)
        parts = [record for record in known if record.ref in refs]
        name = parts[0].name if parts else ""
        yield intent, parts, Partial(space, _ref_of(intent), name, len(parts), len(refs))


def _ref_of(intent: Intent) -> str:
    return intent.ids[0].rpartition(".")[0] if intent.ids else ""
