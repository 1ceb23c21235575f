"""All runs of the experiment: which task meets which memory, and the means over tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from acc.models.endpoints import as_model

from .agents import Agent, ModelAgent, PlanningAgent
from .memories import MEMORIES, Factory, with_model
from .playing import Kept, Played, follow, play
from .tasks import Task, benchmark_tasks, own_tasks

WHERE_ALL_IS_SHOWN = ("no memory", "window", "ACC world, rule", "ACC world, rule, joined")
"""Memories for tasks that show everything after each action: there no memory is needed."""


@dataclass(frozen=True)
class Scale:
    """What is run.

    Attributes:
        tokens: Bounds of the memories.
        steps: Steps at the most, of our tasks and of the benchmark's.
        listed: The benchmark's list of tasks; None for our own tasks alone.
        problems: The benchmark's folder of problems.
        domains: Only these domains, if any.
        most: Tasks of a domain at the most; 0 for all.
        plays: Whether tasks are played; else the plan alone is followed, which is quick.
        agent: A model as the agent; empty for the planner.
        compressor: A model as a further compressor; empty for none.
    """

    tokens: tuple[int, ...] = (400, 800)
    steps: tuple[int, int] = (100, 30)
    listed: Path | None = None
    problems: Path | None = None
    domains: tuple[str, ...] = ()
    most: int = 0
    plays: bool = True
    agent: str = ""
    compressor: str = ""


@dataclass(frozen=True)
class Row:
    """One task with one memory of one bound.

    Attributes:
        benchmark: Whether it is the benchmark's task.
        domain: Of the task.
        task: Its name.
        needs_memory: Whether its observations have only news.
        memory: The memory's name.
        tokens: Its bound.
        kept: What it held along the plan.
        blind: How the task went without looking around; None where it was not played so.
        looking: How it went with it, as in the benchmark; likewise.
    """

    benchmark: bool
    domain: str
    task: str
    needs_memory: bool
    memory: str
    tokens: int
    kept: Kept
    blind: Played | None
    looking: Played | None


def tasks_of(scale: Scale) -> list[tuple[bool, Task]]:
    """The tasks, and whether each is the benchmark's.

    Raises:
        InputError: The benchmark's files cannot be read.
    """
    found = [(False, task) for task in own_tasks()]
    if scale.listed and scale.problems:
        found += [(True, task) for task in benchmark_tasks(scale.listed, scale.problems)]
    wanted = [pair for pair in found if not scale.domains or pair[1].domain in scale.domains]
    if not scale.most:
        return wanted
    domains = [task.domain for _, task in wanted]
    return [
        pair for at, pair in enumerate(wanted) if domains[:at].count(pair[1].domain) < scale.most
    ]


def studied(
    scale: Scale, *, workers: int = 1, told: Callable[[str], None] = lambda _: None
) -> list[Row]:
    """Run everything; the same whatever the number of ``workers``.

    Raises:
        AccError: The benchmark cannot be read, or a model does not answer.
    """
    count = len(tasks_of(scale))
    rows: list[Row] = []
    work = partial(_of_task, scale)
    if workers > 1:
        with ProcessPoolExecutor(workers) as pool:
            for at, found in enumerate(pool.map(work, range(count)), 1):
                rows += found
                told(f"{at} of {count} tasks")
    else:
        for at in range(count):
            rows += work(at)
            told(f"{at + 1} of {count} tasks")
    return rows


def _of_task(scale: Scale, number: int) -> list[Row]:
    """All memories on one task."""
    benchmark, task = tasks_of(scale)[number]
    rows = []
    for name, factory in _memories(scale, task).items():
        bounded = name not in ("no memory", "transcript, no bound")
        bounds = scale.tokens if bounded else scale.tokens[:1]
        rows += [_row(scale, benchmark, task, name, factory, bound) for bound in bounds]
    return rows


def _memories(scale: Scale, task: Task) -> Mapping[str, Factory]:
    found = dict(MEMORIES)
    if not task.needs_memory:
        found = {name: found[name] for name in WHERE_ALL_IS_SHOWN}
    if scale.compressor:
        found |= with_model(as_model(scale.compressor))
    return found


def _row(
    scale: Scale, benchmark: bool, task: Task, name: str, factory: Factory, tokens: int
) -> Row:
    steps = scale.steps[benchmark]
    kept = follow(task, factory(task, tokens))

    def played(may_look: bool) -> Played | None:
        if not scale.plays:
            return None
        agent = _agent(scale, task, may_look=may_look)
        return play(task, factory(task, tokens), agent, steps)

    blind, looking = (None if benchmark else played(False)), played(True)
    found = (benchmark, task.domain, task.name, task.needs_memory)
    return Row(*found, name, tokens, kept, blind, looking)


def _agent(scale: Scale, task: Task, *, may_look: bool) -> Agent:
    if not scale.agent:
        return PlanningAgent(task, may_look=may_look)
    return ModelAgent(task, as_model(scale.agent), may_look=may_look)


def mean(values: Sequence[float]) -> float:
    """The mean; NaN of nothing."""
    return sum(values) / len(values) if values else float("nan")
