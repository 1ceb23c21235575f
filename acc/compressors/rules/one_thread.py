"""Products of small matrices on one thread: shared among more, they wait for each other.

The linear algebra of numpy divides even a product of 20 microseconds among all processors, and a
thread that is done turns in a busy loop. That gains little on an idle machine; where every
processor has work of its own, as with several workers, a turn takes four to eight times as long
(``benchmarks/keyless/turn_time.py`` shows it busy).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController


class _Limit:
    """One thread, for as long as anybody wants it; the setting is the whole process's.

    The last to leave restores what the first has found: were each to restore what itself had
    found, two at once could leave the process with one thread for good.
    """

    def __init__(self) -> None:
        self._libraries = ThreadpoolController()
        self._limit = ExitStack()
        self._lock = Lock()
        self._within = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._lock:
            if not self._within:
                self._limit.enter_context(self._libraries.limit(limits=1, user_api="blas"))
            self._within += 1
        try:
            yield
        finally:
            with self._lock:
                self._within -= 1
                if not self._within:
                    self._limit.close()


@cache
def _process() -> _Limit:
    return _Limit()


@contextmanager
def one_thread() -> Iterator[None]:
    """Within, the linear algebra of this process runs on one thread."""
    with _process().held():
        yield
