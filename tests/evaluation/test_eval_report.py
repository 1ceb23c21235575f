"""`acc eval report`: results on a page, and files that are none."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path

import pytest
from helpers_evaluation import run
from helpers_toy import scenario_file

from acc_eval.judge_by_rule import NOTICE
from acc_eval.judge_measures import NAMES
from acc_eval.probe_results import RATES


@pytest.fixture
def probed(tmp_path: Path) -> Path:
    scenario, out = scenario_file(tmp_path), tmp_path / "probe.json"
    memories = ["--memory", "transcript", "--memory", "recent,tokens=40"]
    assert run(["eval", "probe", str(scenario), *memories, "--json", str(out), "--quiet"]) == 0
    return out


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    scenario, out = scenario_file(tmp_path), tmp_path / "judge.json"
    arguments = ["--log", str(tmp_path / "log.jsonl"), "--model", "rule", "--quiet", "--turns", "2"]
    memories = ["--memory", "transcript", "--memory", "recent"]
    assert run(["eval", "judge", str(scenario), *arguments, *memories, "--json", str(out)]) == 0
    return out


def test_both_on_one_page(probed: Path, judged: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run(["eval", "report", str(probed), str(judged), "--out", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.index(escape(NOTICE)) < text.index("Figure 5") < text.index("Figure 6")
    assert text.index("Figure 7") < text.index("Probe: what is held")
    for name in (*NAMES, *RATES):
        assert f"<td>{name}" in text
    assert "operations: memory tokens by turn" in text
    assert len(re.findall("<figure>", text)) == (2 + 1 + 2) + (2 + 5)
    assert "<script" not in text


def test_json_tells_which_page_shows_what(
    probed: Path, judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    capsys.readouterr()
    assert run(["eval", "report", str(probed), str(judged), "--out", str(page), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["page"] == str(page)
    assert page.exists()
    assert told["results"] == [
        {"file": str(judged), "kind": "judge"},
        {"file": str(probed), "kind": "probe"},
    ]


def test_a_value_stands_on_the_page_as_in_the_results(probed: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run(["eval", "report", str(probed), "--out", str(page)]) == 0
    value = json.loads(probed.read_text(encoding="utf-8"))["memories"][0]["averages"]["end"]
    cell = f"{value['micro']['facts_stale']:.3f} ({value['macro']['facts_stale']:.3f})"
    row = re.search(r"<tr><td>facts_stale -</td>(.*?)</tr>", page.read_text(encoding="utf-8"))
    assert row
    assert cell in row[1]
    assert cell == "1.000 (1.000)"


def test_what_is_missing_is_named(probed: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run(["eval", "report", str(probed), "--out", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "recent,tokens=40: missing, or held and should not be, at the end" in text
    assert "not answered in turn" in text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("[]", "no results of an evaluation"),
        ('{"metrics": [], "scenarios": [], "memories": [{}], "counter": "x"}', "are incomplete"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_is_no_result_ends_in_one_line(
    content: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "r.json"
    if content is not None:
        file.write_text(content)
    assert run(["eval", "report", str(file), "--out", str(tmp_path / "o.html")]) == 1
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert not (tmp_path / "o.html").exists()


def test_results_are_not_overwritten(probed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = probed.read_bytes()
    assert run(["eval", "report", str(probed), "--out", str(probed)]) == 1
    assert "would overwrite results" in capsys.readouterr().err
    assert probed.read_bytes() == before
