"""Deletion policies of *How Memory Management Impacts LLM Agents* (arXiv 2505.16067, section 5.1).

For a record i at the time t, with freq_t(i) its retrievals until then:

    period(i)   = freq_t(i) - freq_t'(i) <= alpha            in the period from t' to t
    history(i)  = freq_t(i) > n  and  mean utility(i) <= beta
    combined(i) = period(i) * history(i)

The paper's combined formula is a product, an intersection; its tables and text behave as a union. Both are here, the
union by default. Its bound after a periodical deletion, alpha (t' - t) K, is 0 for alpha = 0. The correct one: K
retrievals in each of P executions are K P, and each survivor took at least alpha + 1, so that at most
floor(K P / (alpha + 1)) survive (`Period.bound`), and what came within the period, if newcomers are spared.

`Age` is ours: a time to live.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal, NamedTuple, Protocol

from acc.errors import ConfigurationError


@dataclass(frozen=True)
class Usage:
    """A record and its use.

    Attributes:
        key: Names it.
        added: The time of its addition, in executions.
        retrieved: The times of its retrievals.
        utilities: The known utilities of their results.
        order: Its place among all, the oldest first.
        age: How long ago it came.
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


class Deletion(Protocol):
    """Says which records go."""

    def __call__(self, usages: Sequence[Usage], t: int) -> Mapping[str, str]:
        """Return why each record goes at the time ``t``, by key; those that stay are left out."""
        ...


def _check(is_fit: bool, policy: object, hint: str) -> None:
    if not is_fit:
        what = f"the settings are not valid: {policy}"
        raise ConfigurationError(what, where=type(policy).__name__, hint=f"use {hint}")


@dataclass(frozen=True)
class Period:
    """Deletes what was retrieved at most ``alpha`` times in the last ``period`` executions.

    Attributes:
        period: t - t'.
        alpha: The threshold.
        newcomers: ``spare`` leaves what came within the period, and had less time, to the next one; ``judge`` follows
            the formula.

    Raises:
        ConfigurationError: A setting is invalid.
    """

    period: int = 200
    alpha: int = 0
    newcomers: Literal["spare", "judge"] = "spare"

    def __post_init__(self) -> None:
        is_fit = self.period >= 1 and self.alpha >= 0 and self.newcomers in ("spare", "judge")
        _check(is_fit, self, "period >= 1, alpha >= 0, newcomers spare or judge")

    def __call__(self, usages: Sequence[Usage], t: int) -> dict[str, str]:
        """Apply freq_t - freq_t' <= alpha."""
        since, doomed = t - self.period, dict[str, str]()
        for usage in usages if since >= 0 else ():
            times = usage.frequency(t) - usage.frequency(since)
            is_new = self.newcomers == "spare" and usage.added > since
            if times <= self.alpha and not is_new:
                doomed[usage.key] = f"period: {times} of over {self.alpha} in {self.period}"
        return doomed

    def due(self, t: int) -> bool:
        """Whether ``t`` ends a period."""
        return t > 0 and t % self.period == 0

    def bound(self, k: int) -> int:
        """Return how many survive at most, without newcomers, with ``k`` retrievals at a time."""
        return k * self.period // (self.alpha + 1)


@dataclass(frozen=True)
class History:
    """Deletes what was retrieved more than ``n`` times with a mean utility of at most ``beta``.

    Retrievals of an unknown utility do not count.

    Raises:
        ConfigurationError: A setting is invalid.
    """

    n: int = 5
    beta: float = 0.5

    def __post_init__(self) -> None:
        _check(self.n >= 0 and math.isfinite(self.beta), self, "n >= 0 and a finite beta")

    def __call__(self, usages: Sequence[Usage], t: int) -> dict[str, str]:
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

    def __call__(self, usages: Sequence[Usage], t: int) -> dict[str, str]:
        """Apply both."""
        one, other = self.period(usages, t), self.history(usages, t)
        both = {key: f"{one[key]}; {other[key]}" for key in one if key in other}
        return both if self.rule == "intersection" else {**one, **other, **both}

    def due(self, t: int) -> bool:
        """Whether the period ends."""
        return self.period.due(t)


@dataclass(frozen=True)
class Capacity:
    """Keeps at most ``limit`` records: the least useful ones beyond it go (section 6.2).

    Without utilities a record has ``unknown``. Of the same utility, the least retrieved goes, then the oldest.

    Attributes:
        limit: How many stay.
        first: A policy that runs before, as the paper's periodical one.
        unknown: Utility of what has none.
    """

    limit: int = 100
    first: Period | None = None
    unknown: float = 0.0

    def __post_init__(self) -> None:
        _check(self.limit >= 0, self, "a limit of 0 or more")

    def __call__(self, usages: Sequence[Usage], t: int) -> dict[str, str]:
        """Delete what the first policy deletes, then what is over the limit."""
        doomed = self.first(usages, t) if self.first is not None else {}
        left = [usage for usage in usages if usage.key not in doomed]
        left.sort(key=lambda usage: (self._worth(usage), len(usage.retrieved), usage.order))
        for usage in left[: max(0, len(left) - self.limit)]:
            doomed[usage.key] = f"capacity: over {self.limit}, utility {self._worth(usage):.3g}"
        return doomed

    def _worth(self, usage: Usage) -> float:
        return self.unknown if usage.mean_utility is None else usage.mean_utility


@dataclass(frozen=True)
class Age:
    """Deletes what is older than a time to live."""

    older_than: timedelta

    def __call__(self, usages: Sequence[Usage], t: int) -> dict[str, str]:
        """Delete what is too old."""
        old = (usage for usage in usages if usage.age > self.older_than)
        return {usage.key: f"age: {usage.age.days} days" for usage in old}


Evaluator = Literal["coarse", "strict"]


class Preset(NamedTuple):
    """The settings of one of the paper's agents.

    Attributes:
        k: Records retrieved for each task.
        period: Its periodical deletion.
        history: Its deletion by history, by evaluator.
        initial: Records at the start.
        tasks: Number of tasks.
    """

    k: int
    period: Period
    history: Mapping[Evaluator, History]
    initial: int
    tasks: int

    def yes_or_no(self) -> Preset:
        """Return the preset for utilities of 1 and 0: a threshold that they never reach becomes 0.5."""
        history = {name: replace(each, beta=each.beta if each.beta >= 0 else 0.5)
                   for name, each in self.history.items()}  # fmt: skip
        return self._replace(history=history)


PRESETS = {
    "ehragent": Preset(
        4, Period(200, 0), {"coarse": History(5, 0.3), "strict": History(5, 0.7)}, 100, 2392
    ),
    "agentdriver": Preset(
        1, Period(300, 1), {"coarse": History(5, -5.0), "strict": History(5, -5.0)}, 180, 2000
    ),
    "cic-iot": Preset(
        3, Period(300, 1), {"coarse": History(5, 0.5), "strict": History(5, 0.5)}, 100, 1200
    ),
}  # fmt: skip


def preset(agent: str) -> Preset:
    """Return the settings of one of the paper's agents.

    Raises:
        ConfigurationError: There is no such agent.
    """
    if agent.lower() not in PRESETS:
        raise ConfigurationError(
            f"there are no settings of {agent!r}", where="preset", hint=f"use {', '.join(PRESETS)}"
        )
    return PRESETS[agent.lower()]
