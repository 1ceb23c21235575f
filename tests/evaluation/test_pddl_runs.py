"""Memories, agents and the tables; a model in the planner's or the compressor's place."""

from __future__ import annotations

import pytest
from helpers_evaluation import Fault, Request, ScriptedModel

from benchmarks.pddl.__main__ import main
from benchmarks.pddl.agents import ModelAgent, PlanningAgent
from benchmarks.pddl.memories import MEMORIES
from benchmarks.pddl.playing import follow, play
from benchmarks.pddl.study import Scale, studied
from benchmarks.pddl.tasks import own_tasks
from benchmarks.pddl.words import LOOK

pytestmark = pytest.mark.slow

TASKS = {task.name: task for task in own_tasks()}
VIALS = TASKS["apothecary-1"]
PRESSES = TASKS["workshop-2"]


def test_the_bounded_state_keeps_all_of_a_world_that_its_window_loses() -> None:
    kept = follow(PRESSES, MEMORIES["ACC world, rule"](PRESSES, 300))
    window = follow(PRESSES, MEMORIES["window"](PRESSES, 300))
    assert (kept.held, kept.stale, kept.whole, kept.ready) == (1.0, 0.0, 1.0, 1.0)
    assert kept.tokens <= 300
    assert window.held < 0.8
    assert window.tokens <= 300


def test_joined_items_hold_a_world_in_fewer_tokens() -> None:
    task = TASKS["workshop-3"]
    joined = follow(task, MEMORIES["ACC world, rule, joined"](task, 340))
    plain = follow(task, MEMORIES["ACC world, rule"](task, 340))
    assert joined.whole == 1.0
    assert plain.whole < 1.0
    assert joined.tokens < plain.tokens


def test_a_compressor_that_does_not_know_what_actions_end_keeps_what_is_over() -> None:
    kept = follow(VIALS, MEMORIES["ACC world, rule, no effects"](VIALS, 400))
    assert kept.held == 1.0
    assert kept.stale > 0.2
    assert kept.whole == 0.0


def test_the_keyless_compressor_keeps_nothing_of_a_tools_prose() -> None:
    assert follow(VIALS, MEMORIES["ACC, keyless"](VIALS, 400)).held == 0.0


@pytest.mark.parametrize("name", list(MEMORIES))
def test_every_memory_obeys_its_bound(name: str) -> None:
    played = play(VIALS, MEMORIES[name](VIALS, 200), PlanningAgent(VIALS, may_look=True), 30)
    assert played.most_tokens <= 200 or name in ("transcript, no bound", "task and window")
    assert 0.0 <= played.progress <= 1.0


def test_a_planner_acts_by_what_it_reads_alone() -> None:
    agent = PlanningAgent(VIALS, may_look=False)
    assert agent.act(VIALS.text, "", "") == ""
    assert PlanningAgent(VIALS, may_look=True).act(VIALS.text, "", "") == LOOK
    start = VIALS.wording.sentences(VIALS.problem.start)
    first = (VIALS.planner.plan(VIALS.problem.start, VIALS.goal) or ())[0]
    assert agent.act(f"{VIALS.text}\n{start}", "", "") == VIALS.wording.action(first)


def test_with_looks_no_memory_pays_a_step_for_each_action() -> None:
    agent = PlanningAgent(VIALS, may_look=True)
    bare = play(VIALS, MEMORIES["no memory"](VIALS, 0), agent, 100)
    kept = play(VIALS, MEMORIES["ACC world, rule"](VIALS, 200), agent, 100)
    assert bare.done
    assert kept.done
    assert (kept.looks, bare.looks) == (0, kept.steps - 1)
    assert bare.steps == kept.steps + bare.looks


def test_progress_counts_what_was_reached_and_steps_end_a_task() -> None:
    agent = PlanningAgent(PRESSES, may_look=True)
    played = play(PRESSES, MEMORIES["transcript, no bound"](PRESSES, 0), agent, 20)
    assert played.steps == 20
    assert not played.done
    assert 1 / 3 < played.progress < 1


def test_processes_change_nothing() -> None:
    scale = Scale(tokens=(200,), most=1, domains=("workshop", "harbour"))
    assert studied(scale) == studied(scale, workers=2)


def test_the_command_prints_the_tables_and_says_who_acts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--quick", "--domain", "harbour", "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert "not a model" in said
    assert "everything is shown after each action" in said
    assert "| no memory | - | 1.00 | 1 of 1 |" in said


def test_what_is_held_is_shown_without_a_game(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--held-only", "--domain", "workshop", "--most", "1", "--workers", "1"]
    assert main([*arguments, "--tokens", "200"]) == 0
    said = capsys.readouterr().out
    assert "| ACC world, rule | 200 | 1.00 | 0.00 |" in said
    assert "Played" not in said


def test_half_of_the_benchmark_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--tasks", "test.jsonl"]) == 1
    assert "needed together" in capsys.readouterr().err


def test_a_model_acts_and_reads_the_rules_and_the_memory() -> None:
    plan = [
        VIALS.wording.action(a) for a in VIALS.planner.plan(VIALS.problem.start, VIALS.goal) or ()
    ]
    asked: list[Request] = []
    model = ScriptedModel("m", [{"text": said} for said in plan], asked)
    agent = ModelAgent(VIALS, model, may_look=True)
    played = play(VIALS, MEMORIES["ACC world, rule"](VIALS, 200), agent, 30)
    system, user = asked[-1].messages[:2]
    assert played.done
    assert played.steps == len(plan)
    assert "Needs: V stands on the bench, the H hand is idle." in system.content
    assert "World" in user.content


def test_a_model_compresses_into_the_worlds_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"world": [{"literal": "Press1 is running", "refs": ["t1"]}]}
    model = ScriptedModel("m", lambda _: answer, [])
    monkeypatch.setattr("benchmarks.pddl.study.as_model", lambda _: model)
    scale = Scale(tokens=(200,), most=1, domains=("workshop",), steps=(3, 3), compressor="m")
    (row,) = [row for row in studied(scale) if row.memory == "ACC world, model"]
    assert 0 < row.kept.held < 0.2


def test_a_model_that_does_not_answer_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ScriptedModel("m", lambda _: Fault(), [])
    monkeypatch.setattr("benchmarks.pddl.study.as_model", lambda _: model)
    assert main(["--quick", "--domain", "stacks", "--model", "m", "--workers", "1"]) == 1
    said = capsys.readouterr().err
    assert "pddl: " in said
    assert "Traceback" not in said
