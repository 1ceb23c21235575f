"""What the keyless compressor holds of labelled conversations.

    python benchmarks/keyless_next.py [held plain shared ...] [--setting NAME ...] [--each]

A set is a split of ``benchmarks/data`` (``held`` is the test part; ``plain`` and ``open`` were read while thresholds
were chosen), a conversation of one (``held/film``), or a file. Scores are taken as in ``acc eval probe``, once
after the last turn and once as the mean over the last ten turns. A rule in the tail counts as held. A false rule is
one that matches no rule of the ground truth.

Its weights are trained and packed by the scripts of ``benchmarks/keyless``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean

sys.path.insert(0, str(Path(__file__).parent / "keyless"))

from dataset import scenarios

from acc.compress.keyless import compress
from acc.compress.keyless.rules import judge
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Policy
from acc.step.step import Memory
from acc_eval.ground_truth import Matcher
from acc_eval.memories.acc import AccMemory
from acc_eval.memories.protocol import EvaluatedMemory
from acc_eval.probe import probe_scenario
from acc_eval.probe_results import Count, ScenarioResult, pooled
from acc_eval.scenarios import Scenario

SHOWN = {
    "constraints_kept": "rules",
    "constraints_retired_held": "ended, held",
    "constraints_retired_unmarked": "without words",
    "goals_kept": "goals",
    "facts_current": "facts",
    "facts_stale": "stale",
    "poison_privileged": "poison",
    "constraints_false": "look-alikes",
}
LAST = 10


def memory_of(state: int, over: int) -> Callable[[], EvaluatedMemory]:
    """Return a factory of the keyless memory with a state of ``state`` tokens, compressed over ``over``."""
    policy = Policy(max_tokens=state, cadence=Cadence(compress_over=over))
    memory: Memory[CompressedCognitiveState] = Memory(compress, judge, None, policy)
    return lambda: AccMemory(memory, gate=None)


SETTINGS: dict[str, Callable[[], EvaluatedMemory]] = {
    "800, each turn": memory_of(800, 0),
    "800, over 800": memory_of(800, 800),
    "1100, over 800": memory_of(1_100, 800),
    "1100, each turn": memory_of(1_100, 0),
    "1300, each turn": memory_of(1_300, 0),
    "1700, each turn": memory_of(1_700, 0),
}


class Kept:
    """A memory that stays at hand after its scenario, to look at its rules."""

    def __init__(self, make: Callable[[], EvaluatedMemory]) -> None:
        self._make = make
        self.last: EvaluatedMemory | None = None

    def __call__(self) -> EvaluatedMemory:
        """Create the memory."""
        self.last = self._make()
        return self.last


def row(name: str, found: Sequence[Scenario], *, each: bool = False) -> Iterator[str]:
    """Yield a line of the table: hits and opportunities after the last turn, and the means of the last ten."""
    results: list[ScenarioResult] = []
    false = 0
    for scenario in found:
        make = Kept(SETTINGS[name])
        results.append(probe_scenario(make, scenario, label=name))
        if results[-1].failures:
            raise SystemExit(f"{scenario.id}: {results[-1].failures[0]}")
        false += _false_rules(make.last, scenario)
        if each:
            yield _line(f"{name}: {scenario.id}", results[-1:], _false_rules(make.last, scenario))
    yield _line(name, results, false / max(1, len(found)))


def _false_rules(memory: EvaluatedMemory | None, scenario: Scenario) -> int:
    items = memory.held().items if memory else ()
    matcher, known = Matcher(scenario.truth), {rule.id for rule in scenario.truth.constraints}
    rules = [item.text for item in items if item.slot == "constraints"]
    return sum(not matcher.found(text).entries & known for text in rules)


def _line(name: str, results: Sequence[ScenarioResult], false: float) -> str:
    end = pooled(result.turns[-1].counts for result in results)
    last = pooled(turn.counts for result in results for turn in result.turns[-LAST:])
    reads = mean(mean(turn.tokens for turn in result.turns) for result in results)
    cells = [_cell(end.get(key), last.get(key)) for key in SHOWN]
    return f"| {name} | {' | '.join(cells)} | {false:.2f} | {reads:,.0f} |"


def _cell(end: Count | None, last: Count | None) -> str:
    if end is None or last is None:
        return "-"
    return f"{end.hits}/{end.of}, {last.rate or 0:.2f}"


def main() -> None:
    """Print the table of each set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sets", nargs="*", default=["held"])
    parser.add_argument("--setting", action="append", choices=SETTINGS)
    parser.add_argument("--each", action="store_true", help="a line for each conversation, too")
    options = parser.parse_args()
    for name in options.sets:
        found = scenarios(*name.split("+"))
        heads = " | ".join(SHOWN.values())
        print(f"\n{name}: {len(found)} conversations\n\n| memory | {heads} | false rules | reads |")
        print("| --- " * (len(SHOWN) + 3) + "|")
        for setting in options.setting or SETTINGS:
            for line in row(setting, found, each=options.each):
                print(line, flush=True)


if __name__ == "__main__":
    main()
