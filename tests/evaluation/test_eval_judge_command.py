"""`acc eval judge` on the command line, by rule."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
import typer
from helpers_evaluation import run
from helpers_toy import scenario_file

from acc_eval.cli_judge import parse_role_price
from acc_eval.judge_by_rule import NOTICE
from acc_eval.judge_measures import NAMES
from acc_eval.price import Price


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    scenario, log = scenario_file(tmp_path), tmp_path / "log.jsonl"
    return ["eval", "judge", str(scenario), "--log", str(log)]


def test_the_whole_path_by_rule_says_what_it_is(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    assert run([*arguments, "--model", "rule", "--seeds", "2", "--json", str(out)]) == 0
    told = capsys.readouterr().out
    assert NOTICE in told
    assert "2 complete runs, 0 answers not judged, 0 compressions failed" in told
    for name in NAMES:
        assert f"\n{name} " in told
    value = json.loads(out.read_text(encoding="utf-8"))
    assert value["note"] == NOTICE
    assert [memory["memory"] for memory in value["memories"]] == ["transcript", "retrieval", "acc"]
    assert [pair["first"] for pair in value["paired"]] == ["acc", "acc"]
    assert value["complete_runs"] == 2
    assert [turn["turn"] for turn in value["runs"][0]["agents"]["acc"]["turns"]] == [1, 2, 3, 4]
    assert value["runs"][0]["agents"]["acc"]["turns"][0]["drift"] is None


def test_a_budget_ends_with_an_error_that_says_how_to_go_on(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, "--model", "rule", "--budget", "tokens=9000", "--quiet"]) == 1
    told = capsys.readouterr()
    assert "stopped with 0 of 1 runs complete" in told.err
    assert "run the same command again" in told.err
    assert told.err.count("To fix") == 1
    assert run([*arguments, "--model", "rule", "--quiet"]) == 0


def test_what_is_resumed_expects_no_more_than_what_ran_through(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    def expected() -> list[tuple[int, int]]:
        found = re.findall(r"turns: ([\d,]+) tokens of about ([\d,]+)", capsys.readouterr().out)
        return [(int(a.replace(",", "")), int(b.replace(",", ""))) for a, b in found]

    assert run([*arguments, "--model", "rule", "--concurrency", "1"]) == 0
    ((spent, about),) = expected()
    assert spent < about
    assert run([*arguments, "--model", "rule", "--concurrency", "1"]) == 0
    ((all_spent, again),) = expected()
    assert all_spent > spent  # all of it is in the log, and counts from the start
    assert again == max(about, all_spent)


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ([], "no model for the agents"),
        (["--model", "cook=rule"], "cook=rule"),
        (["--model", "rule", "--budget", "money=1"], "money is limited, and the model"),
        (["--model", "rule", "--memory", "nothing"], "unknown memory 'nothing'"),
    ],
)
def test_what_is_missing_is_said_in_one_line(
    arguments: list[str], more: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, *more]) == 1
    told = capsys.readouterr().err
    assert what in told
    assert told.count("\n") == 1


def test_a_csv_has_a_line_for_each_agent_and_turn(arguments: list[str], tmp_path: Path) -> None:
    file = tmp_path / "turns.csv"
    assert run([*arguments, "--model", "rule", "--quiet", "--csv", str(file)]) == 0
    rows = list(csv.DictReader(file.open(encoding="utf-8")))
    assert len(rows) == 3 * 4
    assert [row["drift"] == "" for row in rows[:4]] == [True, False, False, False]
    assert float(rows[0]["memory_tokens"]) == 0


def test_a_csv_needs_no_complete_run(arguments: list[str], tmp_path: Path) -> None:
    file = tmp_path / "turns.csv"
    more = ["--model", "rule", "--quiet", "--budget", "tokens=9000", "--csv", str(file)]
    assert run([*arguments, *more]) == 1
    assert file.read_text("utf-8").startswith("scenario,domain,seed,memory,turn,")


def test_a_price_is_read(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*arguments, "--model", "rule", "--price", "agent=1"]) == 2
    assert "Invalid value for '--price': '1' is not IN,OUT" in capsys.readouterr().err
    assert parse_role_price("judge=2,8.5,0.2") == ("judge", Price(2, 8.5, 0.2))
    for wrong in ("judge=1", "cook=1,2", "judge=a,b", "judge=1,2,3,4", ""):
        with pytest.raises(typer.BadParameter):
            parse_role_price(wrong)
