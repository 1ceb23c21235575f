"""`acc eval probe` and `acc eval check` on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from helpers_evaluation import run
from helpers_toy import scenario_file

from acc.errors import ConfigurationError
from acc_eval.probe import read_threshold
from acc_eval.probe_results import NAMES, RATES

BOTH = ("--memory", "acc", "--memory", "transcript")


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    return str(scenario_file(tmp_path))


def test_a_table_of_memories_side_by_side(
    scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["eval", "probe", scenario, *BOTH]) == 0
    told = capsys.readouterr().out
    assert "toy (4 turns)" in told
    rows = {line.split()[1]: line for line in told.splitlines() if line[:2] in ("+ ", "- ")}
    assert set(rows) >= {name for name, (better, _) in RATES.items() if better != "neither"}
    assert rows["poison_anywhere"].split()[-2:] == ["1.000", "(1.000)"]
    assert rows["poison_privileged"].split()[-1] == "-"


def test_json_holds_every_turn_and_is_the_same_each_time(scenario: str, tmp_path: Path) -> None:
    out, again = tmp_path / "out.json", tmp_path / "again.json"
    assert run(["eval", "probe", scenario, *BOTH, "--json", str(out), "--quiet"]) == 0
    assert run(["eval", "probe", scenario, *BOTH, "--json", str(again), "--quiet"]) == 0
    assert out.read_bytes() == again.read_bytes()
    value = json.loads(out.read_text(encoding="utf-8"))
    assert [memory["label"] for memory in value["memories"]] == ["acc", "transcript"]
    replayed = value["memories"][1]
    assert set(replayed["averages"]["end"]["micro"]) == set(NAMES)
    turns = replayed["scenarios"][0]["turns"]
    assert [turn["turn"] for turn in turns] == [1, 2, 3, 4]
    assert turns[2]["counts"]["facts_stale"] == [1, 1]
    assert replayed["scenarios"][0]["notable"]["poison_anywhere"] == ["p1"]
    assert replayed["scenarios"][0]["probes"][1]["answered"] is True


def test_json_on_stdout_is_all_there_is(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "probe", scenario, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["scenarios"][0]["id"] == "toy"


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        (["--fail-under", "facts_current=0.9@"], "not a limit of a metric"),
        (["--fail-under", "speed=1"], "not a limit of a metric"),
        (["--fail-under", "score=high"], "not a limit of a metric"),
        (["--fail-under", "score=nan"], "not a limit of a metric"),
        (["--fail-under", "score@nobody=1"], "no memory 'nobody'"),
        (
            ["--fail-over", "facts_stale@transcript=0.5"],
            "facts_stale of transcript is 1, above 0.5",
        ),
        (["--fail-under", "turns.macro.score@transcript=0.9"], "score of transcript is"),
        (["--fail-over", "poison_privileged@transcript=0"], "of transcript is undefined"),
        (["--fail-over", "tokens_max=1"], "tokens_max of acc is"),
    ],
)
def test_a_bound_that_is_not_met_fails_in_one_line(
    scenario: str, bound: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["eval", "probe", scenario, *BOTH, "--quiet", *bound]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err
    assert told.err.count("\n") == 1


def test_bounds_that_are_met_pass(scenario: str) -> None:
    bounds = ["--fail-under", "end.micro.constraints_kept@transcript=1"]
    bounds += ["--fail-over", "poison_privileged=0", "--fail-over", "tokens_max=800"]
    assert run(["eval", "probe", scenario, *BOTH, "--quiet", *bounds]) == 0


def test_a_bound_names_when_how_and_whose() -> None:
    bound = read_threshold("turns.macro.facts_stale@my=label=0.25", is_upper=True)
    assert (bound.when, bound.how, bound.metric) == ("turns", "macro", "facts_stale")
    assert (bound.memory, bound.value, bound.is_upper) == ("my=label", 0.25, True)
    assert read_threshold("score=1", is_upper=False).when == "end"
    with pytest.raises(ConfigurationError, match="--fail-over"):
        read_threshold("middle.score=1", is_upper=True)


def test_the_scenario_is_not_overwritten(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(scenario).read_bytes()
    assert run(["eval", "probe", scenario, "--json", scenario]) == 1
    assert "would overwrite a scenario" in capsys.readouterr().err
    assert Path(scenario).read_bytes() == before


def test_a_malformed_scenario_ends_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["eval", "probe", str(tmp_path / "none.json")]) == 1
    assert "no such file" in capsys.readouterr().err


def test_check_tells_what_is_doubtful(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "check", scenario]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("toy: 4 turns, 2 constraints, 2 goals, 2 facts, 1 poison")
    assert told[1] == "  4 turns, not 50"
    assert run(["eval", "check", scenario, "--strict"]) == 1
    assert "2 warnings (1 of 1 scenarios)" in capsys.readouterr().err
    assert run(["eval", "check", scenario, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["doubts"][0] == "4 turns, not 50"


def test_a_csv_has_a_line_for_each_memory_and_turn(scenario: str, tmp_path: Path) -> None:
    file = tmp_path / "probe.csv"
    assert run(["eval", "probe", scenario, *BOTH, "--quiet", "--csv", str(file)]) == 0
    rows = list(csv.DictReader(file.open(encoding="utf-8")))
    assert len(rows) == 2 * 4
    assert all(int(row["tokens"]) >= 0 for row in rows)
