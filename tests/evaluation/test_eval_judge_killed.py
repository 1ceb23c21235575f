"""`acc eval judge`, killed in the middle, in a process of its own: nothing is paid twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers_toy import ROOT, scenario_file

from acc_eval.memories.baselines import TranscriptReplay

pytestmark = pytest.mark.slow

COMMAND = "from helpers_evaluation import run; import sys; sys.exit(run(sys.argv[1:]))"
MEMORIES = ("--memory", "transcript", "--memory", f"{__name__}:Killing,label=acc")


class Killing(TranscriptReplay):
    """Kills its process after as many turns as the environment says, of both runs."""

    turns = 0

    def observe(self, turn: Any) -> None:
        Killing.turns += 1
        if Killing.turns == int(os.environ["KILLED_AFTER"]):
            os.kill(os.getpid(), signal.SIGKILL)
        super().observe(turn)


def judged(folder: Path, name: str, killed_after: int) -> tuple[int, Path]:
    """The exit code of the evaluation, and where its results are."""
    out, folders = folder / f"{name}.json", (ROOT, ROOT / "evaluation", Path(__file__).parent)
    command = ["eval", "judge", str(scenario_file(folder)), "--seeds=2", f"--json={out}", "--quiet"]
    command += [f"--log={folder / name}.jsonl", "--concurrency=3", "--model=rule", *MEMORIES]
    environment = os.environ | {
        "KILLED_AFTER": str(killed_after),
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
    }
    done = subprocess.run([sys.executable, "-c", COMMAND, *command], env=environment)
    return done.returncode, out


def results(out: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return {name: value[name] for name in ("runs", "memories", "paired")}


def calls(log: Path) -> list[str]:
    records = [json.loads(line) for line in log.read_bytes().splitlines() if line.endswith(b"}")]
    return [record["key"] for record in records if record["kind"] == "call"]


def test_a_killed_evaluation_goes_on_and_pays_nothing_twice(tmp_path: Path) -> None:
    code, expected = judged(tmp_path, "through", 1_000)
    assert code == 0
    for turns in (2, 5):
        code, out = judged(tmp_path, "killed", turns)
        assert code == -signal.SIGKILL
        assert not out.exists()
    paid = calls(tmp_path / "killed.jsonl")
    code, out = judged(tmp_path, "killed", 1_000)
    assert code == 0
    assert results(out) == results(expected)
    found = calls(tmp_path / "killed.jsonl")
    assert found[: len(paid)] == paid
    assert len(set(found)) == len(found) == len(calls(tmp_path / "through.jsonl")) > len(paid) > 0
