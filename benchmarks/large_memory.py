"""How the commands on a whole memory grow with it: seconds, peak memory and what they print.

    python benchmarks/large_memory.py build DIR [--threads 2182] [--turns 9]
    python benchmarks/large_memory.py measure DIR [COMMAND ...]
    python benchmarks/large_memory.py [--threads 200] [--times 10]

``build`` steps conversations of the usual turn size (`turn_overhead.observed`) in a new memory.
``measure`` runs ``acc show``, ``search``, ``verify`` and ``doctor`` on it, each in a process of its
own. Without either, the script measures a memory and one ``--times`` as large, and prints the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from turn_overhead import observed, scripted

from acc.controller import MemoryController
from acc.pipeline.session import Settings
from acc.stores.chroma.store import ChromaArtifactStore
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import UNNAMED

COMMANDS = {
    "show": ("show", "--thread", "t0"),
    "threads": ("threads",),
    "search": ("search", "turn"),
    "verify": ("verify",),
    "doctor": ("doctor",),
}

_MAIN = "import sys; from acc.cli import main; sys.exit(main())"


def build(folder: Path, threads: int, turns: int) -> int:
    """Step ``threads`` conversations of ``turns`` turns; return the number of records.

    The compressor is scripted, and the steps write to a store in memory, whose records then move to
    the folder: that is faster.
    """
    rng = random.Random(7)
    store = InMemoryStore()
    memory = MemoryController(store, scripted, Settings(audit=folder / "audit"))
    for name in range(threads):
        state = None
        for number in range(turns):
            state = memory.step(state, observed(number, rng), thread=f"t{name}").state
    memory._forget()  # write what waits for the next turn
    ids = store.ids(UNNAMED)
    with closing(ChromaArtifactStore.embedded(folder)) as kept:
        for start in range(0, len(ids), 1_000):
            kept.add(UNNAMED, store.get(UNNAMED, ids[start : start + 1_000]))
    memory.close()
    return len(ids)


def measure(folder: Path, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the times, the peak memory and the exit status of each command on the memory in ``folder``."""
    found = {}
    for name in names:
        command = [sys.executable, "-c", _MAIN, *COMMANDS[name], "--memory", str(folder)]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        found[name] = {
            "seconds": round(time.perf_counter() - start, 2),
            "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
            "megabytes": round(used.ru_maxrss / 1_000, 1),
            "status": process.returncode,
        }
    return found


def compare(threads: int, turns: int, times: int, names: Sequence[str]) -> dict[str, object]:
    """Measure two memories, one ``times`` as large as the other, and how much more the large one costs."""
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in (threads, threads * times):
            memory = Path(folder) / str(size)
            records = build(memory, size, turns)
            results.append({"records": records, **measure(memory, names)})
    small, large = results
    ratios = {
        name: {
            what: round(large[name][what] / small[name][what], 2)
            for what in ("seconds", "cpu_seconds", "megabytes")
        }
        for name in names
    }
    return {"small": small, "large": large, "ratios": ratios}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="?", choices=("build", "measure"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("commands", nargs="*", metavar="COMMAND")
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--times", type=int, default=10)
    given = parser.parse_args()
    names = given.commands or list(COMMANDS)
    result: object
    if given.what == "build":
        result = {"records": build(given.folder, given.threads, given.turns)}
    elif given.what == "measure":
        result = measure(given.folder, names)
    else:
        result = compare(given.threads, given.turns, given.times, names)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
