"""Policies that delete evidence, after *How Memory Management Impacts LLM Agents* (arXiv 2505.16067).

For a record i at the time t, with freq_t(i) its retrievals until then, the paper's periodical deletion is

    period(i) = freq_t(i) - freq_t'(i) <= alpha            in the period from t' to t

What came within the period had less time, and is left to the next one. `Capacity` is the paper's section 6.2 without
ratings. `Age` is ours: a time to live. What rests on ratings of results, as the paper's history, is in its study
(``benchmarks/experience``): a memory has none. A setting that is not valid raises `acc.errors.ConfigurationError`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from acc.errors import ConfigurationError


@dataclass(frozen=True)
class RecordUse:
    """A record and its use.

    Attributes:
        added: When it was added, in executions, as its retrievals are.
        order: Its place among all, the oldest first.
    """

    key: str
    added: int
    retrieved: Sequence[int] = ()
    order: int = 0
    age: timedelta = timedelta()

    def frequency(self, until: int) -> int:
        """Return freq_t: the number of retrievals up to a time."""
        return bisect_right(self.retrieved, until)


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
class Capacity:
    """Keeps at most ``limit`` records: of those beyond it, the least retrieved ones go, then the oldest."""

    limit: int = 100

    def __post_init__(self) -> None:
        _check(self.limit >= 0, self, "a limit of 0 or more")

    def __call__(self, usages: Sequence[RecordUse], t: int) -> dict[str, str]:
        """Delete what is over the limit."""
        found = sorted(usages, key=lambda usage: (len(usage.retrieved), usage.order))
        over = found[: max(0, len(found) - self.limit)]
        return {u.key: f"capacity: over {self.limit}, {len(u.retrieved)} times read" for u in over}


@dataclass(frozen=True)
class Age:
    """Deletes what is older than a time to live."""

    older_than: timedelta

    def __call__(self, usages: Sequence[RecordUse], t: int) -> dict[str, str]:
        """Delete what is too old."""
        old = (usage for usage in usages if usage.age > self.older_than)
        return {usage.key: f"age: {usage.age.days} days" for usage in old}
