"""Intervals of a memory's values over several runs."""

from __future__ import annotations

from collections.abc import Sequence

from acc_eval.judge_measures import Interval, bootstrap, interval_text
from acc_eval.probe_results import MemoryResult

_SEED = 1


def interval(result: MemoryResult, when: str, metric: str) -> Interval | None:
    """The mean of a metric's micro average over the runs, with its 95 % bootstrap interval.

    None if it is undefined in every run. Runs that are all the same give a width of zero. The
    interval is of chance between runs alone: the scenarios stay the same.
    """
    found = [run.averages_of_run()[when]["micro"][metric] for run in result.runs]
    return bootstrap({"": [v for v in found if v is not None]}, seed=_SEED)


def intervals(result: MemoryResult, when: str) -> dict[str, Interval | None]:
    """The intervals of all metrics, by name."""
    names = result.averages_of_run()[when]["micro"]
    return {name: interval(result, when, name) for name in names}


def interval_cells(results: Sequence[MemoryResult], when: str) -> dict[str, list[str]]:
    """The cells of a table of intervals, by metric."""
    found = [intervals(result, when) for result in results]
    return {name: [interval_text(each[name]) for each in found] for name in found[0]}
