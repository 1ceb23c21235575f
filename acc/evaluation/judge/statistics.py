"""Confidence intervals and paired tests over runs, in numpy alone.

There are few runs, scores are bounded and skewed, and agents are compared on the very same
queries. Hence resampling, which assumes no distribution, and a paired test; it is exact where
that can be counted out. scipy would be a large dependency for these two functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

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
