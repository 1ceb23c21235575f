"""The open threads of a store in this process: one log per thread, one step at a time."""

from __future__ import annotations

import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from weakref import WeakValueDictionary

from acc.errors import ConflictError
from acc.stores.directory import Directory
from acc.stores.finalizer import when_dropped
from acc.stores.protocol import ArtifactStore, Thread
from acc.thread.lease import kept_alive
from acc.thread.log import ThreadLog

_LOG = logging.getLogger(__name__)

MOST_BYTES = 128 << 20
"""Limit of the memory of all logs (`ThreadLog.size`). Beyond it, the least recently used are evicted and
read again on demand."""


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
        self._sizes: Counter[str] = Counter()
        self._replaced = 0
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
            with (
                kept_alive(lambda: self._renew(thread.key)) if self.store.shared else nullcontext()
            ):
                yield
        finally:
            with self._guard:
                self._under_way.discard(thread.key)

    def log(
        self,
        thread: Thread,
        now: Callable[[], str],
        read: Callable[[ThreadLog], Callable[[], None]],
    ) -> ThreadLog:
        """Return the thread's log.

        If it is not open, ``read`` reads it from the store, and returns what is left to do under the lock.
        A caller that does not hold the lock lets other threads go on meanwhile: a long log takes seconds.
        """
        with self.lock:
            if thread.key in self._logs:
                return self._used(thread.key)
            replaced = self._replaced
        log = ThreadLog(self.store, thread, now, self._directory)
        finish = read(log)
        with self.lock:
            if thread.key not in self._logs:  # otherwise another caller was faster
                if replaced != self._replaced:
                    log = ThreadLog(self.store, thread, now, self._directory)
                    finish = read(log)
                # A log that was opened, written and evicted meanwhile has added records.
                log.expire()
                finish()
                self._logs[thread.key] = log
            return self._used(thread.key)

    def forget(self) -> None:
        """Drop every log; the next use reads it again. Call it after records were replaced or deleted."""
        with self.lock:
            self._replaced += 1
            for key in list(self._logs):
                self._evict(key)

    def close(self) -> None:
        """Flush every log, even if one fails; then raise the first error."""
        with self.lock:
            _flushed(self._logs)
        with _GUARD:
            if _OPEN.get(id(self.store)) is self:
                del _OPEN[id(self.store)]

    def _renew(self, key: str) -> None:
        """Renew the claim of the step that is running in a thread."""
        if (log := self._logs.get(key)) is not None:
            log.claims.renew()

    def _used(self, key: str) -> ThreadLog:
        """Return the open log ``key`` as the most recently used one; evict others beyond the limit."""
        log = self._logs[key]
        self._logs.move_to_end(key)
        self._sizes[key] = log.size
        total = self._sizes.total()
        for other in list(self._logs) if total > MOST_BYTES else ():
            if total <= MOST_BYTES:
                break
            if other != key and other not in self._under_way:
                total -= self._sizes[other]
                self._evict(other)
        return log

    def _evict(self, key: str) -> None:
        self._logs[key].flush()
        del self._logs[key], self._sizes[key]
        _LOG.debug("the log of thread %s left the memory and is read again on demand", key)


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
