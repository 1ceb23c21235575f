"""What a commit costs on a full state, and what importing the library costs.

    python benchmarks/commit_cost.py

The state holds as many facts as 1,200 tokens allow. One commit takes a turn into the tail, without a request; the
other takes eight facts, for which it evicts. The import is measured in fresh interpreters, with and without
``import acc``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from acc.commit.commit import Given, commit
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, read
from acc.state.render import render
from acc.state.tail import Message, messages_of
from acc.turn.turn import Turn

WORDS = "the pool of checkout-api on eu-west-1 holds 80 connections since the change of Monday"
POLICY: Policy = Policy(max_tokens=1_200)

State = CompressedCognitiveState


def told(first: int, count: int, turn: int) -> tuple[tuple[Message, ...], Proposal]:
    """Return a turn of facts, and the proposal that holds them."""
    facts = [f"subject {n}: {WORDS}, case {n}" for n in range(first, first + count)]
    said = messages_of(Turn.said(". ".join(facts)).numbered(turn))
    wire = {"facts": [{"text": fact, "refs": [said[0].ref]} for fact in facts]}
    return said, read(wire, CompressedCognitiveState)


def full() -> State:
    """Return a state that has room for no further fact."""
    said, proposal = told(0, 60, 1)
    empty = CompressedCognitiveState.empty()
    return commit(empty, POLICY, Given(said, 1, said, proposal)).state


def into_the_tail(state: State, number: int) -> tuple[State, float]:
    """Commit a turn without a proposal; the state goes on as it was."""
    new = messages_of(Turn.said(f"Question {number}: {WORDS}?").numbered(number))
    start = time.perf_counter()
    commit(state, POLICY, Given(new, number))
    return state, 1000 * (time.perf_counter() - start)


def evicting(state: State, number: int) -> tuple[State, float]:
    """Commit eight facts, for which others leave."""
    said, proposal = told(100 * number, 8, number)
    start = time.perf_counter()
    done = commit(state, POLICY, Given(said, number, said, proposal))
    return done.state, 1000 * (time.perf_counter() - start)


def commit_cost(
    one: Callable[[State, int], tuple[State, float]], turns: int = 400
) -> dict[str, Any]:
    """Return milliseconds of a commit on a full state."""
    state, spent = full(), []
    for number in range(2, turns + 2):
        state, milliseconds = one(state, number)
        spent.append(milliseconds)
    return {
        "items": sum(1 for _ in state.items()),
        "tokens": POLICY.counter(render(state)),
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
        "commit_without_a_request": commit_cost(into_the_tail),
        "commit_that_evicts": commit_cost(evicting),
        "import_acc": import_cost(),
    }
    if options.json:
        print(json.dumps(found))
        return
    for name, figures in found.items():
        print(name.replace("_", " "), figures)


if __name__ == "__main__":
    main()
