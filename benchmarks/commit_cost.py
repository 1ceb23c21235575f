"""What a commit costs on a full state, and what importing the library costs.

    python benchmarks/commit_cost.py

A full state is one whose last 200 commits all had to evict. Turns and proposals are those of
``turn_overhead.py``: 4 KB of observations, eight items proposed. The import is measured in
fresh interpreters, with and without ``import acc``.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from typing import Any

from turn_overhead import observed, scripted

from acc.commit.commit import commit
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy


def commit_cost(turns: int = 600) -> dict[str, Any]:
    """Milliseconds of a commit on a full state."""
    rng = random.Random(3)
    policy = Policy()
    state: CompressedCognitiveState = CompressedCognitiveState.empty()
    spent = []
    for number in range(1, turns + 1):
        turn = observed(number, rng).numbered(number)
        proposal = scripted(turn, state, ())
        start = time.perf_counter()
        done = commit(state, proposal, turn, (), policy)
        spent.append(1000 * (time.perf_counter() - start))
        state = done.state
    late = spent[-200:]
    return {
        "items": sum(1 for _ in state.items()),
        "tokens": policy.tokens(state),
        "median_ms": round(statistics.median(late), 2),
        "p95_ms": round(statistics.quantiles(late, n=20)[-1], 2),
    }


def import_cost(runs: int = 7) -> dict[str, Any]:
    """Milliseconds that ``import acc`` adds to an interpreter's start, and what it loads."""
    bare = statistics.median(_started("pass") for _ in range(runs))
    with_acc = statistics.median(_started("import acc") for _ in range(runs))
    names = ("chromadb", "openai", "langgraph", "pydantic", "numpy", "rich")
    vendors = f"import sys, acc; print([n for n in {names} if n in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", vendors], capture_output=True, text=True, check=True
    )
    return {
        "bare_ms": round(bare), "with_acc_ms": round(with_acc), "import_ms": round(with_acc - bare),
        "vendors_loaded": loaded.stdout.strip(),
    }  # fmt: skip


def _started(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return 1000 * (time.perf_counter() - start)


def main() -> None:
    """Print both, as JSON if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {"commit_on_full_state": commit_cost(), "import_acc": import_cost()}
    if options.json:
        print(json.dumps(found))
        return
    for name, figures in found.items():
        print(name.replace("_", " "), figures)


if __name__ == "__main__":
    main()
