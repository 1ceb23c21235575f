"""The paper's measures of a turn (5.2, 5.3), and their intervals and paired tests over runs.

There are few runs, scores are bounded and skewed, and all agents answer the same queries. The
summary therefore uses resampling, which assumes no distribution, and a paired test, which is exact
for few pairs. scipy would be a large dependency for these two functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np

from acc_eval.judge import METRICS, Audit, Scores
from acc_eval.probe_results import mean

BY_PAPER = ("query", "notes")
"""Supports that count under the paper's rule: the query, and the judge's canonical memory."""

WITH_TOOLS = (*BY_PAPER, "tools")
"""A variant that also counts the turn's tool outputs."""


@dataclass(frozen=True)
class TurnOutcome:
    """The outcome of one agent in one turn.

    Attributes:
        turn: t, from 1.
        tokens: M_t, the tokens of the memory that the agent read.
        constraints: |K_t|, in the judge's canonical memory.
        scores: Scores from 0 to 10 by metric; None if the judge gave none.
        audit: The audit; None if the judge gave none.
    """

    turn: int
    tokens: int
    constraints: int
    scores: Scores | None
    audit: Audit | None

    def hallucination(self, supports: Sequence[str] = BY_PAPER) -> float | None:
        """H_t = U / max(1, S + U). S counts claims with one of ``supports``, U the others."""
        if self.audit is None:
            return None
        supported = sum(self.audit.claims[support] for support in supports)
        claims = sum(self.audit.claims.values())
        return (claims - supported) / max(1, claims)

    def drift(self) -> float | None:
        """D_t = (V + O) / max(1, |K_t|), undefined in the first turn. D_t may exceed 1."""
        if self.audit is None or self.turn == 1:
            return None
        return (self.audit.violations + self.audit.omissions) / max(1, self.constraints)

    def score(self, metric: str) -> float | None:
        """The score for one of `METRICS`."""
        return None if self.scores is None else self.scores[metric]

    def as_json(self) -> dict[str, Any]:
        """The outcome as plain JSON values, with the values it is computed from."""
        audit = self.audit
        return {
            "turn": self.turn,
            "memory_tokens": self.tokens,
            "active_constraints": self.constraints,
            "scores": self.scores,
            "claims": dict(audit.claims) if audit else None,
            "violations": audit.violations if audit else None,
            "omissions": audit.omissions if audit else None,
            **{name: values(self) for name, values in MEASURES.items() if name not in METRICS},
        }


MEASURES: Mapping[str, Callable[[TurnOutcome], float | None]] = {
    **{metric: methodcaller("score", metric) for metric in METRICS},
    "hallucination": TurnOutcome.hallucination,
    "hallucination_with_tools": methodcaller("hallucination", WITH_TOOLS),
    "drift": TurnOutcome.drift,
    "memory_tokens": lambda outcome: float(outcome.tokens),
}
"""The measures of a turn, by name."""


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of one run: a scenario, a seed, all agents.

    Attributes:
        agents: Outcomes by turn, by the memory's label, in the order of the answers.
        unjudged: Number of judgements that failed.
        failures: Failed compressions, by memory.
        stopped: Why the run ended early; empty if it did not.
    """

    scenario: str
    domain: str
    seed: int
    agents: Mapping[str, Sequence[TurnOutcome]]
    unjudged: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)
    stopped: str = ""

    def means(self, agent: str) -> dict[str, float | None]:
        """The mean of each measure over the turns in which it is defined, and the last M_t."""
        outcomes = self.agents[agent]
        found = {name: mean(map(values, outcomes)) for name, values in MEASURES.items()}
        return {**found, "memory_tokens_last": float(outcomes[-1].tokens) if outcomes else None}

    def as_json(self) -> dict[str, Any]:
        """The run as plain JSON values."""
        agents = {
            label: {"means": self.means(label), "turns": [turn.as_json() for turn in turns]}
            for label, turns in self.agents.items()
        }
        return {
            "scenario": self.scenario, "domain": self.domain, "seed": self.seed,
            "stopped": self.stopped, "unjudged": self.unjudged,
            "failed_compressions": dict(self.failures), "agents": agents,
        }  # fmt: skip


EXACT = 16
"""Maximum number of pairs for the exact test, which enumerates all assignments of signs."""


class Interval(NamedTuple):
    """A mean with its confidence interval."""

    mean: float
    low: float
    high: float


def interval_text(value: Interval | None) -> str:
    """Return an interval as tables show it."""
    return "-" if value is None else f"{value.mean:,.3f} [{value.low:,.3f}, {value.high:,.3f}]"


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
    """The mean of the scenarios' means, with its percentile bootstrap interval; None without values.

    Runs of one scenario are no independent sample of all conversations. Each resample therefore
    draws scenarios first, then seeds within each scenario. With one scenario, the interval covers
    the variation of seeds only. ``values`` holds the values of the runs, by scenario.
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
    """The paired permutation test of the mean difference; None without pairs.

    The p-value is the share of sign assignments with a mean difference at least as large in
    absolute value. It is exact up to `EXACT` pairs. Above, it uses ``samples`` random assignments
    plus the observed one. With n pairs, p is at least 2 / 2**n.
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
