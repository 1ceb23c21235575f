"""Calls that run in another thread: beside an event loop, or where no Ctrl-C arrives."""

from __future__ import annotations

import _thread
import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from queue import SimpleQueue
from typing import TypeVar

THREADS = 4

T = TypeVar("T")


def shielded(act: Callable[[], T]) -> T:
    """Return what ``act`` returns; from the main thread it runs in another one, where no Ctrl-C arrives.

    Python raises an interrupt in the main thread alone. Between two instructions there it could leave a transaction
    open, or a lock held, and every writer of the process would wait for ever. What was interrupted is done all the
    same, unseen. The queue is written in C: an interrupt does not divide what it does.
    """
    if threading.current_thread() is not threading.main_thread():
        return act()
    done: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()
    context = copy_context()

    def work() -> None:
        try:
            done.put((context.run(act), None))
        except BaseException as error:
            done.put((None, error))

    try:
        _thread.start_new_thread(work, ())
    except RuntimeError:  # the interpreter ends: it starts no threads any more
        return act()
    value, error = done.get()
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


class Beside:
    """Runs what may block beside an event loop, in threads that several loops share and a forked child makes anew.

    A call that is cancelled may still be carried out, whole or not at all. The step is repeated as after a crash: it
    finds what was written.
    """

    def __init__(self) -> None:
        self._threads: tuple[int, ThreadPoolExecutor] | None = None

    async def run(self, act: Callable[[], T]) -> T:
        """Return what ``act`` returns; it runs in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._pool(), act)

    def close(self) -> None:
        """Let the threads end when they are done."""
        self._pool().shutdown(wait=False)

    def _pool(self) -> ThreadPoolExecutor:
        process = os.getpid()
        if self._threads is None or self._threads[0] != process:  # threads do not survive a fork
            self._threads = process, ThreadPoolExecutor(THREADS, "acc-journal")
        return self._threads[1]
