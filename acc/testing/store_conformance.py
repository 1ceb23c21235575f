"""`check_store`: what every backend of `acc.store.ArtifactStore` has to do, proved by doing it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from acc.store import ArtifactStore, DenseStore, ManagedStore
from acc.testing.managed_promises import DENSE, MANAGED
from acc.testing.store_promises import PROMISES, Case, ends

T = TypeVar("T")


def check_store(open_store: Callable[[], ArtifactStore], *, reopens: bool = True) -> None:
    """Prove that a backend keeps what `acc.store.ArtifactStore` promises.

    For a backend's author, in a test of any framework: ``check_store(lambda: MyStore(path))``.
    What `acc.store.ManagedStore` and `acc.store.DenseStore` add is proved too where it is offered.
    Each run uses tenants of its own, so that a store which holds data may be checked too.

    Args:
        open_store: Opens the store; called again after it was closed.
        reopens: Whether the store, opened again, has what was added before.

    Raises:
        AssertionError: At the first breach: which promise, and how it was broken.
    """
    case = Case(_proved("It opens.", open_store))
    try:
        offered = PROMISES
        if isinstance(case.store, ManagedStore):
            offered = (*offered, *MANAGED)
        if isinstance(case.store, DenseStore):
            offered = (*offered, *DENSE)
        for promise in offered:
            _proved(promise.__doc__ or promise.__name__, partial(promise, case))
        kept = [case.artifact(seq, f"kept {seq}", thread="kept") for seq in range(1, 4)]
        _proved("It closes, more than once, and for good.", partial(ends, case, kept))
        if reopens:
            case.store = _proved("It opens again.", open_store)
            _proved("What was added outlives a close.", partial(case.expect, kept))
    except BaseException:
        with suppress(Exception):  # the first breach is the one to tell
            case.store.close()
        raise
    _proved("It closes after use.", case.store.close)


def _proved(promise: str, act: Callable[[], T]) -> T:
    try:
        return act()
    except AssertionError as breach:
        raise AssertionError(f"{promise} It does not: {breach}") from breach
    except Exception as error:
        broken = f"{promise} It does not: {type(error).__name__}: {error}"
        raise AssertionError(broken) from error
