"""Whether a function takes time in proportion to the length of what it reads."""

from __future__ import annotations

import time
from collections.abc import Callable


def ratio(function: Callable[[str], object], unit: str, size: int) -> float:
    """How many times as long a text of eight times ``size`` takes: about 8, or 64 if quadratic."""

    def least(chars: int) -> float:
        text, times = (unit * (chars // len(unit) + 1))[:chars], []
        for _ in range(3):
            begun = time.process_time()
            function(text)
            times.append(time.process_time() - begun)
        return min(times)

    return least(8 * size) / max(least(size), 1e-3)
