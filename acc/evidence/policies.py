"""Deletion policies of *How Memory Management Impacts LLM Agents* (arXiv 2505.16067, section 5.1).

For a record i at the time t, with freq_t(i) its retrievals until then:

    period(i)   = freq_t(i) - freq_t'(i) <= alpha            in the period from t' to t
    history(i)  = freq_t(i) > n  and  mean utility(i) <= beta
    combined(i) = period(i) * history(i)

The paper's combined formula is a product, an intersection; its tables and text behave as a union. Both are here, the
union by default. What came within the period had less time, and is left to the next one. `Capacity` is the paper's
section 6.2. `Age` is ours: a time to live. A setting that is not valid raises `acc.errors.ConfigurationError`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, TypeAlias

from acc.errors import ConfigurationError


@dataclass(frozen=True)
class RecordUse:
    """A record and its use.

    Attributes:
        added: When it was added, in executions, as its retrievals are.
        utilities: The known utilities of their results.
        order: Its place among all, the oldest first.
    """

    key: str
    added: int
    retrieved: Sequence[int] = ()
    utilities: Sequence[float] = ()
    order: int = 0
    age: timedelta = timedelta()

    def frequency(self, until: int) -> int:
        """Return freq_t: the number of retrievals up to a time."""
        return bisect_right(self.retrieved, until)

    @property
    def mean_utility(self) -> float | None:
        """The mean of its utilities; None if there is none."""
        return sum(self.utilities) / len(self.utilities) if self.utilities else None


Deletion: TypeAlias = Callable[[Sequence[RecordUse], int], Mapping[str, str]]
"""Takes the records and a time. Returns why each record goes, by its key, without those that stay."""


def _check(is_fit: bool, policy: object, hint: str) -> None:
    if not is_fit:
        what = f"the settings are not valid: {policy}"
        raise ConfigurationError(what, where=type(policy).__name__, hint=f"use {hint}")


@dataclass(frozen=True)
class Period:
    """Deletes what was retrieved at most ``alpha`` times in the last ``period`` executions."""

    period: int = 200
    alpha: int = 0

    def __post_init__(self) -> None:
        _check(self.period >= 1 and self.alpha >= 0, self, "period >= 1, alpha >= 0")

    def __call__(self, usages: Sequence[RecordUse], t: int) -> dict[str, str]:
        """Apply freq_t - freq_t' <= alpha to what came before the period."""
        since, doomed = t - self.period, dict[str, str]()
        for usage in usages if since >= 0 else ():
            times = usage.frequency(t) - usage.frequency(since)
            if times <= self.alpha and usage.added <= since:
                doomed[usage.key] = f"period: {times} of over {self.alpha} in {self.period}"
        return doomed


@dataclass(frozen=True)
class History:
    """Deletes what was retrieved more than ``n`` times with a mean utility of at most ``beta``.

    Retrievals of an unknown utility do not count.
    """

    n: int = 5
    beta: float = 0.5

    def __post_init__(self) -> None:
        _check(self.n >= 0 and math.isfinite(self.beta), self, "n >= 0 and a finite beta")

    def __call__(self, usages: Sequence[RecordUse], t: int) -> dict[str, str]:
        """Apply freq_t > n and mean utility <= beta."""
        doomed = {}
        for usage in usages:
            mean, times = usage.mean_utility, len(usage.utilities)
            if mean is not None and times > self.n and mean <= self.beta:
                why = f"history: mean utility {mean:.3g} of {times}, over {self.beta:g} needed"
                doomed[usage.key] = why
        return doomed


@dataclass(frozen=True)
class Combined:
    """Deletes what either of two policies deletes (``union``), or what both do (``intersection``)."""

    period: Period = Period()
    history: History = History()
    rule: Literal["union", "intersection"] = "union"

    def __call__(self, usages: Sequence[RecordUse], t: int) -> dict[str, str]:
        """Apply both."""
        one, other = self.period(usages, t), self.history(usages, t)
        both = {key: f"{one[key]}; {other[key]}" for key in one if key in other}
        return both if self.rule == "intersection" else {**one, **other, **both}


@dataclass(frozen=True)
class Capacity:
    """Keeps at most ``limit`` records: the least useful ones beyond it go.

    Without utilities a record has 0. Of the same utility, the least retrieved goes, then the oldest.
    """

    limit: int = 100

    def __post_init__(self) -> None:
        _check(self.limit >= 0, self, "a limit of 0 or more")

    def __call__(self, usages: Sequence[RecordUse], t: int) -> dict[str, str]:
        """Delete what is over the limit."""
        worth = {usage.key: usage.mean_utility or 0.0 for usage in usages}
        found = sorted(usages, key=lambda u: (worth[u.key], len(u.retrieved), u.order))
        over = found[: max(0, len(found) - self.limit)]
        return {u.key: f"capacity: over {self.limit}, utility {worth[u.key]:.3g}" for u in over}


@dataclass(frozen=True)
class Age:
    """Deletes what is older than a time to live."""

    older_than: timedelta

    def __call__(self, usages: Sequence[RecordUse], t: int) -> dict[str, str]:
        """Delete what is too old."""
        old = (usage for usage in usages if usage.age > self.older_than)
        return {usage.key: f"age: {usage.age.days} days" for usage in old}
