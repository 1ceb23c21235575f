"""What is known of a difference between two conditions from their runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .judging import METRICS
from .running import Condition, Outcome


def _scored(metric: str) -> Callable[[Outcome], float | None]:
    return lambda outcome: None if outcome.scores is None else outcome.scores[metric]


MEASURES: Mapping[str, Callable[[Outcome], float | None]] = {
    "tokens": lambda outcome: outcome.total,
    "turns": lambda outcome: outcome.turns,
    **{metric: _scored(metric) for metric in METRICS},
}
"""The rows of the paper's Table 2."""


class Comparison(NamedTuple):
    """A measure of two conditions.

    Attributes:
        first: Mean of the first one over the runs that have both.
        second: Mean of the second.
        runs: Number of runs that have both.
        signed_rank: p of Wilcoxon's signed-rank test: the runs as pairs. NaN with fewer than two runs.
        rank_sum: p of Wilcoxon's rank-sum test (Mann and Whitney's): the runs as two samples, as the paper's caption
            says.
    """

    first: float
    second: float
    runs: int
    signed_rank: float
    rank_sum: float


def values(outcomes: Sequence[Outcome], condition: Condition, measure: str) -> dict[int, float]:
    """A measure of each run of a condition that has it."""
    found = {o.run: MEASURES[measure](o) for o in outcomes if o.condition == condition}
    return {run: value for run, value in found.items() if value is not None}


def mean(outcomes: Sequence[Outcome], condition: Condition, measure: str) -> float:
    """The mean of a measure over the runs of a condition; NaN if none has it."""
    found = list(values(outcomes, condition, measure).values())
    return float(np.mean(found)) if found else math.nan


def compared(
    outcomes: Sequence[Outcome], first: Condition, second: Condition, measure: str
) -> Comparison:
    """Compare two conditions. Both tests are two-sided; nothing is corrected for the number of measures."""
    one, two = values(outcomes, first, measure), values(outcomes, second, measure)
    runs = sorted(one.keys() & two.keys())
    x, y = np.array([one[r] for r in runs]), np.array([two[r] for r in runs])
    if not runs:
        return Comparison(math.nan, math.nan, 0, math.nan, math.nan)
    tests = (_paired(x, y), _unpaired(x, y)) if len(runs) > 1 else (math.nan, math.nan)
    return Comparison(float(x.mean()), float(y.mean()), len(runs), *tests)


def _paired(x: np.ndarray, y: np.ndarray) -> float:
    if not np.any(x - y):
        return 1.0
    from scipy.stats import PermutationMethod, wilcoxon

    # Every pattern of signs is tried up to 16 runs: scipy's own exact table takes no ties.
    method = PermutationMethod(n_resamples=2**16, rng=np.random.default_rng(0))
    return float(wilcoxon(x, y, method=method).pvalue)


def _unpaired(x: np.ndarray, y: np.ndarray) -> float:
    if len(set(x) | set(y)) == 1:
        return 1.0
    from scipy.stats import mannwhitneyu

    return float(mannwhitneyu(x, y).pvalue)
