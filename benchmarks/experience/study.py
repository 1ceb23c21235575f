"""The whole study: every condition on every seed, and what is known of a figure from its seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np

from .conditions import (
    FAMILIES,
    Condition,
    addition_table,
    beta_sweep,
    capacity_figure,
    deletion_table,
    noise_figure,
    shift_figure,
)
from .running import Scale, Trace, run

Study = dict[Condition, list[Trace]]
"""The traces of each condition, one a seed, seeds in the same order everywhere."""

Runner = Callable[[Condition, int, Scale], Trace]

LIMITS = (50, 100, 180, 300, 600)
"""Capacities that are tried; EHRAgent's and AgentDriver's initial sizes among them."""

BETAS = (0.05, 0.1, 0.2, 0.3, 0.5)
"""Thresholds of history-based deletion that are tried on EHRAgent beside the paper's 0.7."""

NOISY_TASKS = 500
"""Tasks of the runs with a noisy start, as in the paper's appendix C.3."""

_T = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)
"""Student's t for 95 percent, by degrees of freedom from 1."""


class Interval(NamedTuple):
    """A mean over seeds, and half the width of its 95 percent interval; NaN for one seed."""

    mean: float
    half: float

    @property
    def sure(self) -> bool:
        """Whether all of it lies on one side of 0."""
        return abs(self.mean) > self.half


def interval(values: Sequence[float]) -> Interval:
    """The interval by Student's t."""
    count = len(values)
    if count < 2:
        return Interval(float(np.mean(values)), math.nan)
    t = _T[count - 2] if count - 2 < len(_T) else 1.96
    return Interval(float(np.mean(values)), t * float(np.std(values, ddof=1)) / math.sqrt(count))


def performance(traces: Sequence[Trace]) -> Interval:
    """Success in percent."""
    return interval([100.0 * float(trace.success.mean()) for trace in traces])


def gain(one: Sequence[Trace], other: Sequence[Trace]) -> Interval:
    """Points by which ``one`` is better than ``other``, on the same tasks and luck: paired."""
    pairs = zip(one, other, strict=True)
    return interval([100.0 * float(a.success.mean() - b.success.mean()) for a, b in pairs])


def size(traces: Sequence[Trace]) -> Interval:
    """Records in memory at the end."""
    return interval([float(trace.size[-1]) for trace in traces])


def conditions(families: Iterable[str] = tuple(FAMILIES)) -> list[Condition]:
    """All that the tables and figures need, each once."""
    found: list[Condition] = []
    for family in families:
        found += [*addition_table(family), *deletion_table(family)]
        if family != "cic-iot":
            found += shift_figure(family)
            found += capacity_figure(family, LIMITS if family == "agentdriver" else LIMITS[1:2])
        if family == "ehragent":
            found += beta_sweep(family, BETAS)
        if family == "agentdriver":
            found += noise_figure(family)
    return list(dict.fromkeys(found))


def studied(
    wanted: Sequence[Condition],
    seeds: Sequence[int],
    scale: Scale,
    *,
    workers: int = 1,
    runner: Runner = run,
    told: Callable[[str], None] = lambda _: None,
) -> Study:
    """Run all of ``wanted`` on all ``seeds``; the same whatever the number of ``workers``.

    Args:
        wanted: What to run.
        seeds: Of the tasks and the luck.
        scale: How much of each.
        workers: Processes at a time; more than one needs a ``runner`` that can be pickled.
        runner: Makes a run; by default with the simulated agent.
        told: Hears of the progress.
    """
    jobs = [(condition, seed) for condition in wanted for seed in seeds]
    traces: list[Trace] = []
    work = partial(_ran, scale=scale, runner=runner)
    if workers > 1:
        with ProcessPoolExecutor(workers) as pool:
            for trace in pool.map(work, jobs):
                traces.append(trace)
                told(f"{len(traces)} of {len(jobs)} runs")
    else:
        for job in jobs:
            traces.append(work(job))
            told(f"{len(traces)} of {len(jobs)} runs")
    each = len(seeds)
    return {c: traces[at * each : (at + 1) * each] for at, c in enumerate(wanted)}


def _ran(job: tuple[Condition, int], scale: Scale, runner: Runner) -> Trace:
    condition, seed = job
    if condition.noisy:
        tasks = min(scale.tasks or NOISY_TASKS, NOISY_TASKS)
        scale = scale._replace(tasks=tasks)
    return runner(condition, seed, scale)
