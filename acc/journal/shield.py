"""Writes leave the main thread, where a Ctrl-C may arrive at any instant.

Python raises an interrupt in the main thread alone. Between two instructions there it could leave a transaction open,
or a lock held, and every writer of the process would wait for ever. In another thread nothing is interrupted. Only
what an interrupt does not divide is used to wait: a primitive lock, and a queue that is written in C.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class _Errand:
    """Something to be done, and what came of it. ``done`` is held until then."""

    def __init__(self, context: Context, act: Callable[[], Any]) -> None:
        self.context, self.act = context, act
        self.value: Any = None
        self.error: BaseException | None = None
        self.done = _thread.allocate_lock()
        self.done.acquire()

    def go(self) -> None:
        """Do it."""
        try:
            self.value = self.context.run(self.act)
        except BaseException as error:
            self.error = error
        finally:
            self.done.release()


_Errands = SimpleQueue[_Errand | None]


class Shield:
    """Runs functions of the main thread in a thread of its own; those of other threads where they are."""

    def __init__(self) -> None:
        self._errands: _Errands = SimpleQueue()
        self._is_begun = self._is_closed = False

    def run(self, act: Callable[[], T]) -> T:
        """Return what ``act`` returns. An interrupt does not stop it: it is done all the same, unseen."""
        if self._is_closed or threading.current_thread() is not threading.main_thread():
            return act()
        if not self._is_begun:
            _thread.start_new_thread(_work, (self._errands,))
            self._is_begun = True
        errand = _Errand(copy_context(), act)
        self._errands.put(errand)
        errand.done.acquire()
        if errand.error is not None:
            raise errand.error
        found: T = errand.value
        return found

    def close(self) -> None:
        """Let the thread end. What is run later runs where it is."""
        self._is_closed = True
        self._errands.put(None)


def _work(errands: _Errands) -> None:
    while (errand := errands.get()) is not None:
        errand.go()
        del errand  # what it refers to need not live until the next one
