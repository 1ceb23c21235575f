"""Where statements of the rule agents are lost: before they are said, before the summary, or before the design."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from .protocol import Said
from .rule_agents import known
from .rule_points import said_in
from .running import Outcome, Plan
from .team import WORKERS


def losses(plan: Plan, outcomes: Sequence[Outcome]) -> Iterable[Sequence[str]]:
    """How many statements the workers knew and said, and how many the last summary and the design have; means."""
    yield ("Condition", "Known", "Said", "In the last summary", "In the design")
    for condition in plan.conditions:
        own = [outcome for outcome in outcomes if outcome.condition == condition]
        counts = np.mean([_counts(outcome) for outcome in own], axis=0)
        yield (condition.label, *(f"{count:.1f}" for count in counts))


def _counts(outcome: Outcome) -> tuple[int, int, int, int]:
    said = outcome.said
    knew = sum(len(known(worker, outcome.run)) for worker in WORKERS)
    told = {point for turn in said if turn.speaker in WORKERS for point in said_in(turn.text)}
    return knew, len(told), len(said_in(_last(said, "KIA"))), len(said_in(_last(said, "DJE")))


def _last(said: Sequence[Said], speaker: str) -> str:
    return next((turn.text for turn in reversed(said) if turn.speaker == speaker), "")
