"""The paper's measures of a turn, and their means over a run (5.2, 5.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from acc.evaluation.judge.judging import METRICS, Audit, Scores
from acc.evaluation.results import mean

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


def _scored(metric: str) -> Callable[[TurnOutcome], float | None]:
    return lambda outcome: outcome.score(metric)


MEASURES: Mapping[str, Callable[[TurnOutcome], float | None]] = {
    **{metric: _scored(metric) for metric in METRICS},
    "hallucination": lambda outcome: outcome.hallucination(),
    "hallucination_with_tools": lambda outcome: outcome.hallucination(WITH_TOOLS),
    "drift": lambda outcome: outcome.drift(),
    "memory_tokens": lambda outcome: float(outcome.tokens),
}
"""The measures of a turn, by name."""


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of one run: a scenario, a seed, all agents.

    Attributes:
        scenario: The scenario's id.
        domain: Its domain.
        seed: The seed.
        agents: Outcomes by turn, by the memory's label, in the order of the answers.
        turns: Turns of the scenario; exceeds the number of outcomes if the run ended early.
        unjudged: Number of judgements that failed.
        failures: Failed compressions, by memory.
        stopped: Why the run ended early; empty if it did not.
    """

    scenario: str
    domain: str
    seed: int
    agents: Mapping[str, Sequence[TurnOutcome]]
    turns: int
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
        return {
            "scenario": self.scenario,
            "domain": self.domain,
            "seed": self.seed,
            "stopped": self.stopped,
            "unjudged": self.unjudged,
            "failed_compressions": dict(self.failures),
            "agents": {
                label: {"means": self.means(label), "turns": [turn.as_json() for turn in turns]}
                for label, turns in self.agents.items()
            },
        }
