"""Which threads a user has: a shelf with a record for each, written with its first turn."""

from __future__ import annotations

import json
from collections.abc import Iterable

from acc.evidence.shelf import Shelf, namespace_of
from acc.store import Artifact, ArtifactStore, Thread


def enrol(store: ArtifactStore, thread: Thread, at: str) -> None:
    """Enter ``thread`` into the directory of its namespace, unless it is there; repeatable.

    Raises:
        StoreError: It cannot be written.
    """
    shelf = Shelf(store, namespace_of(thread), "threads")
    if thread.key not in {record.identity for record in shelf.records()}:
        shelf.append([_entry(thread, at)])


def enrolled(store: ArtifactStore, space: Thread) -> list[Thread]:
    """The threads of a namespace, in the order of their first turns.

    Raises:
        StoreError: The store cannot be read.
    """
    return threads_in(Shelf(store, space, "threads").records())


def threads_in(records: Iterable[Artifact]) -> list[Thread]:
    """The threads that entries name, each once."""
    names = (Thread(**json.loads(record.text)) for record in records)
    return list({thread.key: thread for thread in names}.values())


def _entry(thread: Thread, at: str) -> Artifact:
    return Artifact(
        id="", thread="", branch="", seq=0, turn=0, kind="thread",
        text=json.dumps(thread.model_dump(), ensure_ascii=False), identity=thread.key, at=at,
    )  # fmt: skip
