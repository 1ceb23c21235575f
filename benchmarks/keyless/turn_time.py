"""Milliseconds that the keyless compressor takes for a turn, with 20 KB of tool output in each.

    python benchmarks/keyless/turn_time.py FILE ...

FILE is whatever ``acc replay`` reads. To each turn a log of 20 KB is added, made of lines that the
conversation's own tools printed. Shown are the median and the slowest turn but the first, which also
reads the weights; the median without the log; and that with the log where every processor has such a
process to run. Each is measured in a process of its own, because what was read once is known.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, cycle
from multiprocessing import get_context
from pathlib import Path

from acc.controller import MemoryController
from acc.state.model import CompressedCognitiveState
from acc.stores.in_memory import InMemoryStore
from acc.turn.conversations import read_conversation
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

LOG = 20_000
"""Characters of the log."""


def log_of(turns: Sequence[Turn]) -> Observation:
    """A tool's output of `LOG` characters, from the lines of all tools."""
    told = [o.text for turn in turns for o in turn.observations if o.channel is Channel.TOOL]
    lines = cycle(line for text in told or ["nothing to report"] for line in text.splitlines())
    text = ""
    while len(text) < LOG:
        text += f"{next(lines)}\n"
    return Observation(channel=Channel.TOOL, name="log", call_id="log", text=text)


def times(turns: Sequence[Turn]) -> list[float]:
    """Milliseconds of each turn's compression but the first's."""
    found = []
    state: CompressedCognitiveState | None = None
    with MemoryController(InMemoryStore()) as memory:
        for turn in turns:
            step = memory.step(state, turn, thread="timed")
            state = step.state
            found.append(step.ms["compress"])
    return found[1:]


def measured(path: Path, *, with_log: bool) -> list[float]:
    """Milliseconds of each turn of a file."""
    turns = read_conversation(path).turns
    log = log_of(turns)
    longer = [t.model_copy(update={"observations": (*t.observations, log)}) for t in turns]
    return times(longer if with_log else turns)


def in_processes(count: int, path: Path, *, with_log: bool) -> list[list[float]]:
    """The same in so many processes at once."""
    with ProcessPoolExecutor(count, get_context("spawn"), max_tasks_per_child=1) as alone:
        runs = [alone.submit(measured, path, with_log=with_log) for _ in range(count)]
        return [run.result() for run in runs]


def main() -> None:
    """Print a row for each conversation."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    print("| conversation | turns | median | slowest | median without the log | median when busy |")
    print("|---|---|---|---|---|---|")
    for path in parser.parse_args().files:
        (some,) = in_processes(1, path, with_log=True)
        (own,) = in_processes(1, path, with_log=False)
        busy = in_processes(os.cpu_count() or 1, path, with_log=True)
        print(
            f"| {path.stem} | {len(some) + 1} | {statistics.median(some):.1f} | {max(some):.1f} "
            f"| {statistics.median(own):.1f} | {statistics.median(chain(*busy)):.1f} |"
        )


if __name__ == "__main__":
    main()
