"""What a live evaluation found, over all runs: means with intervals, and paired tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from acc.evaluation.judge.live import LiveResult
from acc.evaluation.judge.outcomes import MEASURES, RunOutcome
from acc.evaluation.judge.statistics import Difference, Interval, bootstrap, permutation_test

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
