"""``acc eval check``: scenario files, validated."""

from __future__ import annotations

from collections.abc import Sequence

from acc.cli.screen import told_json
from acc.errors import EvaluationError
from acc.evaluation.checking import doubts
from acc.evaluation.scenarios import Scenario, read_scenario


def check(given: Sequence[str], *, strict: bool = False, as_json: bool = False) -> None:
    """Read every scenario, and tell what is doubtful about it.

    Raises:
        InputError: One is malformed; says where.
        EvaluationError: Something is doubtful, and ``strict`` was asked for.
    """
    found = [(scenario, list(doubts(scenario))) for scenario in map(read_scenario, given)]
    if as_json:
        told_json([{**_counts(s), "file": s.where, "doubts": said} for s, said in found])
    for scenario, said in () if as_json else found:
        counts = ", ".join(
            f"{value} {key}" for key, value in _counts(scenario).items() if key != "id"
        )
        print(f"{scenario.id}: {counts}")
        for doubt in said:
            print(f"  {doubt}")
    number = sum(len(said) for _, said in found)
    if strict and number:
        raise EvaluationError(
            f"{number} things are doubtful",
            where=f"{sum(bool(said) for _, said in found)} of {len(found)} scenarios",
            mend="mend the scenarios, or check without --strict",
        )


def _counts(scenario: Scenario) -> dict[str, str | int]:
    truth = scenario.truth
    return {
        "id": scenario.id,
        "turns": len(scenario.turns),
        "constraints": len(truth.constraints),
        "goals": len(truth.goals),
        "facts": len(truth.facts),
        "poison": len(truth.poison),
        "not_constraints": len(truth.not_constraints),
        "probes": len(truth.probes),
    }
