"""Products of small matrices on one thread: shared among more, they wait for each other.

The linear algebra of numpy divides even a product of 20 microseconds among all processors, and a
thread that is done turns in a busy loop. That gains little on an idle machine; where every
processor has work of its own, as with several workers, a turn takes several times as long
(``docs/keyless.md``, Time).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import RLock

from threadpoolctl import ThreadpoolController

_ALONE = RLock()
"""The setting is the whole process's: of two threads that overlap, one could restore the other's."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Within, the linear algebra of this process runs on one thread, for one caller at a time."""
    with _ALONE, _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()
