"""Precision and recall of the gate: worked by hand, and on a scenario."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers_evaluation import run
from helpers_toy import scenario_file, toy

from acc.errors import InputError
from acc.state.policy import Gate
from acc.state.tail import Message
from acc.turn.observations import Channel, Observation
from acc_eval.gate_scoring import (
    Label,
    LabelledCase,
    as_lines,
    case_of,
    cases_of,
    read_labelled,
    score_gate,
)

OPEN = Gate(opens=0.0, least=0.0, news=0.0)
SHUT = Gate(opens=100.0)
QUESTION = "Which port does the proxy use?"


def case(**labelled: tuple[str, bool | None]) -> LabelledCase:
    messages = [
        Message(Observation(channel=Channel.USER, text=text, ref=ref), turn)
        for turn, (ref, (text, _)) in enumerate(labelled.items(), 1)
    ]
    labels = {ref: Label(wanted) for ref, (_, wanted) in labelled.items()}
    return case_of(QUESTION, messages, labels)


def test_counts_by_hand() -> None:
    """Recall finds what shares words; an open gate admits it all."""
    cases = [
        case(a=("Lunch was nice.", True), b=("Dinner was nice.", False),
             c=("The proxy uses port 8443.", True), d=("The proxy is old.", False)),
        case(a=("A port of call.", None), b=("Proxy port: 80.", True)),
    ]  # fmt: skip
    score = score_gate(cases, OPEN)
    assert (score.cases, score.labelled, score.wanted) == (2, 4, 3)
    assert (score.admitted, score.right) == (3, 2)
    assert score.precision == score.recall == pytest.approx(2 / 3)
    assert score.f1 == pytest.approx(2 / 3)
    assert score.base == pytest.approx(3 / 4)
    assert score.refusals == {"not_found": 1}
    assert (score.needs, score.found) == (3, 2)


def test_a_shut_gate_says_why() -> None:
    score = score_gate([case(a=("The proxy uses port 8443.", True))], SHUT)
    assert (score.recall, score.refusals) == (0.0, {"off_topic": 1})


def test_what_several_say_is_found_where_one_of_them_is_admitted() -> None:
    labelled = case(a=("Lunch: 8443.", True), b=("The proxy uses port 8443.", True))
    both = {ref: Label(True, frozenset({"port"})) for ref in labelled.labels}
    score = score_gate([LabelledCase(QUESTION, labelled.candidates, both)], OPEN)
    assert (score.needs, score.found) == (1, 1)
    assert score.recall == pytest.approx(1 / 2)
    assert score_gate([]).needs_found is None


def test_without_opportunity_a_rate_is_undefined() -> None:
    nothing = score_gate([])
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.base) == (None,) * 4
    wrong = score_gate([case(a=("Lunch.", True), b=("The proxy port is blue.", False))], OPEN)
    assert (wrong.precision, wrong.recall, wrong.f1) == (0.0, 0.0, 0.0)


def test_what_the_agent_reads_anyway_is_known() -> None:
    text = "The proxy uses port 8443."
    line = {"question": QUESTION, "read": text, "messages": [{"text": text, "wanted": True}]}
    tail = json.dumps({**line, "read": "", "in_tail": ["x1"]})
    for given, reason in ((json.dumps(line), "known"), (tail, "in_tail")):
        (found,) = _read(given)
        assert score_gate([found]).refusals == {reason: 1}


def _read(*lines: str) -> list[LabelledCase]:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        file = Path(folder) / "labels.jsonl"
        file.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
        return list(read_labelled(file))


def test_a_file_of_labels() -> None:
    (found,) = _read(
        json.dumps({
            "question": QUESTION,
            "messages": [
                {"text": "Lunch was nice.", "wanted": False},
                {"text": "The proxy uses port 8443.", "channel": "tool", "turn": 3, "wanted": True},
            ],
        })
    )  # fmt: skip
    assert found.candidates[0].evidence.text == "The proxy uses port 8443."
    assert found.candidates[0].evidence.channel is Channel.TOOL
    score = score_gate([found])
    assert (score.precision, score.recall) == (1.0, 1.0)


def test_a_scenarios_messages_go_to_a_file_and_come_back(tmp_path: Path) -> None:
    cases = list(cases_of(toy(tmp_path)))
    assert [c.question for c in cases] == [p["question"] for p in json.loads(
        (tmp_path / "toy.json").read_text(encoding="utf-8"))["probes"]]  # fmt: skip
    again = _read(*as_lines(cases))
    assert score_gate(again) == score_gate(cases)
    assert [c.candidates for c in again] == [c.candidates for c in cases]


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
        ('{"question": "x", "messages": []}', "messages"),
        ('{"question": "x", "messages": [{"text": "y"}]}', "messages 0 wanted"),
        ('{"question": "x", "messages": [{"text": "y", "wanted": true, "turn": -3}]}', "turn"),
        ('{"question": "x", "messages": [{"text": "y", "wanted": true}], "state": {}}', "state"),
    ],
)
def test_a_malformed_line_is_named(line: str, said: str) -> None:
    with pytest.raises(InputError, match="line 1") as error:
        _read(line)
    assert said in str(error.value)
