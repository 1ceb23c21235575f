"""The journal for event loops: each method runs in a small pool of threads, so that the loop goes on.

A call that is cancelled may still be carried out, whole or not at all. The step is repeated as after a crash: it finds
what was written.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from itertools import islice
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from acc.journal.journal import Journal, Latest

THREADS = 4

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    method: Callable[Concatenate[Journal, P], T],
) -> Callable[Concatenate[AsyncJournal, P], Awaitable[T]]:
    @wraps(method)
    async def run(self: AsyncJournal, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.run(partial(method, self.journal, *args, **kwargs))

    return run


def _streamed(
    method: Callable[Concatenate[Journal, P], Iterator[T]],
) -> Callable[Concatenate[AsyncJournal, P], AsyncIterator[T]]:
    @wraps(method)
    async def run(self: AsyncJournal, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        found = method(self.journal, *args, **kwargs)
        while page := await self.run(partial(_some, found)):
            for each in page:
                yield each

    return run


def _some(found: Iterator[T], most: int = 64) -> list[T]:
    return list(islice(found, most))


class AsyncJournal:
    """Does what a `Journal` does without blocking the event loop. Several loops may share it.

    Attributes:
        journal: The journal.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._threads: tuple[int, ThreadPoolExecutor] | None = None

    async def run(self, act: Callable[[], T]) -> T:
        """Return what ``act`` returns; it runs in one of the journal's threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool(), act)

    def _pool(self) -> ThreadPoolExecutor:
        if (
            self._threads is None or self._threads[0] != os.getpid()
        ):  # threads do not survive a fork
            self._threads = os.getpid(), ThreadPoolExecutor(THREADS, "acc-journal")
        return self._threads[1]

    append = _awaited(Journal.append)
    commit = _awaited(Journal.commit)
    append_and_commit = _awaited(Journal.append_and_commit)
    fork = _awaited(Journal.fork)
    take_over = _awaited(Journal.take_over)
    head = _awaited(Journal.head)
    texts = _awaited(Journal.texts)
    waiting = _awaited(Journal.waiting)
    blank = _awaited(Journal.blank)
    delete_thread = _awaited(Journal.delete_thread)
    was_deleted = _awaited(Journal.was_deleted)
    import_ = _awaited(Journal.import_)
    tombstones = _awaited(Journal.tombstones)
    was_erased = _awaited(Journal.was_erased)
    backup = _awaited(Journal.backup)
    check_pages = _awaited(Journal.check_pages)
    verify = _awaited(Journal.verify)
    messages = _streamed(Journal.messages)
    commits = _streamed(Journal.commits)
    heads = _streamed(Journal.heads)
    threads = _streamed(Journal.threads)
    export = _streamed(Journal.export)

    async def state(self, *args: Any, **kwargs: Any) -> Any:
        """See `Journal.state`."""
        return await self.run(partial(self.journal.state, *args, **kwargs))

    async def latest(self, *args: Any, **kwargs: Any) -> Latest[Any]:
        """See `Journal.latest`."""
        return await self.run(partial(self.journal.latest, *args, **kwargs))

    async def aclose(self) -> None:
        """Close the journal."""
        await self.run(self.journal.close)
        self._pool().shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
