"""How much more workers do together than one, on one journal.

    python benchmarks/journal_workers.py JOURNAL [--workers 2] [--seconds 10] [--rounds 3] [--json]

JOURNAL is a folder, or the address of a database in PostgreSQL, ``postgresql://USER:PASSWORD@HOST/DATABASE``, which
is filled. Each worker is a process that steps 16 threads of its own in turn with turns of 1 KB, without a request and
without an index. One worker and all of them take turns; the figure is the median of the rounds.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from itertools import count, cycle
from statistics import median

from acc import MemoryController, Turn
from acc.state.policy import Cadence, Policy

THREADS = 16
_RANDOM = random.Random(7)
WORDS = ["".join(_RANDOM.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(3_000)]


def work(journal: str, name: str, seconds: float) -> int:
    """Step threads for some seconds; return how many steps were taken."""
    patient = Policy(cadence=Cadence(compress_over=100_000, tail_bound=200_000))
    with MemoryController.open(journal, store="none", policy=patient) as memory:
        states = {f"{name}-{n}": memory.step(None, Turn.said("Begin."), thread=f"{name}-{n}").state
                  for n in range(THREADS)}  # fmt: skip
        print("ready", flush=True)
        sys.stdin.readline()
        end = time.monotonic() + seconds
        for number, thread in zip(count(), cycle(states), strict=False):
            if time.monotonic() > end:
                return number
            turn = Turn.said(" ".join(_RANDOM.choices(WORDS, k=146)))
            states[thread] = memory.step(states[thread], turn, thread=thread).state
    return 0


def rate(journal: str, workers: int, seconds: float, mark: str) -> float:
    """Return the steps a second of some workers together."""
    command = [sys.executable, __file__, journal, "--seconds", str(seconds), "--as"]
    pipe = subprocess.PIPE
    running = [
        subprocess.Popen([*command, f"{mark}-{n}"], stdin=pipe, stdout=pipe, text=True)
        for n in range(workers)
    ]
    for each in running:
        assert each.stdout is not None
        if each.stdout.readline() != "ready\n":
            sys.exit("a worker failed")
    for each in running:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    return sum(int(each.communicate()[0]) for each in running) / seconds


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("journal")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--as", dest="name", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.name:
        print(work(given.journal, given.name, given.seconds))
        return
    run = f"{time.time_ns():x}"
    alone, together = [], []
    for number in range(given.rounds):
        alone.append(rate(given.journal, 1, given.seconds, f"{run}-{number}-one"))
        together.append(rate(given.journal, given.workers, given.seconds, f"{run}-{number}-all"))
    found = {
        "one": median(alone), "together": median(together), "workers": given.workers,
        "ratio": round(median(t / a for t, a in zip(together, alone, strict=True)), 2),
    }  # fmt: skip
    if given.json:
        print(json.dumps(found))
        return
    print(f"one worker: {found['one']:.0f} steps a second; {given.workers}: {found['together']:.0f};"
          f" ratio {found['ratio']} (to reach 1.6 with two on PostgreSQL)")  # fmt: skip


if __name__ == "__main__":
    main()
