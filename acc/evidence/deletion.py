"""Deletion policies: the paper's formulas.

arXiv 2505.16067, section 5.1, for a record i at the time t, with freq_t(i) its retrievals:

    period(i)   = freq_t(i) - freq_t'(i) <= alpha                 in the period from t' to t
    history(i)  = freq_t(i) > n  and  mean utility(i) <= beta
    combined(i) = period(i) * history(i)

The paper's combined product is an intersection, while its tables (the combined memory is
smaller than either) and text ("redundant records will be deleted ..., while low-quality
records will be deleted") are those of a union: `combined` offers both, the union by default.

The paper bounds the memory after a periodical deletion by alpha * (t' - t) * K, which is
negative, and 0 for alpha = 0. The right bound: K retrievals in each of t - t' executions are
K * (t - t') in all, and each survivor took at least alpha + 1 of them, so at most
floor(K * (t - t') / (alpha + 1)) survive, and what came within the period if it is spared.

They compose as `acc.evidence.composition` says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from acc.errors import ConfigurationError
from acc.evidence.composition import Deletion as Deletion  # what a policy of one's own is made from
from acc.evidence.composition import Doomed
from acc.evidence.usage import Usage


@dataclass(frozen=True)
class Keep(Deletion):
    """Deletes nothing."""

    def __call__(self, usages: Sequence[Usage], t: int) -> Doomed:
        """Nothing."""
        return {}


@dataclass(frozen=True)
class Period(Deletion):
    """Deletes what was retrieved at most ``alpha`` times in the last ``period`` executions.

    Attributes:
        period: t - t'.
        alpha: The threshold.
        newcomers: What came within the period had less time than the rest. ``spare`` leaves it to
            the next; ``judge`` takes the formula by the letter.
    """

    period: int = 200
    alpha: int = 0
    newcomers: Literal["spare", "judge"] = "spare"

    def __post_init__(self) -> None:
        if self.period < 1 or self.alpha < 0 or self.newcomers not in ("spare", "judge"):
            raise ConfigurationError(
                f"no period: {self}", where="Period", mend="period >= 1, alpha >= 0"
            )

    def due(self, t: int) -> bool:
        """At the end of each period."""
        return t > 0 and t % self.period == 0

    def __call__(self, usages: Sequence[Usage], t: int) -> Doomed:
        """freq_t - freq_t' <= alpha."""
        since = t - self.period
        if since < 0:
            return {}
        doomed = {}
        for usage in usages:
            if self.newcomers == "spare" and usage.added > since:
                continue
            times = usage.frequency(t) - usage.frequency(since)
            if times <= self.alpha:
                doomed[usage.key] = f"period: {times} of over {self.alpha} in {self.period}"
        return doomed

    def bound(self, k: int) -> int:
        """Records, newcomers apart, that survive at the most where ``k`` are retrieved at a time."""
        return k * self.period // (self.alpha + 1)


@dataclass(frozen=True)
class History(Deletion):
    """Deletes what was retrieved more than ``n`` times with a mean utility of at most ``beta``.

    Only retrievals whose utility is known count.
    """

    n: int = 5
    beta: float = 0.5

    def __post_init__(self) -> None:
        if self.n < 0 or not math.isfinite(self.beta):
            raise ConfigurationError(
                f"no history: {self}", where="History", mend="n >= 0, and a finite beta"
            )

    def __call__(self, usages: Sequence[Usage], t: int) -> Doomed:
        """freq_t > n and mean utility <= beta."""
        doomed = {}
        for usage in usages:
            if len(usage.utilities) <= self.n:
                continue
            mean = usage.mean_utility
            if mean is not None and mean <= self.beta:
                doomed[usage.key] = (
                    f"history: mean utility {mean:.3g} of {len(usage.utilities)}, "
                    f"over {self.beta:g} needed"
                )
        return doomed


@dataclass(frozen=True)
class Capacity(Deletion):
    """Keeps at most ``limit``: beyond it the least useful goes, one by one.

    Least useful is the lowest mean utility; where nobody said, what the evaluator thought of it
    when it was added, else ``unknown``. Of equals the least retrieved goes, then the oldest.
    The paper runs a periodical deletion first: ``Period(...).then(Capacity(100))``, or `bounded`.
    """

    limit: int = 100
    unknown: float = 0.0

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise ConfigurationError(f"limit is {self.limit}", where="Capacity", mend="0 or more")

    def __call__(self, usages: Sequence[Usage], t: int) -> Doomed:
        """The least useful beyond the limit."""
        over = len(usages) - self.limit
        if over <= 0:
            return {}
        ranked = sorted(usages, key=lambda u: (self._worth(u), len(u.retrieved), u.order))
        return {
            u.key: f"capacity: over {self.limit}, utility {self._worth(u):.3g}"
            for u in ranked[:over]
        }

    def _worth(self, usage: Usage) -> float:
        known = usage.mean_utility if usage.utilities else usage.prior
        return self.unknown if known is None else known


def combined(
    period: Period, history: History, rule: Literal["union", "intersection"] = "union"
) -> Deletion:
    """The paper's combined deletion; see the head of this file for the two readings of it."""
    return period | history if rule == "union" else period & history


def bounded(limit: int, period: Period) -> Deletion:
    """The paper's section 6.2: periodical first, then the least useful beyond ``limit``."""
    return period.then(Capacity(limit))
