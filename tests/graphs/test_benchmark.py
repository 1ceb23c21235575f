"""The benchmark of ways to keep memory: every way runs, and ours is bounded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "langgraph_memory.py"


@pytest.mark.slow
def test_forty_turns_of_every_way() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--turns", "40", "--json"],
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert {"transcript", "no memory", "SummarizationMiddleware"} <= {*found}
    for name, row in found.items():
        if name.startswith("ACC"):
            assert row["prompt tokens, last / first"] <= 1.1
            assert row["transcript / it"] > 2
    assert found["transcript"]["prompt tokens, last / first"] > 2
