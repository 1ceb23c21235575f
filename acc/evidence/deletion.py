"""Deletion policies: the paper's formulas.

arXiv 2505.16067, section 5.1, for a record i at the time t, with freq_t(i) its retrievals:

    period(i)   = freq_t(i) - freq_t'(i) <= alpha                 in the period from t' to t
    history(i)  = freq_t(i) > n  and  mean utility(i) <= beta
    combined(i) = period(i) * history(i)

The paper's combined product is an intersection, but its tables (the combined memory is smaller
than either) and text ("redundant records will be deleted ..., while low-quality records will be
deleted") describe a union. `combined` offers both, the union by default.

The paper limits the memory after a periodical deletion to alpha * (t' - t) * K, which is negative,
and 0 for alpha = 0. The correct limit: t - t' executions make K * (t - t') retrievals, and each
survivor has at least alpha + 1 of them. At most floor(K * (t - t') / (alpha + 1)) records survive,
plus spared records added within the period.

Policies compose with ``&``, ``|``, ``~`` and `Deletion.then`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from acc.errors import ConfigurationError
from acc.evidence.usage import Usage

Doomed = dict[str, str]
"""Reason of each deletion, by `Usage.key`."""

Judge = Callable[[Sequence[Usage], int], Doomed]


class Deletion:
    """Base class of the policies: composition and schedule."""

    def __call__(self, usages: Sequence[Usage], t: int) -> Doomed:
        """Return the records to delete at the time ``t``, with reasons."""
        raise NotImplementedError

    def due(self, t: int) -> bool:
        """Return whether the policy runs by itself after the execution number ``t``."""
        return True

    def run(self, usages: Sequence[Usage], t: int) -> Doomed:
        """Apply the policy if it is due, else return nothing. Runs after each execution."""
        return self(usages, t) if self.due(t) else {}

    def then(self, other: Deletion) -> Deletion:
        """Return this policy followed by ``other`` on the remaining records."""
        return Then(self, other)

    def __and__(self, other: Deletion) -> Deletion:
        return Both(self, other)

    def __or__(self, other: Deletion) -> Deletion:
        return Either(self, other)

    def __invert__(self) -> Deletion:
        return Inverse(self)


@dataclass(frozen=True)
class _Pair(Deletion):
    """Two policies joined: their results now, or their results when each is due."""

    one: Deletion
    other: Deletion

    def __call__(self, usages: Sequence[Usage], t: int) -> Doomed:
        return self._join(self.one, self.other, usages, t)

    def run(self, usages: Sequence[Usage], t: int) -> Doomed:
        return self._join(self.one.run, self.other.run, usages, t)

    def due(self, t: int) -> bool:
        return self.one.due(t) or self.other.due(t)

    def _join(self, one: Judge, other: Judge, usages: Sequence[Usage], t: int) -> Doomed:
        raise NotImplementedError


def _intersection(first: Doomed, second: Doomed) -> Doomed:
    return {key: f"{first[key]}; {second[key]}" for key in first if key in second}


@dataclass(frozen=True)
class Both(_Pair):
    """Deletes the intersection of both policies, with both reasons."""

    def _join(self, one: Judge, other: Judge, usages: Sequence[Usage], t: int) -> Doomed:
        return _intersection(one(usages, t), other(usages, t))


@dataclass(frozen=True)
class Either(_Pair):
    """Deletes the union of both policies, with all reasons."""

    def _join(self, one: Judge, other: Judge, usages: Sequence[Usage], t: int) -> Doomed:
        first, second = one(usages, t), other(usages, t)
        return {**first, **second, **_intersection(first, second)}


@dataclass(frozen=True)
class Then(_Pair):
    """Applies one policy, then another to the remaining records."""

    def _join(self, one: Judge, other: Judge, usages: Sequence[Usage], t: int) -> Doomed:
        gone = one(usages, t)
        return {**gone, **other([u for u in usages if u.key not in gone], t)}


@dataclass(frozen=True)
class Inverse(Deletion):
    """Deletes what the other policy would keep."""

    policy: Deletion

    def due(self, t: int) -> bool:
        return self.policy.due(t)

    def __call__(self, usages: Sequence[Usage], t: int) -> Doomed:
        gone = self.policy(usages, t)
        return {u.key: "what the policy would keep" for u in usages if u.key not in gone}


@dataclass(frozen=True)
class Keep(Deletion):
    """Deletes nothing."""

    def __call__(self, usages: Sequence[Usage], t: int) -> Doomed:
        return {}


@dataclass(frozen=True)
class Period(Deletion):
    """Deletes records retrieved at most ``alpha`` times in the last ``period`` executions.

    Attributes:
        period: t - t'.
        alpha: The threshold.
        newcomers: How to treat records added within the period, which had less time. ``spare``
            leaves them to the next period; ``judge`` applies the formula literally.
    """

    period: int = 200
    alpha: int = 0
    newcomers: Literal["spare", "judge"] = "spare"

    def __post_init__(self) -> None:
        if self.period < 1 or self.alpha < 0 or self.newcomers not in ("spare", "judge"):
            raise ConfigurationError(
                f"the settings are not valid: {self}",
                where="Period",
                hint="use period >= 1, alpha >= 0, and newcomers spare or judge",
            )

    def due(self, t: int) -> bool:
        """Return whether ``t`` ends a period."""
        return t > 0 and t % self.period == 0

    def __call__(self, usages: Sequence[Usage], t: int) -> Doomed:
        """Apply freq_t - freq_t' <= alpha."""
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
        """Return the limit of survivors, without newcomers, for ``k`` retrievals at a time."""
        return k * self.period // (self.alpha + 1)


@dataclass(frozen=True)
class History(Deletion):
    """Deletes records retrieved more than ``n`` times with a mean utility of at most ``beta``.

    Only retrievals with a known utility count.
    """

    n: int = 5
    beta: float = 0.5

    def __post_init__(self) -> None:
        if self.n < 0 or not math.isfinite(self.beta):
            raise ConfigurationError(
                f"the settings are not valid: {self}",
                where="History",
                hint="use n >= 0 and a finite beta",
            )

    def __call__(self, usages: Sequence[Usage], t: int) -> Doomed:
        """Apply freq_t > n and mean utility <= beta."""
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
    """Keeps at most ``limit`` records: beyond it, the least useful is deleted, one by one.

    The least useful record has the lowest mean utility. Without utilities, the evaluator's utility
    at its addition counts, else ``unknown``. Ties delete the least retrieved, then the oldest. The
    paper runs a periodical deletion first: ``Period(...).then(Capacity(100))``, or `bounded`.
    """

    limit: int = 100
    unknown: float = 0.0

    def __post_init__(self) -> None:
        if self.limit < 0:
            raise ConfigurationError(
                f"the limit {self.limit} is negative", where="Capacity", hint="use 0 or more"
            )

    def __call__(self, usages: Sequence[Usage], t: int) -> Doomed:
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
    """Return the paper's combined deletion; the module docstring explains its two readings."""
    return period | history if rule == "union" else period & history


def bounded(limit: int, period: Period) -> Deletion:
    """Return the paper's section 6.2: periodical first, then the least useful beyond ``limit``."""
    return period.then(Capacity(limit))


EvaluatorName = Literal["coarse", "strict"]
DeletionName = Literal["none", "period", "history", "combined", "intersection"]


class Preset(NamedTuple):
    """The settings of one agent in the paper.

    Attributes:
        k: Records retrieved for each task.
        period: Its periodical deletion.
        history: Its history-based deletion by evaluator.
        initial: Records in memory at the start.
        tasks: Number of tasks.
    """

    k: int
    period: Period
    history: dict[EvaluatorName, History]
    initial: int
    tasks: int

    def yes_or_no(self, evaluator: EvaluatorName) -> Preset:
        """Return the preset for utilities of 1 and 0: an unreachable threshold becomes 0.5."""
        history = self.history[evaluator]
        if history.beta >= 0:
            return self
        return self._replace(history={**self.history, evaluator: replace(history, beta=0.5)})

    def deletion(self, name: DeletionName, evaluator: EvaluatorName = "strict") -> Deletion:
        """Return the deletion policy of that name."""
        history = self.history[evaluator]
        policies: dict[str, Deletion] = {
            "none": Keep(),
            "period": self.period,
            "history": history,
            "combined": combined(self.period, history),
            "intersection": combined(self.period, history, "intersection"),
        }
        if name not in policies:
            raise ConfigurationError(
                f"there is no deletion policy {name!r}",
                where="deletion",
                hint=f"use {', '.join(policies)}",
            )
        return policies[name]


PRESETS: dict[str, Preset] = {
    "ehragent": Preset(
        k=4,
        period=Period(200, 0),
        history={"coarse": History(5, 0.3), "strict": History(5, 0.7)},
        initial=100,
        tasks=2392,
    ),
    "agentdriver": Preset(
        k=1,
        period=Period(300, 1),
        history={"coarse": History(5, -5.0), "strict": History(5, -5.0)},
        initial=180,
        tasks=2000,
    ),
    "cic-iot": Preset(
        k=3,
        period=Period(300, 1),
        history={"coarse": History(5, 0.5), "strict": History(5, 0.5)},
        initial=100,
        tasks=1200,
    ),
}


def preset(agent: str) -> Preset:
    """Return the preset of one of the paper's agents."""
    found = PRESETS.get(agent.lower())
    if found is None:
        raise ConfigurationError(
            f"there is no preset for the agent {agent!r}",
            where="preset",
            hint=f"use {', '.join(PRESETS)}",
        )
    return found
