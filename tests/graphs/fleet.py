"""Worker processes that share a Chroma server and a PostgreSQL, and no folder."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from urllib.parse import urlsplit

from acc import MemoryController, Settings
from acc.stores.chroma.store import ChromaArtifactStore

Where = tuple[str, str]
"""The addresses of the Chroma server and of the database of the audit logs."""


def opened(where: Where) -> MemoryController:
    server = urlsplit(where[0])
    store = ChromaArtifactStore.server(str(server.hostname), int(server.port or 0))
    return MemoryController(store, settings=Settings(audit=where[1]))


class Worker:
    """What a worker process has open, and how often it has read a turn, where a test counts that."""

    memory: MemoryController
    read = 0

    @classmethod
    def begin(cls, where: Where) -> None:
        cls.memory = opened(where)


@contextmanager
def workers(where: Where, count: int = 2) -> Iterator[list[ProcessPoolExecutor]]:
    """Yield pools of one process each."""
    context = multiprocessing.get_context("spawn")
    pools = [
        ProcessPoolExecutor(1, context, initializer=Worker.begin, initargs=(where,))
        for _ in range(count)
    ]
    try:
        yield pools
    finally:
        for pool in pools:
            pool.shutdown(cancel_futures=True)
