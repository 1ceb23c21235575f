"""The command that lists and runs the benchmarks; and benchmarks that have no tests of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers_toy import ROOT, scenario_file

sys.path.append(str(ROOT / "benchmarks"))

import commit_cost
import judge_claims
import model_figures
import role_tokens
import run


def test_every_benchmark_is_listed_with_its_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main([]) == 0
    told = capsys.readouterr().out
    for each in run.BENCHMARKS:
        assert f"{each.name:12} {each.figure}" in told
        script = each.command[0]
        assert script == "-m" or (ROOT / "benchmarks" / script).exists()
    assert "(needs --locomo)" in told
    with pytest.raises(SystemExit):
        run.main(["nothing"])


def test_data_stands_in_its_place() -> None:
    by_name = {each.name: each for each in run.BENCHMARKS}
    data = {"locomo": "l.json", "corpus": "bipia=B injecagent=I", "travel": "t.json"}
    assert run.command(by_name["locomo"], data)[1:] == ["l.json"]
    assert run.command(by_name["injections"], data)[1:5] == ["--bipia", "B", "--injecagent", "I"]
    assert run.command(by_name["evictions"], data)[1].startswith("t.json=")
    assert run.command(by_name["experience"], data)[:2] == ["-m", "benchmarks.experience"]


def test_what_lacks_its_data_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["locomo"]) == 1
    assert "left out: locomo needs --locomo" in capsys.readouterr().err


def test_figures_of_a_scenario_without_recorded_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model_figures.main([str(scenario_file(tmp_path))])
    rows = capsys.readouterr().out.splitlines()
    assert [row[:28].strip() for row in rows[1:]] == [
        "transcript, cached", "BM25, the 20 best messages",
    ]  # fmt: skip


@pytest.mark.slow
def test_recorded_answers_give_the_figures_of_the_docs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    incident = ROOT / "examples" / "incident.jsonl"
    model_figures.main([f"{incident}:{incident.with_name('incident.truth.json')}"])
    rows = {row[:28].strip(): row[34:].split() for row in capsys.readouterr().out.splitlines()}
    assert rows["state 1,600, over 2,000"][:7] == [
        "1.00",
        "0.00",
        "1.00",
        "0.77",
        "1.00",
        "2675",
        "17",
    ]
    assert rows["state 1,600, over 8,000"][3] == "0.81"


def test_a_full_state_evicts() -> None:
    found = commit_cost.commit_cost(commit_cost.evicting, turns=20)
    assert found["tokens"] <= 1_200
    assert found["items"] > 30


@pytest.mark.slow
def test_every_way_to_keep_an_agents_memory_runs_and_ours_is_bounded() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "graphs")}
    command = [sys.executable, str(ROOT / "benchmarks" / "langgraph_memory.py"), "--json"]
    done = subprocess.run(
        [*command, "--turns", "40"], capture_output=True, text=True, check=True, env=environment
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert {"transcript", "no memory", "SummarizationMiddleware"} <= {*found}
    for name, row in found.items():
        if name.startswith("ACC"):
            assert row["prompt tokens, last"] < found["transcript"]["prompt tokens, last"] / 5
            assert row["transcript / it"] > 2


@pytest.mark.slow
def test_role_memories_read_less_than_a_broadcast_and_open_nothing_of_others() -> None:
    rows, tried = role_tokens.run(4, 1_600)
    assert rows[-1]["roles"]["most_tokens"] <= 1_600 < rows[-1]["broadcast"]["tokens"]
    assert rows[-1]["roles"]["own_choices"] == rows[-1]["roles"]["rules"] == 1.0
    assert tried.asked > 1_000
    assert tried.opened == 0


def test_the_recorded_judge_errs_in_none_of_the_labelled_claims(
    capsys: pytest.CaptureFixture[str],
) -> None:
    judge_claims.main([])
    told = capsys.readouterr().out
    assert "ending        40 ends" in told
    assert "0 of 239 claims judged wrongly" in told
