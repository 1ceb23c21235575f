"""The open threads of a store in this process: one log per thread, one step at a time."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from weakref import WeakValueDictionary

from acc.errors import ConflictError, raise_interrupt
from acc.logs import log_event
from acc.stores.finalizer import when_dropped
from acc.stores.protocol import ArtifactStore, Thread
from acc.thread.lease import kept_alive
from acc.thread.log import ThreadLog
from acc.thread.off_loop import PATIENCE, OffLoop

_LOG = logging.getLogger(__name__)

MOST_BYTES = 128 << 20
"""Limit of the memory of all logs (`ThreadLog.size`). Beyond it, the least recently used are evicted and
read again on demand."""


class _Mark:
    """The mark of a step that is running, with the task that runs it, if any."""

    def __init__(self) -> None:
        self.ended: Future[None] = Future()
        try:
            self._task = asyncio.current_task()
        except RuntimeError:
            self._task = None
        self._before = self._cancelled

    @property
    def is_cancelled(self) -> bool:
        """Whether the step is being cancelled."""
        return self._cancelled > self._before

    @property
    def _cancelled(self) -> int:
        return 0 if self._task is None else self._task.cancelling()


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
        # A mark that its step did not remove, because that was interrupted, ends with the step.
        self._under_way: WeakValueDictionary[str, _Mark] = WeakValueDictionary()
        self._open: dict[str, set[tuple[str, int]]] = {}
        self.off_loop = OffLoop()
        logs = self._logs
        when_dropped(
            self,
            lambda: _flushed(logs),
            "the memory was not closed, and its pending records cannot be written",
        )

    @contextmanager
    def stepping(self, thread: Thread) -> Iterator[None]:
        """Mark a step of ``thread`` as running; a `ConflictError` if another one is running.

        If the step is interrupted, as by Ctrl-C, the thread's log is read again on the next use.
        """
        mine = _Mark()
        try:
            with self._guard:
                if self._under_way.setdefault(thread.key, mine) is not mine:
                    raise ConflictError(
                        "another step of this thread is running",
                        where=f"thread {thread.thread!r}",
                        hint="wait until it ends, then step from the state that it committed",
                    )
            shared = self.store.shared
            lease = kept_alive(lambda: self._renew(thread.key)) if shared else nullcontext()
            with self.intact(thread), lease:
                yield
        finally:
            with self._guard:
                if self._under_way.get(thread.key) is mine:
                    del self._under_way[thread.key]
            mine.ended.set_result(None)

    async def after_cancelled(self, key: str) -> None:
        """Wait for a step of the thread that is being cancelled, a short while; not for a running one."""
        mark = self._under_way.get(key)
        if mark is not None and mark.is_cancelled:
            await asyncio.wait([asyncio.wrap_future(mark.ended)], timeout=PATIENCE)

    @contextmanager
    def intact(self, thread: Thread) -> Iterator[None]:
        """Drop the thread's log if the block is interrupted: its copy of the store may be incomplete."""
        try:
            try:
                yield
            except Exception as error:
                raise_interrupt(error)
                raise
        except (Exception, asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException:
            with self.lock:
                if thread.key in self._logs:
                    self._drop(thread.key)
            raise

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
        log = ThreadLog(self.store, thread, now)
        finish = read(log)
        with self.lock:
            if thread.key not in self._logs:  # otherwise another caller was faster
                if replaced != self._replaced:
                    log = ThreadLog(self.store, thread, now)
                    finish = read(log)
                # A log that was opened, written and evicted meanwhile has added records.
                log.expire()
                finish()
                log.claims.open |= self._open.pop(thread.key, set())
                self._logs[thread.key] = log
            return self._used(thread.key)

    def drop_erased(self, thread: Thread) -> bool:
        """Drop the thread's log, because another process erased from it; False if a step is running.

        Its queued records may hold what was erased, so they are not written.
        """
        with self.lock:
            if thread.key in self._under_way:
                return False
            if thread.key in self._logs:
                self._drop(thread.key)
                log_event(
                    _LOG, logging.INFO, "read_again", "a thread is read again: its audit log was rewritten",
                    thread=thread.thread, key=thread.key,
                )  # fmt: skip
            return True

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

    def _renew(self, key: str) -> bool:
        """Renew the claim of the step that is running in a thread; return whether one is."""
        if (log := self._logs.get(key)) is not None and key in self._under_way:
            log.claims.renew()
        return key in self._under_way

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
        self._drop(key)
        log_event(
            _LOG, logging.DEBUG, "unloaded", "a thread's log left the process and is read again on demand",
            key=key,
        )  # fmt: skip

    def _drop(self, key: str) -> None:
        """Drop an open log; keep which of its claims have no commit that a caller received."""
        log = self._logs.pop(key)
        del self._sizes[key]
        if log.claims.open:
            self._open[key] = log.claims.open


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
