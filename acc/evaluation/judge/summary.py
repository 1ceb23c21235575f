"""Confidence intervals and paired tests over runs, in numpy alone.

There are few runs, scores are bounded and skewed, and agents are compared on the very same
queries. Hence resampling, which assumes no distribution, and a paired test; it is exact where
that can be counted out. scipy would be a large dependency for these two functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from acc.evaluation.judge.live import LiveResult
from acc.evaluation.judge.measures import MEASURES, RunOutcome

EXACT = 16
"""Pairs up to which every assignment of signs is counted out."""


class Interval(NamedTuple):
    """A mean with its confidence interval."""

    mean: float
    low: float
    high: float


class Difference(NamedTuple):
    """One memory against another, over paired runs.

    Attributes:
        mean: Mean of the differences, the first less the second.
        p: Two-sided p-value of the paired permutation test.
        pairs: Runs in which both are defined.
    """

    mean: float
    p: float
    pairs: int


def bootstrap(
    values: Mapping[str, Sequence[float]],
    *,
    seed: int,
    samples: int = 10_000,
    level: float = 0.95,
) -> Interval | None:
    """The percentile bootstrap of a mean, resampled in two stages.

    Runs of one scenario are no independent sample of all conversations. So scenarios are drawn
    first, then seeds within each; with one scenario the interval speaks of seeds alone.

    Args:
        values: By scenario, the value of each of its runs.
        seed: Seeds the resampling.
        samples: Resamples.
        level: Of the interval.

    Returns:
        The mean of the scenarios' means with its interval; None without a value.
    """
    groups = [np.asarray(runs, dtype=float) for runs in values.values() if len(runs)]
    if not groups:
        return None
    random = np.random.default_rng(seed)
    # For each resample and place, a scenario; then as many of its runs as it has.
    resampled = np.stack(
        [group[random.integers(0, len(group), (samples, len(groups), len(group)))].mean(axis=2)
         for group in groups]
    )  # fmt: skip
    drawn = random.integers(0, len(groups), (samples, len(groups)))
    rows, places = np.arange(samples)[:, None], np.arange(len(groups))[None, :]
    means = resampled[drawn, rows, places].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(np.mean([group.mean() for group in groups])), float(low), float(high))


def permutation_test(
    first: Sequence[float], second: Sequence[float], *, seed: int, samples: int = 20_000
) -> Difference | None:
    """The paired permutation test: were the labels of each pair exchangeable, how often would
    the mean difference be at least as large, either way?

    Exact up to `EXACT` pairs; beyond, by ``samples`` random assignments, the observed one
    among them. With n pairs no p below 2 / 2**n can come out.

    Args:
        first: A value a run.
        second: The other memory's, of the same runs in the same order.
        seed: Seeds the assignments.
        samples: Number of them.

    Returns:
        The difference; None without a pair.

    Raises:
        ValueError: They are not of one length.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values cannot be paired with {len(second)}")
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    count = len(differences)
    if not count:
        return None
    observed = abs(differences.sum())
    # Sums of the same numbers differ in their last bits by the order of adding.
    least = observed - 1e-9 * max(1.0, float(np.abs(differences).sum()))
    if count <= EXACT:
        signs = 1 - 2 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
        p = float(np.mean(np.abs(signs @ differences) >= least))
    else:
        random = np.random.default_rng(seed)
        extreme = 1
        for _ in range(samples - 1):
            extreme += abs(random.choice((-1.0, 1.0), count) @ differences) >= least
        p = float(extreme / samples)
    return Difference(float(differences.mean()), p, count)


NAMES = (*MEASURES, "memory_tokens_last")
"""What is summarised, by name."""

_SEED = 20260111  # any number: the same one, so that the same runs give the same intervals


def intervals(runs: Sequence[RunOutcome], agent: str) -> dict[str, Interval | None]:
    """By measure, the mean over runs with its 95 % bootstrap interval."""
    found: dict[str, Interval | None] = {}
    for name in NAMES:
        by_scenario: dict[str, list[float]] = {}
        for run in runs:
            if (value := run.means(agent)[name]) is not None:
                by_scenario.setdefault(run.scenario, []).append(value)
        found[name] = bootstrap(by_scenario, seed=_SEED)
    return found


def differences(
    runs: Sequence[RunOutcome], first: str, second: str
) -> dict[str, Difference | None]:
    """By measure, ``first`` less ``second`` over the runs in which both are defined."""
    found: dict[str, Difference | None] = {}
    for name in NAMES:
        pairs = [(run.means(first)[name], run.means(second)[name]) for run in runs]
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        found[name] = permutation_test([a for a, _ in both], [b for _, b in both], seed=_SEED)
    return found


def deviation_over_turns(runs: Sequence[RunOutcome], agent: str, name: str) -> float | None:
    """The standard deviation of a measure over all turns, as the paper's Figure 6 shows it."""
    values = [
        v for run in runs for turn in run.agents[agent] if (v := MEASURES[name](turn)) is not None
    ]
    return float(np.std(values)) if values else None


def complete(result: LiveResult) -> list[RunOutcome]:
    """The runs that were played to the end: only these are summarised."""
    return [run for run in result.runs if not run.stopped]


def as_json(result: LiveResult, reference: str, *, note: str = "") -> dict[str, Any]:
    """The whole result as plain JSON values.

    Args:
        result: The result.
        reference: The memory that the others are compared with.
        note: What has to be said of these numbers, first of all.
    """
    runs = complete(result)
    labels = [spec.label for spec in result.live.memories]
    spending = result.spending
    return {
        **({"note": note} if note else {}),
        "configuration": result.live.configuration(),
        "log": str(result.live.log),
        "stopped": result.stopped,
        "complete_runs": len(runs),
        "calls": dict(spending.calls),
        "usage": dict(spending.usage),
        "money": spending.money if result.live.budget.prices else None,
        "memories": [_measured(runs, label) for label in labels],
        "paired": [_compared(runs, reference, label) for label in labels if label != reference],
        "runs": [run.as_json() for run in result.runs],
    }


def _measured(runs: Sequence[RunOutcome], label: str) -> dict[str, Any]:
    found = intervals(runs, label)
    return {
        "memory": label,
        "measures": {name: value._asdict() if value else None for name, value in found.items()},
        "deviation_over_turns": {
            name: deviation_over_turns(runs, label, name) for name in MEASURES
        },
    }


def _compared(runs: Sequence[RunOutcome], first: str, second: str) -> dict[str, Any]:
    found = differences(runs, first, second)
    return {
        "first": first,
        "second": second,
        "measures": {name: value._asdict() if value else None for name, value in found.items()},
    }
