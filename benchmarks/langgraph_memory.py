"""What ways to keep a LangGraph agent's memory cost, over 200 ReAct turns, side by side in one run.

    python benchmarks/langgraph_memory.py [--turns 200] [--chat] [--size 1] [--json]

Each turn the user says 300 bytes, the agent calls a tool that returns 1.5 KB, and answers in 600 bytes; with
``--chat`` it calls no tool, and ``--size 0.5`` halves every text. The model is scripted and the same for all; so is
the role. Every way has a SQLite file of its own, and the turns go round: turn n of each way before turn n + 1 of any,
so that a busy machine is busy for all of them. Read ratios, not absolutes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph_ways import Way, ways
from langgraph_workload import Workload

WINDOW = 20
"""Turns at the beginning and at the end that are compared."""


class Measured:
    """What one way cost, turn by turn.

    Attributes:
        ms: Milliseconds of each turn.
        tokens: Tokens of the agent's longest prompt of each turn, as UTF-8 bytes / 4.
        bytes: Size of the checkpoint file at the end.
    """

    def __init__(self, way: Way, file: Path, opened: ExitStack) -> None:
        self.way = way
        self.file = file
        saver = opened.enter_context(SqliteSaver.from_conn_string(str(file)))
        self._graph = way.build(saver)
        self.ms: list[float] = []
        self.tokens: list[int] = []
        self.bytes = 0
        self._before, self._same, self._all = "", 0, 0

    def turn(self, workload: Workload, number: int) -> None:
        """One turn of the user."""
        config = {"configurable": {"thread_id": "bench"}, "recursion_limit": 100}
        given = {"messages": [("user", workload.said(number))]}
        start = time.perf_counter()
        self._graph.invoke(given, config, durability=self.way.durability)
        self.ms.append(1000 * (time.perf_counter() - start))
        prompts = self.way.model.prompts
        self.tokens.append(max(sum(len(str(m.text).encode()) for m in p) // 4 for p in prompts))
        for prompt in prompts:
            said = "\x00".join(f"{m.type}:{m.text}" for m in prompt)
            self._same += len(os.path.commonprefix([said, self._before]))  # noqa: RUF071
            self._all, self._before = self._all + len(said), said
        prompts.clear()

    @property
    def prefix(self) -> float:
        """Share of all prompts that repeats the beginning of the prompt before, which a provider caches."""
        return self._same / self._all


def measured(turns: int, workload: Workload) -> list[Measured]:
    """Run every way for ``turns`` turns."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        found = [
            Measured(way, Path(folder) / f"{place}.sqlite", opened)
            for place, way in enumerate(ways(Path(folder), workload, opened))
        ]
        for number in range(1, turns + 1):
            for one in found:
                one.turn(workload, number)
        opened.close()  # SQLite folds its write-ahead log in
        for one in found:
            one.bytes = one.file.stat().st_size
    return found


def growth(values: Sequence[float]) -> float:
    """Median of the last turns over that of the first."""
    return statistics.median(values[-WINDOW:]) / statistics.median(values[:WINDOW])


def figures(found: Sequence[Measured]) -> dict[str, dict[str, Any]]:
    """The figures of each way, by its name.

    What a turn costs is compared with the turn of the same number without memory, which ran
    just before or after it: the machine may be busier at one end of the run than at the other.
    """
    by_name = {one.way.name: one for one in found}
    plain = by_name["no memory"].ms
    figures = {}
    for name, one in by_name.items():
        over = [ms / without for ms, without in zip(one.ms, plain, strict=True)]
        figures[name] = {
            "prompt tokens, last": round(statistics.median(one.tokens[-WINDOW:])),
            "prompt tokens, last / first": round(growth(one.tokens), 2),
            "unchanged prefix": round(one.prefix, 2),
            "checkpoint MB": round(one.bytes / 1e6, 2),
            "transcript / it": round(by_name["transcript"].bytes / one.bytes, 1),
            "the same durability": round(by_name[one.way.compared_with].bytes / one.bytes, 1),
            "ms a turn": round(statistics.median(one.ms), 1),
            "ms / no memory": round(statistics.median(over), 2),
            "that, last / first": round(growth(over), 2),
        }
    return figures


def table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """The figures in Markdown, a row a way."""
    columns = list(next(iter(found.values())))
    lines = [["way", *columns], ["---"] * (1 + len(columns))]
    lines += [[name, *(str(row[c]) for c in columns)] for name, row in found.items()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    """Run all and print a table, or JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--chat", action="store_true", help="the agent calls no tool")
    parser.add_argument("--size", type=float, default=1.0, help="part of each text; 1 by default")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.turns < 2 * WINDOW:
        parser.error(f"at least {2 * WINDOW} turns, of which the first and last are compared")
    found = figures(measured(options.turns, Workload(options.chat, options.size)))
    print(json.dumps(found) if options.json else table(found))


if __name__ == "__main__":
    main()
