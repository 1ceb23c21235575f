"""Precision and recall of the gate: worked by hand, and on a scenario."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from toy import scenario_file, toy

from acc.cli import run
from acc.errors import InputError
from acc.evaluation.gate_scoring import (
    LabelledCase,
    as_lines,
    cases_of,
    of_user,
    read_labelled,
    score_gate,
)
from acc.gate.protocol import Context
from acc.recall.candidates import Candidate


def case(texts: Sequence[str], wanted: Sequence[bool | None]) -> LabelledCase:
    candidates = [Candidate(of_user(t, n), 1.0 - n / 10, 1.0) for n, t in enumerate(texts)]
    return LabelledCase("which port?", candidates, wanted, turn=len(texts))


def says_yes(candidate: Candidate, _: Context) -> bool:
    return candidate.artifact.text.startswith("yes")


def test_counts_by_hand() -> None:
    cases = [
        case(["yes a", "yes b", "no c"], [True, False, True]),
        case(["no d", "yes e", "yes f"], [False, None, True]),
    ]
    score = score_gate(cases, says_yes)
    assert (score.cases, score.labelled, score.wanted) == (2, 5, 3)
    assert (score.admitted, score.right) == (3, 2)
    assert score.precision == pytest.approx(2 / 3)
    assert score.recall == pytest.approx(2 / 3)
    assert score.f1 == pytest.approx(2 / 3)
    assert score.base == pytest.approx(3 / 5)
    assert score.refusals == {"says_yes": 1}


def test_what_several_say_is_found_where_one_of_them_is_admitted() -> None:
    texts, wanted = ["yes 80", "no 80", "no https", "yes b"], [True, True, True, False]
    says = [frozenset(s.split()) for s in ("port", "port", "port scheme", "port")]
    alike = replace(case(texts, wanted), says=says)
    score = score_gate([alike, case(["yes a", "no b"], [True, True])], says_yes)
    assert (score.needs, score.found) == (4, 2)  # of port, scheme, a and b: port and a
    assert score.needs_found == pytest.approx(1 / 2)
    assert score.recall == pytest.approx(2 / 5)
    assert score_gate([], says_yes).needs_found is None


def test_the_default_gate_asks_for_a_share_of_the_best() -> None:
    talk = [(1.0, True), (0.46, True), (0.44, True), (0.2, False)]
    cases = [
        LabelledCase(
            "Which port?",
            [
                Candidate(of_user(f"the port is {n}", n), score, 1.0)
                for n, (score, _) in enumerate(talk)
            ],
            [wanted for _, wanted in talk],
            turn=4,
        )
    ]
    score = score_gate(cases)
    assert (score.admitted, score.right, score.refusals) == (2, 2, {"relevance": 1})


def test_without_opportunity_a_rate_is_undefined() -> None:
    nothing = score_gate([], says_yes)
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.base) == (None,) * 4
    wrong = score_gate([case(["yes a", "no b"], [False, True])], says_yes)
    assert (wrong.precision, wrong.recall, wrong.f1) == (0.0, 0.0, 0.0)
    assert score_gate([case(["no a"], [False])], says_yes).precision is None


def test_the_floor_asks_again() -> None:
    low = [Candidate(of_user("the port is 80", 0), 0.15, 1.0)]
    cases = [LabelledCase("which port?", low, [True], turn=1)]
    assert score_gate(cases).recall == 0.0
    assert score_gate(cases, floor=1).recall == 1.0


def test_a_file_of_labels(tmp_path: Path) -> None:
    lines = [
        {"question": "Which port does the proxy use?", "candidates": [
            {"text": "Lunch was nice.", "wanted": False},
            {"text": "The proxy uses port 8443.", "channel": "tool", "turn": 3, "wanted": True},
        ]},
    ]  # fmt: skip
    file = tmp_path / "labels.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)) + "\n\n", encoding="utf-8")
    (found,) = read_labelled(file)
    assert found.candidates[0].artifact.text == "The proxy uses port 8443."
    assert list(found.wanted) == [True, False]
    score = score_gate([found])
    assert (score.precision, score.recall) == (1.0, 1.0)


def test_a_scenarios_candidates_go_to_a_file_and_come_back(tmp_path: Path) -> None:
    cases = list(cases_of(toy(tmp_path)))
    assert [c.question for c in cases] == [p["question"] for p in json.loads(
        (tmp_path / "toy.json").read_text(encoding="utf-8"))["probes"]]  # fmt: skip
    (file := tmp_path / "out.jsonl").write_text("\n".join(as_lines(cases)), encoding="utf-8")
    again = list(read_labelled(file))
    assert score_gate(again) == score_gate(cases)
    assert [list(c.wanted) for c in again] == [list(c.wanted) for c in cases]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario, labels = scenario_file(tmp_path), tmp_path / "labels.jsonl"
    assert run(["eval", "gate", str(scenario), "--write", str(labels)]) == 0
    told = capsys.readouterr().out
    assert "+ precision" in told
    assert run(["eval", "gate", str(labels)]) == 0
    assert capsys.readouterr().out == told


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ('{"question": "x", "candidates": []}', "candidates"),
        ('{"question": "x", "candidates": [{"text": "y"}]}', "candidates 0 wanted"),
        ('{"question": "x", "candidates": [{"text": "y", "wanted": true, "score": NaN}]}', "score"),
        ('{"question": "x", "candidates": [{"text": "y", "wanted": true, "score": 2}]}', "score"),
        ('{"question": "x", "candidates": [{"text": "y", "wanted": true}], "turn": -3}', "turn"),
        ('{"question": "x", "candidates": [{"text": "y", "wanted": true}], "state": {"a": 1}}', ""),
    ],
)
def test_a_malformed_line_is_named(line: str, said: str, tmp_path: Path) -> None:
    (file := tmp_path / "l.jsonl").write_text(line)
    with pytest.raises(InputError, match="line 1") as error:
        list(read_labelled(file))
    assert said in str(error.value)
