"""The language, the planner, the world's sentences and what a reader makes of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acc.errors import InputError
from benchmarks.pddl.language import grounded, read_domain, read_problem
from benchmarks.pddl.planner import needed
from benchmarks.pddl.tasks import OWN, Task, benchmark_tasks, own_tasks
from benchmarks.pddl.words import GOAL, REFUSED, SEEN, read_wording
from benchmarks.pddl.world import CHECK, NOTHING_NEW, World

TASKS = own_tasks()
SMALL = [task for task in TASKS if task.name.endswith(("-1", "-2"))]
BY_NAME = {task.name: task for task in TASKS}

DOMAIN = """
(define (domain switches) ; a comment
  (:types lamp - thing)
  (:predicates (lit ?l - lamp) (dark ?l - lamp))
  (:action press :parameters (?l - lamp) :precondition (dark ?l)
   :effect (and (lit ?l) (not (dark ?l)))))
"""
PROBLEM = "(define (problem p) (:domain switches) (:objects a b - lamp c) (:init (dark a)) (:goal (lit a)))"
WORDS = """
news_only = true
[literals]
lit = "{0} is lit"
dark = "{0} is dark"
[actions]
press = "press {0}"
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_domain_and_a_problem_are_read_and_grounded_by_type(tmp_path: Path) -> None:
    domain = read_domain(written(tmp_path, "d.pddl", DOMAIN))
    problem = read_problem(written(tmp_path, "p.pddl", PROBLEM), domain)
    actions = grounded(domain, problem)
    assert [each.call for each in actions] == [("press", "a"), ("press", "b")]
    assert actions[0].after(problem.start) == {("lit", "a")}
    assert problem.goal == (("lit", "a"),)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(define (domain d) (:action a :precondition (or (p) (q)) :effect (p)))", "condition or"),
        (
            "(define (domain d) (:action a :precondition (not (p)) :effect (p)))",
            "negated condition",
        ),
        ("(define (domain d)", "unclosed"),
        ("hello", "no (define"),
    ],
)
def test_what_is_beyond_strips_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = written(tmp_path, "d.pddl", text)
    with pytest.raises(InputError) as raised:
        read_domain(path)
    assert why in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_predicate_without_words_is_named(tmp_path: Path) -> None:
    domain = read_domain(written(tmp_path, "d.pddl", DOMAIN))
    words = written(tmp_path, "words.toml", WORDS.replace('dark = "{0} is dark"\n', ""))
    with pytest.raises(InputError, match="no words for dark"):
        read_wording(words, domain)


@pytest.mark.parametrize(
    "task",
    [
        pytest.param(t, id=t.name, marks=[pytest.mark.slow] if t.name.endswith("-4") else [])
        for t in TASKS
    ],
)
def test_every_shipped_task_has_a_plan_that_works(task: Task) -> None:
    state = task.problem.start
    plan = task.planner.plan(state, task.goal)
    assert plan
    for action in plan:
        assert action.needs <= state
        state = action.after(state)
    assert state.issuperset(task.goal)
    assert needed(plan, task.goal) <= task.problem.start


def test_four_domains_ship_and_two_show_only_news() -> None:
    assert len(OWN) == 4
    assert {task.domain for task in TASKS if task.needs_memory} == {"apothecary", "workshop"}
    lengths = [len(t.planner.plan(t.problem.start, t.goal) or ()) for t in TASKS if t.needs_memory]
    assert max(lengths) > 60


@pytest.mark.parametrize("task", SMALL, ids=lambda task: task.name)
def test_a_reader_of_the_whole_transcript_knows_what_holds(task: Task) -> None:
    world = World(task)
    text = f"user: {task.text}\n\ntool world: {world.first()}"
    for action in task.planner.plan(task.problem.start, task.goal) or ():
        said = task.wording.action(action)
        assert task.reader.action(said) is action
        text += f"\n\nagent: {said}\n\ntool world: {world.step(said)}"
        assert task.reader.believed(text) == world.state
    assert world.done
    assert world.progress == 1.0


def test_news_are_new_and_what_an_action_ends_is_not_told() -> None:
    task = BY_NAME["workshop-1"]
    world = World(task)
    assert world.step("I unlatch locker1.") == "Locker1 is ajar."
    assert ("shut", "locker1") not in world.state
    assert world.step("Look around").startswith(f"{SEEN} ")
    assert NOTHING_NEW not in world.step("I stop press1.")


def test_an_impossible_action_and_nonsense_are_refused_and_cost_a_step() -> None:
    task = BY_NAME["workshop-1"]
    world = World(task)
    before = world.state
    for said in ("I take driver out of locker1.", "Sing a song.", ""):
        assert world.step(said) == REFUSED
    assert world.state == before
    assert world.steps == 3


def test_a_refused_action_removes_nothing_from_what_is_believed() -> None:
    reader = BY_NAME["workshop-1"].reader
    held = "Locker1 is shut. Press1 is running.\n"
    assert len(reader.believed(f"{held}agent: I stop press1.\n{REFUSED}")) == 2
    assert reader.believed(f"{held}agent: I stop press1.\nPress1 is stopped.") == {
        ("shut", "locker1"),
        ("stopped", "press1"),
    }


def test_what_is_wanted_is_not_taken_for_what_holds() -> None:
    task = BY_NAME["workshop-1"]
    assert task.text.startswith(GOAL)
    assert task.reader.believed(task.text) == frozenset()


def test_a_look_voids_what_was_known() -> None:
    reader = BY_NAME["workshop-1"].reader
    assert reader.believed(f"Locker1 is shut. {SEEN} Locker1 is ajar.") == {("ajar", "locker1")}


def test_valid_actions_are_listed() -> None:
    task = BY_NAME["harbour-1"]
    answer = World(task).step(CHECK)
    assert "sail from quay1 to quay2" in answer
    assert "unload" not in answer


@pytest.mark.skipif(
    not (os.environ.get("ACC_PDDL_TASKS") and os.environ.get("ACC_PDDL_PROBLEMS")),
    reason="the benchmark is not part of the project: name it in ACC_PDDL_TASKS and ACC_PDDL_PROBLEMS",
)
def test_the_benchmarks_tasks_have_plans() -> None:
    listed, problems = os.environ["ACC_PDDL_TASKS"], os.environ["ACC_PDDL_PROBLEMS"]
    tasks = benchmark_tasks(Path(listed), Path(problems))
    assert len(tasks) == 60
    assert sum(task.needs_memory for task in tasks) == 30
    for task in tasks:
        assert task.planner.plan(task.problem.start, task.goal), task.name
        assert task.reader.believed(World(task).first()) == task.problem.start, task.name


def test_a_list_and_problems_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    line = '{"id": 0, "subgoals": ["x"], "difficulty": "easy", "additional_info": {"subtask": "gripper"}}'
    listed = written(tmp_path, "test.jsonl", line + "\n")
    written(tmp_path, "gripper.pddl", "(define (domain gripper))")
    (tmp_path / "gripper").mkdir()
    with pytest.raises(InputError, match="1 tasks and 0 problems"):
        benchmark_tasks(listed, tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        benchmark_tasks(tmp_path / "none.jsonl", tmp_path)


def test_things_before_a_colon_are_each_meant() -> None:
    reader = BY_NAME["workshop-1"].reader
    assert reader.believed('"press1, press2: is running",tool') == {
        ("running", "press1"),
        ("running", "press2"),
    }
    assert reader.believed("press1, nobody: is running") == frozenset()
