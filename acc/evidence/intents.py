"""Intents: notes of planned changes to a namespace, which make a change atomic across a kill.

An intent and its end are events on the namespace's usage shelf. An intent counts once its last part
is written: after an earlier kill, nothing has happened. After a later kill, `unfinished` finds the
intent, and the next opening of the namespace completes it and reports it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from acc.evidence import marks
from acc.stores.protocol import RECORD_BYTES, Artifact, ArtifactStore, Thread
from acc.stores.shelf import Shelf, buried, managed

INTENT, DONE = "intent", "done"


class Intent(NamedTuple):
    """A change that was begun.

    Attributes:
        id: Its id.
        act: The kind of change: ``prune``, ``ingest``.
        ids: Ids of the records concerned, or their refs if they have no ids yet.
        at: Time of its start.
    """

    id: str
    act: str
    ids: tuple[str, ...]
    at: str


def begin(shelf: Shelf, act: str, ids: Sequence[str], at: str) -> Intent:
    """Record that ``act`` is to be done to ``ids``. On return it will complete, even after a kill.

    Raises:
        StoreError: The intent cannot be written; nothing has happened.
    """
    identity = hashlib.sha256(json.dumps([act, at, *ids]).encode()).hexdigest()[:24]
    chunks = list(_chunks(ids))
    shelf.append(
        [
            _record(INTENT, json.dumps({"act": act, "ids": chunk}), identity, at, part, len(chunks))
            for part, chunk in enumerate(chunks)
        ]
    )
    return Intent(identity, act, tuple(ids), at)


def end(shelf: Shelf, intent: Intent) -> None:
    """Record that the intent is done."""
    shelf.append([_record(DONE, "", intent.id, intent.at, 0, 1)])


def unfinished(records: Iterable[Artifact]) -> list[Intent]:
    """Return the unfinished intents among the records of a usage shelf."""
    parts: dict[str, list[Artifact]] = {}
    done = set()
    for record in records:
        if record.name == INTENT:
            if record.part == 0:  # the same act may begin again within the same timestamp
                parts[record.identity] = []
                done.discard(record.identity)
            parts.setdefault(record.identity, []).append(record)
        elif record.name == DONE:
            done.add(record.identity)
    return [
        _read(key, sorted(found, key=lambda a: a.part))
        for key, found in parts.items()
        if key not in done and len(found) == found[0].parts
    ]


def records_of(records: Iterable[Artifact], intents: Iterable[Intent]) -> list[Artifact]:
    """Return the records of ``intents``, to write them again."""
    ids = {intent.id for intent in intents}
    return [record for record in records if record.name == INTENT and record.identity in ids]


def ended(records: Iterable[Artifact], at: str) -> bool:
    """Return whether an intent that began at ``at`` is ended, from the records of a usage shelf."""
    return any(record.name == DONE and record.at == at for record in records)


def _read(key: str, parts: Sequence[Artifact]) -> Intent:
    bodies = [json.loads(part.text) for part in parts]
    ids = tuple(id_ for body in bodies for id_ in body["ids"])
    return Intent(key, bodies[0]["act"], ids, parts[0].at)


def _chunks(ids: Sequence[str]) -> Iterable[list[str]]:
    chunk: list[str] = []
    room = RECORD_BYTES - 200
    for id_ in ids:
        size = len(json.dumps(id_)) + 2
        if chunk and size > room:
            yield chunk
            chunk, room = [], RECORD_BYTES - 200
        chunk.append(id_)
        room -= size
    yield chunk


def _record(name: str, text: str, identity: str, at: str, part: int, parts: int) -> Artifact:
    return Artifact(
        id="", thread="", branch="", seq=0, turn=0, kind="usage", name=name, text=text,
        identity=identity, part=part, parts=parts, at=at,
    )  # fmt: skip


_NOTE = "prune-{}.json"
_PRUNE = "prune"


class Standing:
    """Prunes that, once begun, complete even across processes.

    Args:
        usage: The namespace's usage shelf.
        now: Returns the time in the format of records.
        folder: The memory's folder, if it has one.
    """

    def __init__(self, usage: Shelf, now: Callable[[], str], folder: Path | None = None) -> None:
        self._usage = usage
        self._now = now
        self._note = folder / _NOTE.format(usage.space.key) if folder is not None else None

    def prune(self, ids: Sequence[str]) -> None:
        """Replace the records of these ids by tombstones.

        Raises:
            StoreError: The prune failed; if it was begun, `resume` does the rest.
        """
        if not ids:
            return
        managed(self._usage.store)
        self.resume()  # a failed prune must finish first: its note uses the same file
        at = self._now()
        if self._note is not None:
            marks.begin(self._note, {"space": self._usage.space.model_dump(), "at": at})
        intent = begin(self._usage, _PRUNE, ids, at)
        self._done(intent)
        self._forget()

    def resume(self) -> int:
        """Complete unfinished prunes; return their number."""
        intents = [each for each in unfinished(self._usage.records()) if each.act == _PRUNE]
        for intent in intents:
            self._done(intent)
        self._forget()
        return len(intents)

    def has_happened(self, at: str) -> bool:
        """Return whether the prune noted at ``at`` was ended, now or before."""
        return ended(self._usage.records(), at)

    def _forget(self) -> None:
        if self._note is not None:
            marks.wipe(self._note)

    def _done(self, intent: Intent) -> None:
        bury(self._usage.store, self._usage.space, intent.ids, self._now())
        end(self._usage, intent)


def noted(folder: Path) -> Iterator[tuple[Thread, str]]:
    """Yield namespaces with a possibly unfinished prune and its start, by the notes in ``folder``.

    Raises:
        StoreError: A note cannot be read.
    """
    for path in notes(folder):
        said = marks.read(path)
        if said is not None:
            yield Thread(**said["space"]), said["at"]


def notes(folder: Path) -> list[Path]:
    """Return the paths of the notes in ``folder``."""
    return sorted(folder.glob(_NOTE.format("*")))


def bury(store: ArtifactStore, space: Thread, ids: Sequence[str], at: str) -> None:
    """Replace the records of these ids by tombstones; idempotent."""
    records = store.get(space.tenant, ids)
    graves = [buried(a, "pruned", at) for a in records if a.kind != "tombstone"]
    if graves:
        managed(store).replace(space.tenant, graves)
