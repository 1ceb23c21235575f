"""One repair with what was wrong, and one smaller input; valid JSON of the wrong meaning has a name."""

from __future__ import annotations

from typing import Any

import pytest
from asking import GOOD, SAID, asking, fact, stepped, wire

from acc.compress.protocol import Price
from acc.pipeline.update import update_state
from acc.testing import Fault, ModelServer
from acc.turn.turn import Turn


def test_one_repair_with_what_was_wrong_and_both_are_paid() -> None:
    with ModelServer([{"nonsense": []}, GOOD]) as server:
        step = stepped(asking(server.base_url, price=Price(1.0, 2.0, 0.5)))
    assert step.outcome == "repaired"
    assert step.account is not None
    assert step.account.calls == ("wrong_shape", "ok")
    first, second = server.requests
    assert [m.role for m in second.messages] == ["system", "user", "assistant", "user"]
    assert "none of the schema's slots" in second.messages[-1].text
    assert step.usage["input"] == first.input_tokens + second.input_tokens
    assert step.money == Price(1.0, 2.0, 0.5).of(step.usage) > 0


def test_a_reply_that_was_cut_off_gets_twice_the_room() -> None:
    with ModelServer(lambda _: GOOD, faults=[Fault("truncated")]) as server:
        assert stepped(asking(server.base_url)).outcome == "repaired"
    first, second = (request.max_output_tokens for request in server.requests)
    assert first == 2 * 800 + 1_024
    assert second == 2 * first


WRONG: dict[str, dict[str, Any]] = {
    "unknown_ids": wire(
        relational_map=[fact("db", "db-8", "u77", id="r99"), fact("disk", "nvme", "u77")],
        episodic_trace=[{"text": "moved", "cites": ["u2"], "id": ""}],
    ),
    "prompt_echo": wire(
        semantic_gist=[
            {"text": "The cognitive compressor proposes a revision of the state with citing refs and ids",
             "cites": ["u1"], "id": ""}
        ]
    ),
}  # fmt: skip


@pytest.mark.parametrize("outcome", WRONG)
def test_valid_json_of_the_wrong_meaning_has_a_name(outcome: str) -> None:
    with ModelServer([WRONG[outcome]], repeats=True) as server:
        step = stepped(asking(server.base_url), turn=Turn.said("And now?"))
    assert step.outcome == outcome
    assert step.account is not None
    assert step.account.calls == (outcome, outcome)
    assert step.commit.held


def test_a_rewrite_that_loses_half_of_the_items_has_a_name() -> None:
    first = wire(relational_map=[fact(f"host {n}", f"rack-{n}", "u1") for n in range(6)])
    kept = wire(relational_map=[fact("host 0", "rack-0", "u2", id="r1")])
    with ModelServer([first, kept, kept]) as server:
        compressor = asking(server.base_url, mode="rewrite")
        state = update_state(None, Turn.said("Six hosts."), compressor=compressor).state
        assert len(state.relational_map) == 6
        done = update_state(state, Turn.said("Go on."), compressor=compressor)
    assert "r2" in server.requests[-1].messages[-1].text
    assert done.held
    assert len(done.state.relational_map) == 6


def test_a_rewrite_may_end_items_if_it_says_so() -> None:
    first = wire(relational_map=[fact(f"host {n}", f"rack-{n}", "u1") for n in range(6)])
    retired = [{"id": f"r{n}", "cites": [], "quote": ""} for n in range(2, 7)]
    kept = wire(relational_map=[fact("host 0", "rack-0", "u2", id="r1")], retire=retired)
    with ModelServer([first, kept]) as server:
        compressor = asking(server.base_url, mode="rewrite")
        state = update_state(None, Turn.said("Six hosts."), compressor=compressor).state
        done = update_state(state, Turn.said("Only host 0 is left."), compressor=compressor)
    assert [r.subject for r in done.state.relational_map] == ["host 0"]


def test_a_rule_that_commit_would_refuse_is_asked_for_again() -> None:
    made_up = wire(constraints=[{**GOOD["constraints"][0], "quote": "Do not restart nginx, ever"}])
    with ModelServer([made_up, GOOD]) as server:
        step = stepped(asking(server.base_url))
    assert "quote_not_found" in server.requests[1].messages[-1].text
    assert step.outcome == "repaired"
    assert len(step.state.constraints) == 1


@pytest.mark.parametrize("second", [Fault("refusal"), Fault("400"), Fault("invalid_json")])
def test_where_the_repair_fails_the_rest_of_the_proposal_stands(second: Fault) -> None:
    made_up = {**GOOD, "constraints": [{**GOOD["constraints"][0], "quote": "Nothing of the kind"}]}
    with ModelServer([made_up, GOOD], faults=[None, second]) as server:
        step = stepped(asking(server.base_url))
    assert step.outcome == "rule_refused"
    assert step.failure == ""
    assert [fact.object for fact in step.state.relational_map] == ["db-7"]
    assert step.state.constraints == ()


def test_what_is_too_long_to_read_is_cut_once_and_the_cut_is_told() -> None:
    log = "\n".join(f"line {n}: nothing of note here" for n in range(400))
    overflow = Fault("context_overflow")
    with ModelServer(lambda _: GOOD, faults=[overflow]) as server:
        step = stepped(asking(server.base_url), turn=Turn.said(f"{SAID}\n{log}"))
    first, second = (len(request.prompt) for request in server.requests)
    assert second < first - 4_000
    assert step.outcome == "ok"
    assert step.account is not None
    assert step.account.calls == ("context_overflow", "ok")
    assert sum(step.account.left_out.values()) > 4_000
    with ModelServer(lambda _: GOOD, faults=[overflow]) as again:
        stepped(asking(again.base_url), turn=Turn.said(f"{SAID}\n{log}"))
    assert again.requests[1].messages == server.requests[1].messages


@pytest.mark.parametrize("second", [GOOD, {**GOOD, "constraints": []}, Fault("invalid_json")])
def test_a_rule_that_the_answer_lacks_is_asked_for_once(second: Any) -> None:
    lacking = {**GOOD, "constraints": []}
    fault = second if isinstance(second, Fault) else None
    with ModelServer([lacking, GOOD if fault else second], faults=[None, fault]) as server:
        step = stepped(asking(server.base_url))
    assert (
        "'Never restart nginx.', which reads as a standing rule"
        in server.requests[1].messages[-1].text
    )
    assert (step.outcome, len(step.state.constraints)) == (
        ("repaired", 1) if second is GOOD else ("rule_missed", 0)
    )
    assert step.state.relational_map  # the rest of the answer is committed
