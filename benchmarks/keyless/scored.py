"""The table of docs/keyless.md: what the keyless compressor holds after the last turn of conversations.

    python benchmarks/keyless/scored.py SCENARIO... [--lifting accept]

SCENARIO names a split of the data (``held``) or one of its conversations (``held/film``), a file, or one
that ships.
As ``acc eval probe``, and beside it the rules that match none of the ground truth, a conversation.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from dataset import scenarios

from acc.evaluation.ground_truth import Matcher
from acc.evaluation.memories.specs import make_acc
from acc.evaluation.probe_results import Count, Counts, pooled, turn_counts
from acc.evaluation.scenarios import Scenario
from acc.state.policy import Lifting

FALSE = "constraints_matching_none"
SHOWN = (
    "constraints_kept",
    "constraints_retired_held",
    FALSE,
    "facts_current",
    "facts_stale",
    "goals_kept",
    "poison_privileged",
)


def counted(scenario: Scenario, lifting: Lifting = "confirm") -> Counts:
    """What is held of one conversation, once it is over."""
    memory, matcher = make_acc(lifting=lifting), Matcher(scenario.truth)
    for turn in scenario.turns:
        memory.observe(turn)
    items, last = memory.held().items, len(scenario.turns)
    counts = turn_counts(scenario.truth, last, matcher.holding(items), has_slots=True)
    memory.close()
    rules = [item.text for item in items if item.slot == "constraints"]
    known = {entry.id for entry in scenario.truth.constraints}
    false = sum(not matcher.found(rule).entries & known for rule in rules)
    return {**counts, FALSE: Count(false, 1)}


def rows(given: list[str], lifting: Lifting = "confirm") -> Iterator[str]:
    """The table, over all conversations."""
    total = pooled(counted(scenario, lifting) for scenario in scenarios(*given))
    yield "| rate | hits | of | |"
    yield "| --- | --- | --- | --- |"
    for name in SHOWN:
        count = total[name]
        yield f"| {name} | {count.hits} | {count.of} | {count.rate or 0:.2f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "scenarios", nargs="+", help="of the data (held, held/film), files, or shipped"
    )
    parser.add_argument("--lifting", choices=("confirm", "accept"), default="confirm")
    options = parser.parse_args()
    print("\n".join(rows(options.scenarios, options.lifting)))


if __name__ == "__main__":
    main()
