"""The open threads of a store in this process: one log per thread, one step at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from acc.errors import ConflictError
from acc.stores.directory import Directory
from acc.stores.finalizer import when_dropped
from acc.stores.protocol import ArtifactStore, Thread
from acc.thread.log import ThreadLog

MOST_LOGS = 64
"""Maximum number of logs in memory; the least recently used is evicted and read again on demand."""


class ThreadRegistry:
    """The open threads of one store, shared by all memories that use it.

    When the last of these memories is dropped without `close`, queued records are written. ``lock``
    is held while a log is read or written.
    """

    def __init__(self, store: ArtifactStore) -> None:
        self.store = store
        self.lock = threading.RLock()
        self._guard = (
            threading.Lock()
        )  # never held during I/O: a cancelled step must not wait for it
        self._logs: OrderedDict[str, ThreadLog] = OrderedDict()
        self._directory = Directory(store)
        self._under_way: set[str] = set()
        logs = self._logs
        when_dropped(
            self,
            lambda: _flushed(logs),
            "the memory was not closed, and its pending records cannot be written",
        )

    @contextmanager
    def stepping(self, thread: Thread) -> Iterator[None]:
        """Mark a step of ``thread`` as running; a `ConflictError` if another one is running."""
        with self._guard:
            if thread.key in self._under_way:
                raise ConflictError(
                    "another step of this thread is running",
                    where=f"thread {thread.thread!r}",
                    hint="wait until it ends, then step from the state that it committed",
                )
            self._under_way.add(thread.key)
        try:
            yield
        finally:
            with self._guard:
                self._under_way.discard(thread.key)

    def log(
        self, thread: Thread, now: Callable[[], str], recover: Callable[[ThreadLog], None]
    ) -> ThreadLog:
        """Return the thread's log; read it from the store and call ``recover`` if it is not open."""
        with self.lock:
            log = self._logs.get(thread.key)
            if log is None:
                log = ThreadLog(self.store, thread, now, self._directory)
                recover(log)
                self._logs[thread.key] = log
            self._logs.move_to_end(thread.key)
            self._evict_logs()
            return log

    def forget(self) -> None:
        """Drop every log; the next use reads it again. Call it after records were replaced or deleted."""
        with self.lock:
            for key, log in list(self._logs.items()):
                log.flush()
                del self._logs[key]

    def close(self) -> None:
        """Flush every log, even if one fails; then raise the first error."""
        with self.lock:
            _flushed(self._logs)
        with _GUARD:
            if _OPEN.get(id(self.store)) is self:
                del _OPEN[id(self.store)]

    def _evict_logs(self) -> None:
        idle = [key for key in self._logs if key not in self._under_way]
        for key in idle[: max(0, len(self._logs) - MOST_LOGS)]:
            if key != next(reversed(self._logs)):
                self._logs[key].flush()
                del self._logs[key]


def _flushed(logs: OrderedDict[str, ThreadLog]) -> None:
    errors = []
    for key, log in list(logs.items()):
        try:
            log.flush()
            del logs[key]
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


_OPEN: WeakValueDictionary[int, ThreadRegistry] = WeakValueDictionary()
_GUARD = threading.Lock()


def registry_of(store: ArtifactStore) -> ThreadRegistry:
    """Return the registry of ``store``; all memories on the store share it until one closes it."""
    with _GUARD:
        found = _OPEN.get(id(store))
        if found is None:
            found = _OPEN[id(store)] = ThreadRegistry(store)
        return found
