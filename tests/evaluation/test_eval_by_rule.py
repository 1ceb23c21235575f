"""The rules that stand in for models: each answer fits its schema and moves the measure it should."""

from __future__ import annotations

from typing import Any

from acc.models.protocol import PromptMessage
from acc_eval.judge import (
    AUDIT_SCHEMA,
    CANONICAL_SCHEMA,
    QUERY_SCHEMA,
    SCORE_SCHEMA,
    material,
)
from acc_eval.judge_by_rule import answer_by_rule

NOTES = "constraints:\n- Never restart nginx before noon.\nfacts:\n- The p95 is 9 ms.\ngoals:\n-"


def answered(schema: dict[str, Any], *sources: tuple[str, str]) -> Any:
    return answer_by_rule([PromptMessage("user", material(*sources))], schema)


def test_a_query_is_the_script() -> None:
    said = answered(QUERY_SCHEMA, ("notes", NOTES), ("script of turn 2", "Go.\nOn."))
    assert said == {"query": "Go.\nOn."}


def test_notes_gain_rules_and_lose_those_that_are_lifted() -> None:
    query = "Write in euro only. You may restart nginx before noon now. What is 5?"
    notes = answered(CANONICAL_SCHEMA, ("notes", NOTES), ("the user's message in turn 2", query))
    assert notes["constraints"] == ["Write in euro only."]
    assert notes["facts"] == ["The p95 is 9 ms."]
    assert notes["required"] == ["Write in euro only."]
    assert set(notes) == set(CANONICAL_SCHEMA["properties"])


def test_an_audit_finds_claims_violations_and_omissions() -> None:
    audit = answered(
        AUDIT_SCHEMA,
        ("notes", NOTES),
        ("required of the answer", "- Draft a memo."),
        ("the user's message in turn 2", "How is the disk?"),
        ("tool outputs of this turn, for the label tools alone", "disk sda1 full"),
        (
            "the answer",
            "The disk sda1 is full. The p95 is 9 ms. Mars is red. I restart nginx before noon.",
        ),
    )
    assert [claim["support"] for claim in audit["claims"]] == ["tools", "notes", "none", "notes"]
    assert audit["violations"] == ["Never restart nginx before noon."]
    assert audit["omissions"] == ["Draft a memo."]


def test_marks_go_by_the_words_that_are_taken_up() -> None:
    scores = answered(
        SCORE_SCHEMA, ("notes", NOTES), ("the user's message in turn 2", "disk full"),
        ("answer A", "the disk is full"), ("answer B", "the disk"), ("answer C", "no"),
    )["answers"]  # fmt: skip
    assert [(s["label"], s["relevance"]) for s in scores] == [("A", 10.0), ("B", 5.0), ("C", 0.0)]
