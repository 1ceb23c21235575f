"""Intents: changes of a namespace's evidence that complete after a kill.

An intent is an event on the namespace's usage shelf. It counts once its last part is written: before that, nothing has
happened. After a later kill, the next change of the kind completes it. A mark (`acc.evidence.marks`) tells the
next opening of the memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import filter as filter_names
from typing import NamedTuple

from acc.evidence.marks import Marks, NoMarks
from acc.stores.protocol import RECORD_BYTES, Artifact, ArtifactStore, Thread, managed
from acc.stores.shelf import Shelf
from acc.stores.tombstones import tombstone_of

INTENT, DONE = "intent", "done"


class Intent(NamedTuple):
    """A change that was begun: ``prune`` or ``ingest``.

    ``ids`` are those of the records, or their refs if they have no ids yet.
    """

    id: str
    act: str
    ids: tuple[str, ...]
    at: str


def begin_intent(shelf: Shelf, act: str, ids: Sequence[str], at: str) -> Intent:
    """Record that ``act`` is to be done to ``ids``. On return it will complete, even after a kill."""
    identity = hashlib.sha256(json.dumps([act, at, *ids]).encode()).hexdigest()[:24]
    chunks = list(_chunks(ids))
    shelf.append(
        [
            usage_record(
                INTENT, json.dumps({"act": act, "ids": chunk}), at,
                identity=identity, part=part, parts=len(chunks),
            )
            for part, chunk in enumerate(chunks)
        ]
    )  # fmt: skip
    return Intent(identity, act, tuple(ids), at)


def end_intent(shelf: Shelf, intent: Intent) -> None:
    """Record that the intent is done."""
    shelf.append([usage_record(DONE, "", intent.at, identity=intent.id)])


def open_intents(records: Iterable[Artifact], act: str = "") -> list[Intent]:
    """Return the unfinished intents among the records of a usage shelf, all or those of one act."""
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
    found = (
        _read_intent(key, sorted(group, key=lambda a: a.part))
        for key, group in parts.items()
        if key not in done and len(group) == group[0].parts
    )
    return [intent for intent in found if act in ("", intent.act)]


def _read_intent(key: str, parts: Sequence[Artifact]) -> Intent:
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


def usage_record(
    name: str, text: str, at: str, *, identity: str = "", part: int = 0, parts: int = 1
) -> Artifact:
    """Return a record of a usage shelf, which the shelf gives its place."""
    return Artifact(
        id="", thread="", branch="", seq=0, turn=0, kind="usage", name=name, text=text,
        identity=identity, part=part, parts=parts, at=at,
    )  # fmt: skip


PRUNE = "prune-*.json"
"""Pattern of the names of marks of prunes; the star stands for the namespace's key."""
_PRUNE = "prune"


class Prunes:
    """Prunes of a namespace that, once begun, complete even across processes."""

    def __init__(self, usage: Shelf, now: Callable[[], str], marks: Marks | None = None) -> None:
        self._usage = usage
        self._now = now
        self._marks = marks or NoMarks()
        self._mark = PRUNE.replace("*", usage.space.key)

    def prune(self, ids: Sequence[str]) -> None:
        """Replace the records of these ids by tombstones."""
        if not ids:
            return
        managed(self._usage.store)
        self.resume()  # a failed prune must finish first: its mark uses the same file
        at = self._now()
        self._marks.write(self._mark, {"space": self._usage.space.model_dump(), "at": at})
        self._complete(begin_intent(self._usage, _PRUNE, ids, at))
        self._marks.remove(self._mark)

    def resume(self) -> int:
        """Complete unfinished prunes; return their number."""
        intents = open_intents(self._usage.records(), _PRUNE)
        for intent in intents:
            self._complete(intent)
        self._marks.remove(self._mark)
        return len(intents)

    def was_completed(self, at: str) -> bool:
        """Return whether the prune that began at ``at`` is complete."""
        return any(record.name == DONE and record.at == at for record in self._usage.records())

    def _complete(self, intent: Intent) -> None:
        bury(self._usage.store, self._usage.space, intent.ids, self._now())
        end_intent(self._usage, intent)


def marked_prunes(marks: Marks) -> Iterator[tuple[Thread, str]]:
    """Yield namespaces with a possibly unfinished prune and its start, by their marks."""
    for name in filter_names(marks.names(), PRUNE):
        said = marks.read(name)
        if said is not None:
            yield Thread(**said["space"]), said["at"]


def bury(store: ArtifactStore, space: Thread, ids: Sequence[str], at: str) -> None:
    """Replace the records of these ids by tombstones; idempotent."""
    records = store.get(space.tenant, ids)
    tombstones = [tombstone_of(a, "pruned", at) for a in records if a.kind != "tombstone"]
    if tombstones:
        managed(store).replace(space.tenant, tombstones)
