"""Which records leave first: orders replayed on the answers of a model.

    python benchmarks/eviction_orders.py SCENARIO=ANSWERS [SCENARIO=ANSWERS ...] --max-tokens 1100 --compress-over 800

ANSWERS is a file that `acc.models.recorded.RecordingModel` wrote. Each order commits the recorded answers anew,
and the share of current facts is taken over the last ten turns and over all. The answers were given to states that
one of the orders made; an order that differs much from it is at a disadvantage. One line an order, best first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any

from acc.commit import leaving
from acc.commit.draft import Draft
from acc.commit.leaving import USE, by_last_use
from acc.state.items import Record
from acc_eval.memories.acc import make_acc
from acc_eval.probe import probe_memory
from acc_eval.scenarios import read_scenario

Order = Callable[[Draft, Record], tuple[object, ...]]


def _by_uses(turns: int) -> Order:
    def order(draft: Draft, item: Record) -> tuple[object, ...]:
        last = item.touched + turns * (item.uses - 1)
        return (
            not item.minor,
            last,
            -_number(item) if item.touched == draft.turn else _number(item),
        )

    return order


def _number(item: Record) -> int:
    return int(item.id[1:])


def _by(key: Callable[[Record], object]) -> Order:
    def order(_: Draft, item: Record) -> tuple[object, ...]:
        return (not item.minor, key(item), _number(item))

    return order


ORDERS: dict[str, Order] = {
    f"as shipped: each writing counts {USE} turns": by_last_use,
    "last use": _by_uses(0),
    "each writing counts 3 turns": _by_uses(3),
    "each writing counts 12 turns": _by_uses(12),
    "fewest writings, then last use": _by(lambda item: (item.uses, item.touched)),
    "bulk": _by(lambda item: -len(item.text_of)),
    "oldest": _by(lambda item: _number(item)),
    "newest": _by(lambda item: -_number(item)),
    "least trusted, then last use": _by(lambda item: (item.trust, item.touched)),
}


def measure(runs: Sequence[tuple[str, str]], max_tokens: int, over: int) -> dict[str, list[float]]:
    """Return for each order the mean shares: last ten turns, all turns, probes."""
    found = {}
    module: Any = leaving
    for name, order in ORDERS.items():
        module.by_last_use = order
        rows = [_of_run(scenario, answers, max_tokens, over) for scenario, answers in runs]
        found[name] = [mean(column) for column in zip(*rows, strict=True)]
    module.by_last_use = by_last_use
    return found


def _of_run(scenario: str, answers: str, max_tokens: int, over: int) -> tuple[float, float, float]:
    result = probe_memory(
        "acc",
        lambda: make_acc(answers=answers, max_tokens=max_tokens, compress_over=over),
        [read_scenario(scenario)],
    ).as_json()["scenarios"][0]
    facts, probes = "facts_current", "probes_answered"
    return result["last"][facts], result["over_turns"][facts], result["end"][probes]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", metavar="SCENARIO=ANSWERS")
    parser.add_argument("--max-tokens", type=int, default=1_100)
    parser.add_argument("--compress-over", type=int, default=800)
    given = parser.parse_args()
    runs = [(scenario, answers) for scenario, _, answers in (r.partition("=") for r in given.runs)]
    found = measure(runs, given.max_tokens, given.compress_over)
    print("facts, last ten turns; all turns; probes")
    for name, row in sorted(found.items(), key=lambda each: each[1], reverse=True):
        print("  ".join(f"{value:.3f}" for value in row), name, sep="  ")


if __name__ == "__main__":
    main()
