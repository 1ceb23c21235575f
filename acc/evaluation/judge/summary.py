"""Confidence intervals and paired tests over runs, with numpy only.

There are few runs, scores are bounded and skewed, and all agents answer the same queries. The
module therefore uses resampling, which assumes no distribution, and a paired test, which is exact
for few pairs. scipy would be a large dependency for these two functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from acc.evaluation.judge.live import LiveResult
from acc.evaluation.judge.measures import MEASURES, RunOutcome
from acc.evaluation.results import write_csv

EXACT = 16
"""Maximum number of pairs for the exact test, which enumerates all assignments of signs."""


class Interval(NamedTuple):
    """A mean with its confidence interval."""

    mean: float
    low: float
    high: float


class Difference(NamedTuple):
    """The difference of two memories over paired runs.

    Attributes:
        mean: Mean of the differences, first minus second.
        p: Two-sided p-value of the paired permutation test.
        pairs: Number of runs in which both values are defined.
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

    Runs of one scenario are no independent sample of all conversations. Each resample therefore
    draws scenarios first, then seeds within each scenario. With one scenario, the interval covers
    the variation of seeds only.

    Args:
        values: The values of the runs, by scenario.
        seed: Seed of the resampling.
        samples: Number of resamples.
        level: Confidence level.

    Returns:
        The mean of the scenarios' means with its interval; None without values.
    """
    groups = [np.asarray(runs, dtype=float) for runs in values.values() if len(runs)]
    if not groups:
        return None
    random = np.random.default_rng(seed)
    # For each resample and position, draw a scenario and as many of its runs as it has.
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
    """The paired permutation test of the mean difference.

    The p-value is the share of sign assignments with a mean difference at least as large in
    absolute value. It is exact up to `EXACT` pairs. Above, it uses ``samples`` random assignments
    plus the observed one. With n pairs, p is at least 2 / 2**n.

    Args:
        first: One value per run.
        second: The other memory's values of the same runs, in the same order.
        seed: Seed of the random assignments.
        samples: Number of random assignments.

    Returns:
        The difference; None without pairs.

    Raises:
        ValueError: The sequences differ in length.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values cannot be paired with {len(second)}")
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    count = len(differences)
    if not count:
        return None
    observed = abs(differences.sum())
    # Tolerate rounding: sums in different orders differ in their last bits.
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
"""The summarised measures, by name."""

_SEED = 20260111  # arbitrary but fixed: equal runs give equal intervals


def intervals(runs: Sequence[RunOutcome], agent: str) -> dict[str, Interval | None]:
    """The mean of each measure over runs, with its 95 % bootstrap interval."""
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
    """``first`` minus ``second`` of each measure, over runs in which both are defined."""
    found: dict[str, Difference | None] = {}
    for name in NAMES:
        pairs = [(run.means(first)[name], run.means(second)[name]) for run in runs]
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        found[name] = permutation_test([a for a, _ in both], [b for _, b in both], seed=_SEED)
    return found


def deviation_over_turns(runs: Sequence[RunOutcome], agent: str, name: str) -> float | None:
    """The standard deviation of a measure over all turns, as in the paper's Figure 6."""
    values = [
        v for run in runs for turn in run.agents[agent] if (v := MEASURES[name](turn)) is not None
    ]
    return float(np.std(values)) if values else None


def complete(result: LiveResult) -> list[RunOutcome]:
    """The runs that reached their last turn. Only these are summarised."""
    return [run for run in result.runs if not run.stopped]


def as_json(result: LiveResult, reference: str, *, note: str = "") -> dict[str, Any]:
    """The whole result as plain JSON values.

    Args:
        result: The result.
        reference: The memory to compare the others with.
        note: A caveat about the numbers; comes first.
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


def write_turns(result: LiveResult, file: Path) -> None:
    """Write a CSV file with one line per run, agent and turn: every measure of `MEASURES`.

    Raises:
        AccError: The file cannot be written.
    """
    write_csv(file, ["scenario", "domain", "seed", "memory", "turn", *MEASURES], _rows(result.runs))


def _rows(runs: Sequence[RunOutcome]) -> Iterator[list[object]]:
    for run in runs:
        for label, turns in run.agents.items():
            for turn in turns:
                values = [measure(turn) for measure in MEASURES.values()]
                yield [run.scenario, run.domain, run.seed, label, turn.turn, *values]
