"""A model in the agent's place, and as the coarse evaluator: over a real loopback socket."""

from __future__ import annotations

from typing import Any

import pytest

from acc.testing import Fault, ModelServer, Request
from benchmarks.experience.__main__ import main
from benchmarks.experience.conditions import Condition
from benchmarks.experience.model_agent import ModelRunner
from benchmarks.experience.running import Scale

TINY = Scale(tasks=4, initial=5)
ANSWER = "Flags raised: SYN.\nAttack type: DoS-SYN_Flood"


def copies(request: Request) -> dict[str, Any]:
    """Answers as the last demonstration does: the most similar one."""
    *_, last, _ = request.messages[1].text.split("Execution:")
    return {"text": last.split("Task:")[0].strip()}


def test_a_model_reads_demonstrations_and_is_followed_by_the_memory() -> None:
    with ModelServer(copies) as server:
        runner = ModelRunner(f"m@{server.base_url}")
        trace = runner(Condition("cic-iot", "all"), 1, TINY)
        assert len(server.requests) == 4
        asked = server.requests[0].messages
    assert "Attack type: NAME" in asked[0].text
    assert asked[1].text.count("Execution:") == 3 + 1
    assert trace.alike_out.mean() == pytest.approx(1.0)
    assert trace.size[-1] == 5 + 4


def test_a_model_judges() -> None:
    refusal = {"text": "no\nI do not believe it."}
    with ModelServer([refusal], repeats=True) as server:
        runner = ModelRunner("", f"judge@{server.base_url}")
        trace = runner(Condition("cic-iot", "coarse"), 1, TINY)
        assert len(server.requests) == 4
    assert trace.size[-1] == 5


def test_a_model_that_does_not_answer_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer([Fault("401")], repeats=True) as server:
        arguments = ["--agent", f"m@{server.base_url}", "--family", "cic-iot", "--tasks", "2"]
        assert main([*arguments, "--seeds", "1"]) == 1
    said = capsys.readouterr().err
    assert "experience: " in said
    assert "Traceback" not in said
