"""The paper's deletion by what results were worth, and by both: utilities are known in its study alone.

history(i)  = freq_t(i) > n  and  mean utility(i) <= beta
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from acc.errors import ConfigurationError
from acc.evidence.policies import RecordUse


@dataclass(frozen=True)
class RatedUse(RecordUse):
    """A record and its use, with the known utilities of its results."""

    utilities: Sequence[float] = ()

    @property
    def mean_utility(self) -> float | None:
        """The mean of its utilities; None if there is none."""
        return sum(self.utilities) / len(self.utilities) if self.utilities else None


Deletion: TypeAlias = Callable[[Sequence[RatedUse], int], Mapping[str, str]]
"""Takes the records and a time. Returns why each record goes, by its key, without those that stay."""


def _check(is_fit: bool, policy: object, hint: str) -> None:
    if not is_fit:
        what = f"the settings are not valid: {policy}"
        raise ConfigurationError(what, where=type(policy).__name__, hint=f"use {hint}")


@dataclass(frozen=True)
class History:
    """Deletes what was retrieved more than ``n`` times with a mean utility of at most ``beta``.

    Retrievals of an unknown utility do not count.
    """

    n: int = 5
    beta: float = 0.5

    def __post_init__(self) -> None:
        _check(self.n >= 0 and math.isfinite(self.beta), self, "n >= 0 and a finite beta")

    def __call__(self, usages: Sequence[RatedUse], t: int) -> dict[str, str]:
        """Apply freq_t > n and mean utility <= beta."""
        doomed = {}
        for usage in usages:
            mean, times = usage.mean_utility, len(usage.utilities)
            if mean is not None and times > self.n and mean <= self.beta:
                why = f"history: mean utility {mean:.3g} of {times}, over {self.beta:g} needed"
                doomed[usage.key] = why
        return doomed


@dataclass(frozen=True)
class Capacity:
    """Keeps at most ``limit`` records: the least useful ones beyond it go.

    Without utilities a record has 0. Of the same utility, the least retrieved goes, then the oldest.
    """

    limit: int = 100

    def __post_init__(self) -> None:
        _check(self.limit >= 0, self, "a limit of 0 or more")

    def __call__(self, usages: Sequence[RatedUse], t: int) -> dict[str, str]:
        """Delete what is over the limit."""
        worth = {usage.key: usage.mean_utility or 0.0 for usage in usages}
        found = sorted(usages, key=lambda u: (worth[u.key], len(u.retrieved), u.order))
        over = found[: max(0, len(found) - self.limit)]
        return {u.key: f"capacity: over {self.limit}, utility {worth[u.key]:.3g}" for u in over}
