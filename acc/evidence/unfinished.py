"""Notes of unfinished work, by which a change completes or is undone after a kill.

A mark is a small file in the memory's folder. An intent is an event on a namespace's usage shelf: it
counts once its last part is written. After an earlier kill, nothing has happened. After a later
kill, the next opening of the memory finds the mark or the intent, completes the work and reports it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from acc.audit.folder import folder_beside
from acc.errors import StoreError
from acc.folders import opened_private, private_folder, sync_folder, synced
from acc.stores.protocol import RECORD_BYTES, Artifact, ArtifactStore, Thread, managed
from acc.stores.shelf import Shelf
from acc.stores.tombstones import tombstone_of

if TYPE_CHECKING:
    from acc.memory import Memory

_HALF = ".half"


def folders(memory: Memory) -> list[Path]:
    """Return the folders of a memory's files: the audit logs' parent, and an embedded store's."""
    found = (folder_beside(memory.settings.audit), getattr(memory.artifacts, "directory", None))
    return list(dict.fromkeys(folder for folder in found if folder is not None))


def marks_folder(memory: Memory) -> Path | None:
    """Return the folder of a memory's marks; None if nothing outlives the process."""
    return next(iter(folders(memory)), None)


def write_mark(path: Path, value: Any) -> None:
    """Write ``value`` to ``path`` atomically and durably."""
    half = half_of(path)
    try:
        private_folder(path.parent)
        half.unlink(missing_ok=True)
        with opened_private(half, "xb") as file:
            file.write(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
            synced(file)
        os.replace(half, path)
        sync_folder(path.parent)
    except OSError as error:
        remove_mark(half)
        raise StoreError(
            f"the note of the work cannot be written, and nothing was done: "
            f"{error.strerror or error}",
            where=str(path),
            hint="free disk space, or give this user write access to the folder",
        ) from error


def read_mark(path: Path) -> Any:
    """Return the value of the mark at ``path``; None if there is none. Drops a partial mark."""
    try:
        remove_mark(half_of(path))
        if not path.exists():
            return None
        return json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
    except (OSError, ValueError) as error:
        raise StoreError(
            "the note of interrupted work cannot be read",
            where=str(path),
            hint="remove this file, and start the same work again",
        ) from error


def remove_mark(path: Path) -> None:
    """Remove the mark atomically, then overwrite and delete its content."""
    if path.exists():
        if not path.name.endswith(_HALF):
            # From here on the mark counts as partial: a file of zeros must not be read as a mark.
            path = path.replace(half_of(path))
        with path.open("r+b") as file:
            file.write(bytes(path.stat().st_size))
            synced(file)
        path.unlink()


def half_of(path: Path) -> Path:
    """Return the path of a file while it is written."""
    return path.with_name(f".{path.name}{_HALF}")


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
            _record(INTENT, json.dumps({"act": act, "ids": chunk}), identity, at, part, len(chunks))
            for part, chunk in enumerate(chunks)
        ]
    )
    return Intent(identity, act, tuple(ids), at)


def end_intent(shelf: Shelf, intent: Intent) -> None:
    """Record that the intent is done."""
    shelf.append([_record(DONE, "", intent.id, intent.at, 0, 1)])


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


def _record(name: str, text: str, identity: str, at: str, part: int, parts: int) -> Artifact:
    return Artifact(
        id="", thread="", branch="", seq=0, turn=0, kind="usage", name=name, text=text,
        identity=identity, part=part, parts=parts, at=at,
    )  # fmt: skip


_PRUNE_MARK = "prune-{}.json"
_PRUNE = "prune"


class Prunes:
    """Prunes of a namespace that, once begun, complete even across processes."""

    def __init__(self, usage: Shelf, now: Callable[[], str], folder: Path | None = None) -> None:
        self._usage = usage
        self._now = now
        self._mark = folder / _PRUNE_MARK.format(usage.space.key) if folder is not None else None

    def prune(self, ids: Sequence[str]) -> None:
        """Replace the records of these ids by tombstones."""
        if not ids:
            return
        managed(self._usage.store)
        self.resume()  # a failed prune must finish first: its mark uses the same file
        at = self._now()
        if self._mark is not None:
            write_mark(self._mark, {"space": self._usage.space.model_dump(), "at": at})
        self._complete(begin_intent(self._usage, _PRUNE, ids, at))
        self._remove_mark()

    def resume(self) -> int:
        """Complete unfinished prunes; return their number."""
        intents = open_intents(self._usage.records(), _PRUNE)
        for intent in intents:
            self._complete(intent)
        self._remove_mark()
        return len(intents)

    def was_completed(self, at: str) -> bool:
        """Return whether the prune that began at ``at`` is complete."""
        return any(record.name == DONE and record.at == at for record in self._usage.records())

    def _remove_mark(self) -> None:
        if self._mark is not None:
            remove_mark(self._mark)

    def _complete(self, intent: Intent) -> None:
        bury(self._usage.store, self._usage.space, intent.ids, self._now())
        end_intent(self._usage, intent)


def marked_prunes(folder: Path) -> Iterator[tuple[Thread, str]]:
    """Yield namespaces with a possibly unfinished prune and its start, by the marks in ``folder``."""
    for path in prune_marks(folder):
        said = read_mark(path)
        if said is not None:
            yield Thread(**said["space"]), said["at"]


def prune_marks(folder: Path) -> list[Path]:
    """Return the paths of the marks of prunes in ``folder``."""
    return sorted(folder.glob(_PRUNE_MARK.format("*")))


def bury(store: ArtifactStore, space: Thread, ids: Sequence[str], at: str) -> None:
    """Replace the records of these ids by tombstones; idempotent."""
    records = store.get(space.tenant, ids)
    tombstones = [tombstone_of(a, "pruned", at) for a in records if a.kind != "tombstone"]
    if tombstones:
        managed(store).replace(space.tenant, tombstones)
