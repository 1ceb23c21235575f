"""The figures of the core with a model, from recorded answers: nothing is asked.

    python benchmarks/model_figures.py SCENARIO.json [SCENARIO.json ...]

A scenario's name chooses its answers in `benchmarks/answers`: NAME-BOUND-OVER-RUN, recorded with
``acc eval probe SCENARIO --memory acc,model=...,record=FILE,max_tokens=BOUND,compress_over=OVER``. Each answer goes
through the present commit; where an earlier prompt was recorded, its ids still fit. Shares are means over the last ten
turns; several runs of one setting stand with their least and greatest value. ``read`` and ``written`` are tokens of the
compressor a turn, ``money`` is dollars for 1,000 turns at `acc_eval.price.TYPICAL`. Also printed: the
transcript, retrieval, and LangChain's summariser where its answers are there.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from acc_eval.memories.acc import make_acc
from acc_eval.memories.baselines import Retrieval, TranscriptReplay
from acc_eval.memories.peers import langchain
from acc_eval.memories.protocol import EvaluatedMemory
from acc_eval.price import TYPICAL, costs
from acc_eval.probe import probe_memory
from acc_eval.scenarios import Scenario, read_scenario

ANSWERS = Path(__file__).parent / "answers"
COLUMNS = (
    "rules", "unmarked", "goals", "facts", "probes", "reads", "requests", "read", "written", "money",
)  # fmt: skip

Row = dict[str, float]


def main(files: Sequence[str]) -> None:
    """Print a line for each setting: its name, the number of runs, and each column."""
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    for scenario in map(read_scenario, files):
        for setting, make in _memories(scenario):
            rows[setting].append(_measured(make, scenario))
    print(f"{'setting':28} runs  " + "  ".join(f"{name:>16}" for name in COLUMNS))
    for setting, found in rows.items():
        print(
            f"{setting:28} {len(found):4}  "
            + "  ".join(_cell([r[c] for r in found]) for c in COLUMNS)
        )


def _memories(scenario: Scenario) -> Iterator[tuple[str, Callable[[], EvaluatedMemory]]]:
    for file in sorted(ANSWERS.glob(f"{scenario.id}-*.xz")):
        name = file.name.removesuffix(".jsonl.xz").removeprefix(f"{scenario.id}-")
        kind, *numbers = name.split("-")
        if kind == "langchain":
            trigger, keep = map(int, numbers)
            yield (
                f"LangChain {trigger:,}, {keep} messages",
                partial(langchain, answers=str(file), trigger=trigger, keep=keep),
            )
        else:
            bound, over = int(kind), int(numbers[0])
            yield (
                f"state {bound:,}, over {over:,}",
                partial(make_acc, answers=str(file), max_tokens=bound, compress_over=over),
            )
    yield "transcript, cached", TranscriptReplay
    yield "BM25, the 20 best messages", lambda: Retrieval(20)


def _measured(make: Callable[[], EvaluatedMemory], scenario: Scenario) -> Row:
    result: Any = probe_memory("memory", make, [scenario])
    found = result.as_json()["scenarios"][0]
    cost = costs(result.scenarios, TYPICAL)
    last = found["last"]
    return {
        "rules": last["constraints_kept"],
        "unmarked": last["constraints_retired_unmarked"] or 0.0,
        "goals": last["goals_kept"] or 0.0,
        "facts": last["facts_current"],
        "probes": found["end"]["probes_answered"],
        "reads": mean(turn["reads"] for turn in found["turns"]),
        "requests": cost["requests"],
        "read": cost["read"],
        "written": cost["written"],
        "money": 1_000 * cost["money"],
    }


def _cell(values: Sequence[float]) -> str:
    least, most = min(values), max(values)
    digits = 0 if most >= 10 else 2
    spread = (
        ""
        if round(least, digits) == round(most, digits)
        else f" {least:.{digits}f}-{most:.{digits}f}"
    )
    return f"{mean(values):.{digits}f}{spread}".rjust(16)


if __name__ == "__main__":
    main(sys.argv[1:])
