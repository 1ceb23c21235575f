"""A cache of functions of texts, bounded by the size of the texts.

`functools.lru_cache` bounds the number of calls. With texts of 16,000 characters, its entries would take
hundreds of times the memory that they take with sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

MOST_CHARS = 1 << 20
"""Limit of the characters of all texts in one cache."""


def cached_by_text(function: Callable[P, R]) -> Callable[P, R]:
    """Cache ``function``, whose arguments are texts, tuples of texts, or small values.

    The cache holds two generations of calls, each of at most half of `MOST_CHARS`. A call that is used moves
    to the younger one. When that is full, the older one goes. Safe for use by any number of threads.
    """
    young: dict[Hashable, R] = {}
    old: dict[Hashable, R] = {}
    size = 0
    missing = object()

    @wraps(function)
    def cached(*args: P.args, **kwargs: P.kwargs) -> R:
        nonlocal young, old, size
        key = (*args, *kwargs.items()) if kwargs else args
        found: Any = young.get(key, missing)
        if found is not missing:
            return found  # type: ignore[no-any-return]
        found = old.get(key, missing)
        result: R = function(*args, **kwargs) if found is missing else found
        size += _chars(key)
        if size > MOST_CHARS // 2:
            young, old, size = {}, young, _chars(key)
        young[key] = result
        return result

    return cached


def _chars(values: tuple[Any, ...]) -> int:
    """Return the number of characters in ``values``; each value counts at least as a short text."""
    count = 0
    for value in values:
        count += _chars(value) if isinstance(value, tuple) else 64
        count += len(value) if isinstance(value, str) else 0
    return count
