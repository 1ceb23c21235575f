"""The log of calls: nothing is lost, nothing is paid twice, nothing else is written to."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from helpers_evaluation import (
    ACC,
    Fault,
    Request,
    asks_for,
    by_rule,
    live,
    played,
    role_of,
    runs_of,
)
from helpers_toy import toy

from acc.errors import ConfigurationError, EvaluationError
from acc_eval.judge_calls import Budget, CallLog, Spending
from acc_eval.judge_runs import play
from acc_eval.price import Price
from acc_eval.scenarios import Scenario

SCHEMA = {"type": "object", "properties": {}}


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    return toy(tmp_path)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "calls.jsonl"


def calls(log: Path) -> list[dict[str, Any]]:
    records = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    return [record for record in records if record["kind"] == "call"]


def test_a_record_is_found_after_reopening(log: Path) -> None:
    with CallLog(log, {"a": 1}) as first:
        first.add_call("k1", {"reply": {"text": "ü\ud800"}}, SCHEMA)
        first.add_call("k2", {"reply": {"text": "two"}}, SCHEMA)
        assert first.find("k1") == {"kind": "call", "key": "k1", "schema": first.find("k2")["schema"],
                                    "reply": {"text": "ü\ud800"}}  # fmt: skip
    with CallLog(log, {"a": 1}) as again:
        assert again.find("k2")["reply"] == {"text": "two"}
        assert again.find("k3") is None
        assert [record["key"] for record in again.calls()] == ["k1", "k2"]
    assert log.read_bytes().count(b'"kind": "schema"') == 1


def test_a_torn_line_is_cut_off(log: Path) -> None:
    with CallLog(log, {}) as first:
        first.add_call("k1", {"reply": {}}, SCHEMA)
    whole = log.read_bytes()
    log.write_bytes(whole + b'{"kind": "call", "key": "k2", "rep')
    with CallLog(log, {}) as again:
        assert (again.find("k1") is None, again.find("k2")) == (False, None)
        again.add_call("k3", {"reply": {}}, SCHEMA)
    assert log.read_bytes().startswith(whole)
    assert [record["key"] for record in calls(log)] == ["k1", "k3"]


def test_a_log_of_another_configuration_is_refused(log: Path) -> None:
    CallLog(log, {"seeds": [1], "models": {"agent": "a"}}).close()
    with pytest.raises(ConfigurationError, match="other settings: models, turns"):
        CallLog(log, {"seeds": [1], "models": {"agent": "b"}, "turns": 3})
    CallLog(log, {"seeds": [1], "models": {"agent": "a"}}).close()


def test_a_file_that_is_no_log_is_left_as_it_is(log: Path) -> None:
    log.parent.mkdir()
    for content in (b"hello\n", b"[]\n", b'{"kind": "call", "key": "k"}\n'):
        log.write_bytes(content)
        with pytest.raises(EvaluationError, match="not a log"):
            CallLog(log, {})
        assert log.read_bytes() == content


def test_a_log_that_is_being_written_is_refused(log: Path) -> None:
    found: list[Exception] = []

    def second() -> None:
        try:
            CallLog(log, {})
        except EvaluationError as error:
            found.append(error)

    with CallLog(log, {}):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert "another process is writing" in str(found[0])


def test_every_prompt_and_reply_is_logged(scenario: Scenario, log: Path) -> None:
    with live(scenario, log) as (wanted, server):
        result = played(wanted)
    logged = calls(log)
    asked = {(role_of(r), tuple((m.role, m.content) for m in r.messages)) for r in server.requests}
    written = {(c["role"], tuple((m["role"], m["content"]) for m in c["messages"])) for c in logged}
    assert written == asked
    assert len(logged) == len(server.requests) == sum(result.spending.calls.values())
    first = json.loads(log.read_text(encoding="utf-8").splitlines()[0])
    assert first["models"] == {role: f"{role}-model" for role in ("agent", "compressor", "judge")}
    assert [memory["label"] for memory in first["memories"]] == [
        "transcript",
        "retrieval,k=2",
        "acc",
    ]


def test_the_same_again_pays_nothing_and_finds_the_same(scenario: Scenario, log: Path) -> None:
    with live(scenario, log, seeds=(1, 2)) as (wanted, _):
        first = played(wanted)
    before = log.read_bytes()
    with live(scenario, log, seeds=(1, 2)) as (wanted, server):
        again = played(wanted)
        assert server.requests == []
    assert runs_of(again) == runs_of(first)
    assert again.spending.tokens == first.spending.tokens > 0
    assert log.read_bytes() == before


SLOW = [pytest.param(at, marks=pytest.mark.slow) for at in (2, 4, 9, 14, 23, 30)]


@pytest.mark.parametrize("fails_at", [1, 5, 17, 35, *SLOW])
def test_after_a_crash_nothing_is_paid_twice(
    fails_at: int, scenario: Scenario, log: Path, tmp_path: Path
) -> None:
    count = failed = 0

    def breaks(request: Request) -> Any:
        nonlocal count, failed
        # The compressor's own failures are survived; see below.
        count += role_of(request) != "compressor"
        down = count >= fails_at and role_of(request) != "compressor"
        failed += down
        return Fault() if down else by_rule(request)

    with live(scenario, log, breaks, concurrency=1) as (wanted, server):
        with pytest.raises(EvaluationError, match="does not answer: server_error"):
            played(wanted)
        paid = len(calls(log))
        assert paid == len(server.requests) - failed
        assert failed > 0
    with live(scenario, log, concurrency=1) as (wanted, server):
        resumed = played(wanted)
        rest = len(server.requests)
    with live(scenario, tmp_path / "whole.jsonl", concurrency=1) as (wanted, server):
        whole = played(wanted)
        assert len(server.requests) == paid + rest
    assert runs_of(resumed) == runs_of(whole)


def test_a_compressor_that_failed_is_met_again(scenario: Scenario, log: Path) -> None:
    def breaks(request: Request) -> Any:
        down = role_of(request) == "compressor" and "Turn 2" in request.messages[-1].content
        return Fault("context_overflow") if down else by_rule(request)

    with live(scenario, log, breaks, memories=[ACC]) as (wanted, _):
        first = played(wanted)
    assert first.runs[0].failures["acc"] > 0
    with live(scenario, log, memories=[ACC]) as (wanted, server):
        again = played(wanted)
        assert server.requests == []
    assert runs_of(again) == runs_of(first)


def test_a_budget_stops_cleanly_and_a_larger_one_goes_on(
    scenario: Scenario, log: Path, tmp_path: Path
) -> None:
    with live(scenario, tmp_path / "whole.jsonl") as (wanted, _):
        whole = played(wanted)
    tokens = 0
    bounds = [whole.spending.tokens * 6 // 10, None]
    for bound in bounds:
        with live(scenario, log, budget=Budget(tokens=bound)) as (wanted, _):
            part = played(wanted)
        assert tokens <= part.spending.tokens <= (bound or whole.spending.tokens)
        tokens = part.spending.tokens
        assert bool(part.stopped) == (bound is not None)
    assert "tokens, and" not in part.stopped
    assert runs_of(part) == runs_of(whole)
    assert tokens == whole.spending.tokens


def test_a_budget_in_money_is_kept(scenario: Scenario, log: Path) -> None:
    prices = {role: Price(1.0, 1.0) for role in ("agent", "compressor", "judge")}
    with live(scenario, log, budget=Budget(money=0.008, prices=prices)) as (wanted, _):
        result = played(wanted)
    assert 0 < result.spending.money <= 0.008
    assert result.spending.money == pytest.approx(result.spending.tokens / 1_000_000)
    assert "budget of 0.008" in result.stopped


def test_a_budget_that_the_compressor_meets_ends_the_run(scenario: Scenario, log: Path) -> None:
    """The memory would survive it; the evaluation must not go on with the state before."""
    with live(scenario, log, memories=[ACC], budget=Budget(tokens=6_000)) as (wanted, _):
        result = played(wanted)
    assert result.stopped
    assert all(
        record["role"] != "compressor" or "failed" not in record["reply"] for record in calls(log)
    )


def test_concurrency_changes_nothing_that_is_found(scenario: Scenario, tmp_path: Path) -> None:
    found = []
    for concurrency in (1, 6):
        with live(
            scenario, tmp_path / f"{concurrency}.jsonl", seeds=(1, 2), concurrency=concurrency
        ) as (wanted, _):
            found.append(runs_of(played(wanted)))
    assert found[0] == found[1]


def test_a_stop_ends_with_the_turn(scenario: Scenario, log: Path) -> None:
    stop = threading.Event()

    def after(_: Spending) -> None:
        stop.set()

    with live(scenario, log) as (wanted, _):
        result = play(wanted, after, stop)
    assert result.stopped == "interrupted"
    assert [len(turns) for turns in result.runs[0].agents.values()] == [1, 1, 1]
    with live(scenario, log) as (wanted, server):
        assert played(wanted).stopped == ""
        assert not any(
            asks_for(r, "query") and "script of turn 1\n" in r.prompt for r in server.requests
        )
