"""The families: what is right scores, and a wrong demonstration that is followed does harm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.experience.addition import Judgement
from benchmarks.experience.code_programs import adapted, programs_alike
from benchmarks.experience.code_tables import columns_named
from benchmarks.experience.conditions import FAMILIES
from benchmarks.experience.driving_scenes import driven, written
from benchmarks.experience.memory import Demonstration, Experience
from benchmarks.experience.tasks import Task

NAMES = list(FAMILIES)


def shown(task: Task, execution: str, count: int = 1) -> list[Demonstration]:
    kept = Judgement(admitted=True)
    found = Experience("exp.1", task.text, execution, kept)
    return [Demonstration(found, 1.0)] * count


@pytest.mark.parametrize("name", NAMES)
def test_what_is_right_scores_and_what_is_spoilt_mostly_does_not(name: str) -> None:
    family = FAMILIES[name](7)
    tasks = family.workload(5, 60).stream
    right = [family.score(task, task.right) for task in tasks]
    assert all(score.success and score.utility == family.best for score in right)
    spoilt = [family.score(task, family.spoilt(task)).success for task in tasks]
    assert np.mean(spoilt) < 0.5


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_demonstration_makes_a_wrong_execution(name: str) -> None:
    """The same task, as similar a demonstration: only what it shows differs."""
    family = FAMILIES[name](3)
    done = {"right": 0, "wrong": 0}
    for task in family.workload(1, 40).stream:
        follower = replace(task, luck=np.full_like(task.luck, 0.5))
        wrong = written(driven(40.0, 0.0, 1.0, 6)) if name == "agentdriver" else family.spoilt(task)
        if family.score(task, wrong).success:
            continue  # wrong, and right by chance
        for kind, execution in (("right", task.right), ("wrong", wrong)):
            did = family.execute(follower, shown(task, execution))
            done[kind] += family.score(task, did).success
    assert done["right"] >= 25
    assert done["wrong"] == 0


@pytest.mark.parametrize("name", NAMES)
def test_no_text_means_two_things(name: str) -> None:
    family = FAMILIES[name](1)
    work = family.workload(50, 500)
    meant: dict[str, str] = {}
    for task in (*work.initial, *work.stream):
        assert meant.setdefault(task.text, task.right) == task.right


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_read_fails_and_is_not_plausible(name: str) -> None:
    family = FAMILIES[name](1)
    (task,) = family.workload(0, 1).stream
    for execution in ("", "I cannot do that.", "(1,2)", "| |", "Attack type: None"):
        assert not family.score(task, execution).success
        assert not family.plausible(task, execution)


@pytest.mark.parametrize("name", NAMES)
def test_the_coarse_evaluator_believes_some_of_what_is_wrong(name: str) -> None:
    family = FAMILIES[name](2)
    tasks = family.workload(0, 150).stream
    did = [(task, family.execute(task, [])) for task in tasks]
    admitted_wrong = sum(family.plausible(t, e) and not family.score(t, e).success for t, e in did)
    assert 0 < admitted_wrong < len(did)


def test_a_program_is_taken_over_with_the_values_of_the_new_task() -> None:
    program = "labs | where test = glucose | where year = 2099 | max value"
    values = columns_named("What is the highest level of lab results of sodium?")
    taken = adapted(program, values)
    assert taken == "labs | where test = sodium | where year = 2099 | max value"
    assert adapted("no program", values) == "no program"
    assert programs_alike(program, taken) == 1.0
    assert programs_alike(program, "visits | where sex = male | mean wait") < 0.5
