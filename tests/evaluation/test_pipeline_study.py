"""The whole case study: once by rule, and once with a model's server as agents and judge."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers_evaluation import Fault, Request, ScriptedModel

from acc.text.lines import canonical_json
from acc.text.tokens import utf8_quarter
from acc_eval.judge_calls import CallLog
from benchmarks.pipeline_study.__main__ import _options, _plan, main
from benchmarks.pipeline_study.judging import METRICS
from benchmarks.pipeline_study.losses import losses
from benchmarks.pipeline_study.paper_figures import TABLE_2
from benchmarks.pipeline_study.rule_agents import NOTICE, Luck, answer, known
from benchmarks.pipeline_study.running import HEARING, MEMORIES, Condition, Outcome, Plan, studied
from benchmarks.pipeline_study.team import AGENTS, TASK, WORKERS, system_prompt

pytestmark = pytest.mark.slow


def _calls(log: Path, plan: Plan) -> list[dict[str, Any]]:
    with CallLog(log, plan.configuration()) as calls:
        return list(calls.calls())


@pytest.fixture(scope="module")
def by_rule(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Path, list[Outcome]]:
    plan = Plan(runs=3, contexts=(2_048,), turns=30, talk=1)
    log = tmp_path_factory.mktemp("study") / "calls.jsonl"
    return plan, log, studied(plan, log)


ByRule = tuple[Plan, Path, list[Outcome]]


def test_every_memory_plays_every_run(by_rule: ByRule) -> None:
    plan, _, outcomes = by_rule
    assert {(o.condition, o.run) for o in outcomes} == {
        (c, r) for c in plan.conditions for r in (1, 2, 3)
    }
    assert {o.condition.memory for o in outcomes} == set(MEMORIES)
    for outcome in outcomes:
        assert outcome.scores is not None
        assert set(outcome.scores) == set(METRICS)
        assert outcome.agreed == (outcome.condition.memory != "nothing")
        assert outcome.failures == 0


def test_the_runs_are_not_copies_of_one_another(by_rule: ByRule) -> None:
    _, _, outcomes = by_rule
    for memory in MEMORIES:
        documents = [o.document for o in outcomes if o.condition.memory == memory]
        assert len(set(documents)) == 3


def test_a_memory_that_keeps_nothing_scores_worse_in_every_run(by_rule: ByRule) -> None:
    _, _, outcomes = by_rule
    total = {(o.condition.memory, o.run): sum((o.scores or {}).values()) for o in outcomes}
    for run in (1, 2, 3):
        for memory in ("window", "broadcast", "roles"):
            assert total["nothing", run] < total[memory, run]


def test_where_statements_are_lost_adds_up(by_rule: ByRule) -> None:
    plan, _, outcomes = by_rule
    rows = {row[0]: [float(count) for count in row[1:]] for row in list(losses(plan, outcomes))[1:]}
    knew = sum(len(known(worker, run)) for worker in WORKERS for run in (1, 2, 3)) / 3
    for condition in plan.conditions:
        row = rows[condition.label]
        assert row[0] == pytest.approx(knew, abs=0.05)
        assert row[0] >= row[1] >= max(row[2:])
    assert rows["broadcast"][1] == rows["broadcast"][3] == rows["broadcast"][0]
    assert rows["nothing"][3] < rows["nothing"][1] < rows["nothing"][0]


def test_the_tokens_of_an_agent_are_those_of_its_whole_prompts_and_answers(by_rule: ByRule) -> None:
    plan, log, outcomes = by_rule
    calls = _calls(log, plan)
    for outcome in outcomes:
        place = f"{outcome.condition.label}/{outcome.run}"
        for role in AGENTS:
            own = [c for c in calls if (c["run"], c["role"], c["agent"]) == (place, "agent", role)]
            for call in own:
                system, user = call["messages"]
                assert system["content"] == system_prompt(AGENTS[role])
                assert TASK in user["content"]
                texts = (system["content"], user["content"])
                assert call["usage"]["input"] > sum(map(utf8_quarter, texts))
                assert call["usage"]["output"] == utf8_quarter(call["reply"]["text"])
            spent = sum(call["usage"]["input"] + call["usage"]["output"] for call in own)
            assert outcome.tokens.get(role, 0) == spent
        assert outcome.total == sum(outcome.tokens.values())
        assert len([c for c in calls if c["run"] == place]) == outcome.turns + 1


def test_only_role_memories_are_read_and_no_bounded_context_is_exceeded(by_rule: ByRule) -> None:
    plan, log, _ = by_rule
    read = set()
    for call in _calls(log, plan):
        if call["role"] != "agent":
            continue
        memory = call["run"].partition(" ")[0].partition("/")[0]
        user = call["messages"][1]["content"]
        if "your memory\n" in user:
            read.add(memory)
        if memory in ("window", "roles"):
            assert utf8_quarter(user) <= plan.contexts[0] + 60  # the fences around the sources
    assert read == {"roles"}


def test_the_judge_sees_the_design_and_no_name_of_a_memory(by_rule: ByRule) -> None:
    plan, log, outcomes = by_rule
    judged = [c for c in _calls(log, plan) if c["role"] == "judge"]
    assert len(judged) == len(outcomes)
    for call in judged:
        whole = canonical_json(call["messages"])
        assert not any(word in whole for word in ("window 2,048", "broadcast", "roles", "memor"))
    assert len({call["messages"][0]["content"] for call in judged}) == 1


def test_a_second_start_asks_nothing_anew(by_rule: ByRule) -> None:
    plan, log, outcomes = by_rule
    before = log.read_bytes()
    assert studied(replace(plan, concurrency=3), log) == outcomes
    assert log.read_bytes() == before


def test_the_output_has_the_papers_table_and_says_that_no_model_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "study.json"
    small = ["--runs", "2", "--turns", "12", "--memory", "window", "--memory", "roles"]
    assert main([*small, "--json", str(out)]) == 0
    shown = capsys.readouterr().out
    assert NOTICE[1:] in shown
    assert "no language model's results" in NOTICE
    assert "| Tokens | 36077 | 47830 | 0.0195 |" in shown
    assert shown.count("\n| Documentation | 2 | 3.56 | 0.0017 |") == 1
    result = json.loads(out.read_text("utf-8"))
    assert result["note"] == NOTICE
    assert [run["turns"] for run in result["runs"]] == [12] * 4
    assert set(TABLE_2) == {"tokens", "turns", *METRICS}


def test_models_that_answer_as_the_rule_agents_do_give_the_same_study(
    by_rule: ByRule, tmp_path: Path
) -> None:
    _, _, offline = by_rule
    asked: list[Request] = []

    def answers(request: Request) -> str:
        fields = frozenset(request.schema["properties"])
        system, user = request.messages[0].content, request.messages[-1].content
        return json.dumps(dict(answer(system, user, fields, Luck(1, 1))))

    agent, judge = (ScriptedModel(name, answers, asked) for name in ("agent", "judge"))
    plan = Plan(runs=1, turns=30, model=agent, judge=judge, memories=("window", "roles"))
    outcomes = studied(plan, tmp_path / "calls.jsonl")
    names = [request.model for request in asked]
    assert names.count("judge") == 2
    assert names.count("agent") == sum(outcome.turns for outcome in outcomes)
    expected = {o.condition: o for o in offline if o.run == 1}
    for outcome in outcomes:
        same = expected[outcome.condition]
        assert (outcome.said, outcome.scores) == (same.said, same.scores)


def _model(request: Request) -> dict[str, Any]:
    """An agent that repeats one sentence, a judge that gives 11 of 10, and a compressor that keeps the sentence."""
    fields = set(request.schema["properties"])
    if set(METRICS) <= fields:
        return {metric: {"score": 11, "justification": "-"} for metric in METRICS}
    if fields == {"text"}:
        return {"text": "Storage recovers by copies in a second region."}
    if "verdicts" in fields:
        return {"verdicts": []}
    refs = re.findall(r"^<<\w+ (a\d+)", request.messages[-1].content, re.MULTILINE)
    kept = {"subject": "storage", "contribution": "copies in a second region", "refs": refs[-1:]}
    return {"expertise": [kept]}


@pytest.mark.parametrize("memory", ["roles", HEARING])
def test_a_model_updates_the_memories_and_its_tokens_count(memory: str, tmp_path: Path) -> None:
    model = ScriptedModel("m", _model, [])
    plan = Plan(runs=1, turns=4, model=model, judge=model, compressor=model, memories=(memory,))
    (outcome,) = studied(plan, tmp_path / "calls.jsonl")
    assert outcome.condition == Condition(memory, 2_048)
    assert outcome.memory_tokens > 0
    assert outcome.total == sum(outcome.tokens.values()) + outcome.memory_tokens
    calls = _calls(tmp_path / "calls.jsonl", plan)
    updates = [call for call in calls if call["role"] == "compressor"]
    assert len(updates) >= (4 if memory == "roles" else 4 * len(AGENTS))
    again = [
        c["messages"][1]["content"] for c in calls if c["role"] == "agent" and c["agent"] == "CDA"
    ]
    assert "your memory\n-" in again[0]
    assert "copies in a second region" in again[1].partition("the conversation")[0]


def test_an_unusable_verdict_is_asked_for_once_more_and_then_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Request] = []
    model = ScriptedModel("m", _model, asked)
    monkeypatch.setattr("benchmarks.pipeline_study.__main__.as_model", lambda _: model)
    small = ["--runs", "2", "--turns", "2", "--memory", "window", "--log", str(tmp_path / "log")]
    assert main(["--model", "m", *small]) == 0
    assert len([r for r in asked if "scalability" in r.schema["properties"]]) == 4
    shown = capsys.readouterr().out
    assert NOTICE[1:] not in shown
    assert "| nan | 0 of 2 | 2 |" in shown
    assert "The judge is the agents' own model" in shown
    assert "1 runs end in the very document of another" in shown


def test_the_command_runs_what_the_plan_says() -> None:
    assert _plan(_options([])) == Plan()
    given = _plan(_options(["--talk", "0", "--context", "9", "--context", "8"]))
    assert given == Plan(talk=0, contexts=[9, 8])


def test_what_cannot_be_asked_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--model", "--judge"):
        assert main([option, "m@http://127.0.0.1:9/v1"]) == 1
        assert "add --log FILE" in capsys.readouterr().err
    model = ScriptedModel("m", lambda _: Fault("server_error"), [])
    monkeypatch.setattr("benchmarks.pipeline_study.__main__.as_model", lambda _: model)
    log = ["--log", str(tmp_path / "log"), "--runs", "1", "--memory", "window"]
    assert main(["--model", "m", *log]) == 1
    said = capsys.readouterr().err
    assert "pipeline_study: " in said
    assert "Traceback" not in said
