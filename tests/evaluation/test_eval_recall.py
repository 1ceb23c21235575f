"""`acc eval locomo`: worked by hand on a conversation in LoCoMo's format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers_evaluation import run

from acc.errors import InputError
from acc_eval.locomo import Outcome, labelled_by_evidence, load_locomo, measure, summary

SAYS = ["I adopted a greyhound named Biscuit.", "Lovely!", "The marathon is in Oslo.", "Good luck."]


def sample(**changed: Any) -> dict[str, Any]:
    turns = [
        {"speaker": "Ada" if n % 2 else "Bo", "dia_id": f"D1:{n}", "text": text}
        for n, text in enumerate(SAYS, 1)
    ]
    turns[2]["blip_caption"] = "a harbour"
    later = [{"speaker": "Bo", "dia_id": "D10:1", "text": "My sister bakes rye bread."}]
    questions = [
        {"question": "What is the greyhound called?", "category": 4, "evidence": ["D1:1"]},
        {"question": "Where is the marathon and who bakes?", "category": 1,
         "evidence": ["D1:03; D10:1"]},
        {"question": "Nothing to find", "category": 4, "evidence": ["D9:9"]},
        {"question": "A trick", "category": 5, "evidence": ["D1:1"]},
    ]  # fmt: skip
    conversation = {"session_10": later, "session_1": turns, "session_1_date_time": "noon"}
    return {"conversation": conversation, "qa": questions, **changed}


def written(folder: Path, value: Any) -> Path:
    (file := folder / "locomo.json").write_text(json.dumps(value), encoding="utf-8")
    return file


def test_documents_and_evidence_are_read(tmp_path: Path) -> None:
    (conversation,) = load_locomo(written(tmp_path, [sample()]))
    assert conversation.documents[0] == "Ada: I adopted a greyhound named Biscuit."
    assert conversation.documents[2] == "Ada: The marathon is in Oslo. [image: a harbour]"
    assert conversation.documents[4] == "Bo: My sister bakes rye bread."
    assert [q.evidence for q in conversation.questions] == [frozenset({0}), frozenset({2, 4})]


def test_recall_of_each_question(tmp_path: Path) -> None:
    (conversation,) = load_locomo(written(tmp_path, [sample()]))
    assert [o.recall for o in measure(conversation)] == [(1.0, 1.0, 1.0), (1.0, 1.0, 1.0)]


def test_figures_are_means_over_questions() -> None:
    found = summary(
        [Outcome(1, (0.0, 0.5, 0.5)), Outcome(4, (1.0, 1.0, 1.0)), Outcome(4, (0, 0, 0))]
    )
    assert found["R@5"] == pytest.approx(1 / 3)
    assert found["R@10"] == pytest.approx(0.5)
    assert found["hit@16"] == pytest.approx(2 / 3)
    assert (found["R@16 multi-hop"], found["R@16 single-hop"]) == (0.5, 0.5)
    assert "R@16 temporal" not in found


def test_candidates_are_labelled_by_evidence(tmp_path: Path) -> None:
    (conversation,) = load_locomo(written(tmp_path, [sample()]))
    first, _ = labelled_by_evidence(conversation)
    assert first.candidates[0].evidence.ref == "u0"
    assert [ref for ref, label in first.labels.items() if label.wanted] == ["u0"]


def test_the_command_tells_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = written(tmp_path, [sample()]), tmp_path / "out.json"
    assert run(["eval", "locomo", str(file), "--json", str(out)]) == 0
    assert "1 conversations, 2 questions" in capsys.readouterr().out
    value = json.loads(out.read_text(encoding="utf-8"))
    assert value["figures"]["R@16"] == 1.0
    assert value["gate"]["cases"] == 2


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({}, "no list of conversations"),
        ([], "no list of conversations"),
        ([{"qa": []}], "conversation 1: KeyError"),
        ([sample(qa=[])], "no question with evidence"),
        ([sample(qa=[{"question": "x"}])], "conversation 1: KeyError: 'evidence'"),
    ],
)
def test_what_is_not_locomo_is_refused(value: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        load_locomo(written(tmp_path, value))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_locomo(tmp_path / "none.json")
    (broken := tmp_path / "b.json").write_text("{")
    with pytest.raises(InputError, match="not JSON"):
        load_locomo(broken)
