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
from acc.next.commit.commit import commit as next_commit
from acc.next.state import model as next_model
from acc.next.state import policy as next_policy
from acc.next.state.proposal import read
from acc.next.state.render import render
from acc.next.tail import messages_of
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.turn.turn import Turn


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


def core_commit_cost(turns: int = 400) -> dict[str, Any]:
    """Milliseconds of a commit of the core that only takes a turn into the tail, on a full state."""
    policy = next_policy.Policy(max_tokens=1_200)
    state = next_model.CompressedCognitiveState.empty()
    words = "the pool of checkout-api on eu-west-1 holds 80 connections since the change of Monday"
    facts = [f"subject {n}: {words}, case {n}" for n in range(60)]
    turn = messages_of(Turn.said(". ".join(facts)).numbered(1))
    proposal = read({"facts": [{"text": f, "refs": ["u1"]} for f in facts]}, type(state))
    state = next_commit(state, policy, turn=turn, number=1, read=turn, proposal=proposal).state
    spent = []
    for number in range(2, turns + 2):
        new = messages_of(Turn.said(f"Question {number}: {words}?").numbered(number))
        start = time.perf_counter()
        next_commit(state, policy, turn=new, number=number)
        spent.append(1000 * (time.perf_counter() - start))
    return {
        "items": sum(1 for _ in state.items()),
        "tokens": policy.counter(render(state)),
        "median_ms": round(statistics.median(spent), 2),
        "p95_ms": round(statistics.quantiles(spent, n=20)[-1], 2),
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
    """Print all, as JSON if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {
        "commit_on_full_state": commit_cost(),
        "commit_of_the_core_without_a_request": core_commit_cost(),
        "import_acc": import_cost(),
    }
    if options.json:
        print(json.dumps(found))
        return
    for name, figures in found.items():
        print(name.replace("_", " "), figures)


if __name__ == "__main__":
    main()
