"""How long functions take, compared within one run: a machine that is busy makes both sides slower."""

from __future__ import annotations

import time
from collections.abc import Callable

Reader = Callable[[str], object]


def is_linear(function: Reader, text: str) -> bool:
    """Whether a text takes less than 24 times as long as its first eighth: 8 is linear, 64 quadratic.

    It is measured up to three times, since something may have come in between, each time with a text of its own.
    """
    eighth = len(text) // 8
    function(text[:eighth])  # loads what is slow
    return any(
        _seconds(function, text[: len(text) - n])
        < 24 * max(_seconds(function, text[: eighth - n]), 2e-4)
        for n in range(3)
    )


def is_quicker(function: Reader, text: str, other: str) -> bool:
    """Whether a function takes less time for a text than for another one."""
    function(other[:9])  # loads what is slow
    return any(
        _seconds(function, text[: len(text) - n]) < _seconds(function, other[: len(other) - n])
        for n in range(3)
    )


def _seconds(function: Reader, text: str) -> float:
    begun = time.process_time()
    function(text)
    return time.process_time() - begun
