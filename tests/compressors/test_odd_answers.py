"""Answers that are JSON and yet not quite what was asked for: their words are read, or asked for again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asking import GOOD, RULE, InProcess, asking, fact, stepped, wire

from acc.compress.model import ModelCompressor
from acc.pipeline.turn_pipeline import Step
from acc.state.reasons import Reason
from acc.testing import ModelServer


def came_of(answer: Any) -> Step:
    return stepped(ModelCompressor(InProcess(lambda _: json.dumps(answer))))


def db(**changed: Any) -> dict[str, Any]:
    return {**GOOD, "relational_map": [{**fact("db", "db-7", "u1"), **changed}]}


@pytest.mark.parametrize(
    "answer",
    [
        {**GOOD, "reasoning": "The user states a rule."},
        {**GOOD, "confidence": 0.9},
        {**GOOD, "notes": ["a rule", "a fact"]},
        {**GOOD, "semantic_gist": None, "retire": None},
        {**GOOD, "constraints": RULE},
        db(cites="u1"),
        {"proposal": GOOD, "reasoning": "The user states a rule."},
    ],
)
def test_what_is_beside_the_schema_costs_nothing(answer: Any) -> None:
    step = came_of(answer)
    assert (step.outcome, step.account and len(step.account.calls)) == ("ok", 1)
    assert [rule.text for rule in step.state.constraints] == ["Never restart nginx"]
    assert [relation.object for relation in step.state.relational_map] == ["db-7"]


@pytest.mark.parametrize(("number", "said"), [(7, "7"), (7.5, "7.5"), (-3, "-3")])
def test_a_number_in_place_of_a_text_is_its_digits(number: float, said: str) -> None:
    step = came_of(db(object=number))
    assert step.outcome == "ok"
    assert [relation.object for relation in step.state.relational_map] == [said]


def test_a_number_is_no_quote() -> None:
    step = came_of({**GOOD, "constraints": [{**RULE, "quote": 7}]})
    assert step.outcome == "rule_refused"
    assert step.state.constraints == ()


@pytest.mark.parametrize(
    "value", [True, ["db-7"], {"a": 1}, None, float("nan"), 1 << 70, "x" * 200_000]
)
def test_a_proposal_of_which_nothing_can_be_used_is_asked_for_again(value: Any) -> None:
    only = wire(relational_map=[{**fact("db", "db-7", "u1"), "object": value}])
    step = came_of(only)
    assert step.outcome == "wrong_shape"
    assert step.commit.held, "the turn is pending, and not lost"
    with ModelServer([only, GOOD]) as server:
        step = stepped(asking(server.base_url))
    assert step.outcome == "repaired"
    assert len(step.state.constraints) == 1


def test_one_item_that_cannot_be_used_is_told_and_the_rest_is_committed() -> None:
    step = came_of(db(object=True))
    assert step.outcome == "ok"
    assert len(step.state.constraints) == 1
    assert Reason.MALFORMED in [note.reason for note in step.commit.notes]


def test_a_rule_under_no_slots_name_is_asked_for_again() -> None:
    misnamed = {**{k: v for k, v in GOOD.items() if k != "constraints"}, "rules": [RULE]}
    with ModelServer([misnamed, GOOD]) as server:
        step = stepped(asking(server.base_url))
    assert step.outcome == "repaired"
    assert [rule.text for rule in step.state.constraints] == ["Never restart nginx"]
    step = came_of(misnamed)
    assert step.outcome == "rule_refused"
    assert [relation.object for relation in step.state.relational_map] == ["db-7"]


@pytest.mark.parametrize("slot", ["Checkout is slow", ["Checkout is slow"], [["x"]], [None], {}, 7])
def test_a_slot_that_holds_no_objects_is_the_wrong_shape(slot: Any) -> None:
    assert came_of({**GOOD, "semantic_gist": slot}).outcome == "wrong_shape"


def test_a_rule_in_another_language_is_kept_in_the_users_words() -> None:
    step = came_of({**GOOD, "constraints": [{**RULE, "text": "Starte nginx niemals neu"}]})
    assert step.outcome == "ok"
    assert [rule.text for rule in step.state.constraints] == ["Never restart nginx"]
    translated = {**RULE, "text": "Starte nginx nie", "quote": "Starte nginx nie neu"}
    assert came_of({**GOOD, "constraints": [translated]}).outcome == "rule_refused"
