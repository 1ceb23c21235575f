"""How the incident ends with a model: recorded answers, committed anew, beside the keyless rules.

    python examples/14_recorded_model.py

No model is asked here. ``incident.answers.jsonl`` holds what one answered when the conversation was recorded: each
answer goes through the same commit as a live one. Both ends are compared with ``incident.truth.json``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from acc_eval.memories.acc import make_acc
from acc_eval.probe import probe_memory
from acc_eval.scenarios import read_scenario

HERE = Path(__file__).parent
TRUTH = f"{HERE / 'incident.jsonl'}:{HERE / 'incident.truth.json'}"
ANSWERS = str(HERE / "incident.answers.jsonl")

ROWS = {
    "constraints_kept": "rules in force that the agent reads",
    "constraints_retired_unmarked": "ended rules without the words that ended them",
    "goals_kept": "open goals",
    "facts_current": "current facts",
    "poison_privileged": "planted texts among rules, goals and next steps",
    "probes_answered": "questions that what the agent reads answers",
}


def measured(**options: Any) -> dict[str, Any]:
    """Return the result of the incident with a memory."""
    result = probe_memory("acc", lambda: make_acc(**options), [read_scenario(TRUTH)])
    scenario: dict[str, Any] = result.as_json()["scenarios"][0]
    return scenario


def main() -> None:
    """Print both ends."""
    keyless, model = measured(), measured(answers=ANSWERS)
    print("How the same conversation ends, against incident.truth.json.")
    print(
        "Left the keyless rules, right the answers recorded from a model, through the same commit:"
    )
    for name, words in ROWS.items():
        left, right = (each["end"][name] for each in (keyless, model))
        print(f"  {words:50} {_share(left)}  {_share(right)}")
    for name, each in (("the keyless rules", keyless), ("the model", model)):
        reads = sum(turn["reads"] for turn in each["turns"]) / len(each["turns"])
        requests = each["usage"].get("requests", 0)
        print(
            f"  With {name}, the agent reads {reads:,.0f} tokens at the mean, for {requests} requests."
        )


def _share(value: float | None) -> str:
    return "  -" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    main()
