"""Which threads and namespaces a user has: a shelf with a record for each, written with its first.

A namespace without a conversation has an entry too, a thread without a name: whoever erases a user
must find the documents and experiences of every agent of theirs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from acc.evidence.shelf import Shelf, namespace_of
from acc.store import Artifact, ArtifactStore, Thread


def enrol(store: ArtifactStore, thread: Thread, at: str) -> None:
    """Enter ``thread``, or a namespace, into the directory of its namespace; repeatable.

    Raises:
        StoreError: It cannot be written.
    """
    if not is_enrolled(store, thread):
        Shelf(store, namespace_of(thread), "threads").append([_entry(thread, at)])


def is_enrolled(store: ArtifactStore, thread: Thread) -> bool:
    """Whether it has an entry.

    Raises:
        StoreError: The store cannot be read.
    """
    records = Shelf(store, namespace_of(thread), "threads").records()
    return thread.key in {record.identity for record in records}


def enrolled(store: ArtifactStore, space: Thread) -> list[Thread]:
    """The threads of a namespace, in the order of their first turns.

    Raises:
        StoreError: The store cannot be read.
    """
    return threads_in(Shelf(store, space, "threads").records())


def threads_in(records: Iterable[Artifact]) -> list[Thread]:
    """The threads that entries name, each once."""
    return [thread for thread in _named(records) if thread.thread]


def spaces_in(records: Iterable[Artifact]) -> list[Thread]:
    """The namespaces that entries name, or the threads of which they name, each once."""
    spaces = map(namespace_of, _named(records))
    return list({space.key: space for space in spaces}.values())


def _named(records: Iterable[Artifact]) -> list[Thread]:
    names = (Thread(**json.loads(record.text)) for record in records)
    return list({thread.key: thread for thread in names}.values())


def _entry(thread: Thread, at: str) -> Artifact:
    return Artifact(
        id="", thread="", branch="", seq=0, turn=0, kind="thread",
        text=json.dumps(thread.model_dump(), ensure_ascii=False), identity=thread.key, at=at,
    )  # fmt: skip
