"""`acc eval judge`, killed in the middle, in a process of its own: nothing is paid twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from toy import scenario_file

from acc.evaluation.judge_by_rule import answer_by_rule
from acc.testing import ModelServer, Request

CONCURRENCY = 3

pytestmark = pytest.mark.slow


class Paid:
    """Answers by rule, counts, and tells when ``until`` calls are paid."""

    def __init__(self, until: int) -> None:
        self.calls = 0
        self.reached = Event()
        self._until = until

    def __call__(self, request: Request) -> Mapping[str, Any]:
        self.calls += 1
        if self.calls >= self._until:
            self.reached.set()
        return answer_by_rule(request)


def judging(folder: Path, server: ModelServer, name: str) -> tuple[subprocess.Popen[bytes], Path]:
    """The evaluation, under way, and where its results will be."""
    models = [f"--{r}-model={r}@{server.base_url}" for r in ("agent", "compressor", "judge")]
    out = folder / f"{name}.json"
    command = ["eval", "judge", str(scenario_file(folder)), "--seeds=2", f"--json={out}", *models]
    command += [f"--log={folder / name}.jsonl", f"--concurrency={CONCURRENCY}", "--quiet"]
    return subprocess.Popen([sys.executable, "-m", "acc", *command]), out


def results(out: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return {name: value[name] for name in ("runs", "memories", "paired")}


def test_a_killed_evaluation_goes_on_and_pays_only_what_was_under_way(tmp_path: Path) -> None:
    with ModelServer(whole := Paid(10**9)) as server:
        through, expected = judging(tmp_path, server, "through")
        assert through.wait(60) == 0
    paid = 0
    for share in (0.2, 0.5):
        with ModelServer(first := Paid(int(share * whole.calls) - paid)) as server:
            killed, out = judging(tmp_path, server, "killed")
            assert first.reached.wait(60)
            killed.kill()
            assert killed.wait(60) == -9
        paid += first.calls
        assert not out.exists()
    with ModelServer(rest := Paid(10**9)) as server:
        resumed, out = judging(tmp_path, server, "killed")
        assert resumed.wait(60) == 0
    assert results(out) == results(expected)
    assert rest.calls < whole.calls
    assert whole.calls <= paid + rest.calls <= whole.calls + 2 * CONCURRENCY
