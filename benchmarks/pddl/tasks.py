"""The tasks: four domains that ship with the project, and the benchmark's, read from where they lie."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from acc.errors import InputError

from .language import Action, Domain, Literal, Problem, grounded, read_domain, read_problem
from .planner import Planner
from .words import GOAL, Reader, Wording, read_wording

HERE = Path(__file__).parent
OWN = ("apothecary", "workshop", "harbour", "stacks")

IN_A_LINE = 8
"""Conditions of the goal in a line of the task."""


@dataclass(frozen=True)
class Task:
    """A problem, the words of its domain, and what ground actions there are.

    Attributes:
        domain: The name of its domain.
        name: The task's own name.
        difficulty: What the benchmark calls it; empty for our own.
        problem: Objects, start and goal.
        wording: The sentences of the domain.
        rules: The actions with variables.
    """

    domain: str
    name: str
    difficulty: str
    problem: Problem
    wording: Wording
    rules: Domain

    @property
    def needs_memory(self) -> bool:
        """Whether observations have only news, so that what holds has to be remembered."""
        return self.wording.news_only

    @property
    def goal(self) -> tuple[Literal, ...]:
        """What shall hold."""
        return self.problem.goal

    @property
    def text(self) -> str:
        """The task in the user's words, in lines that a quotation can hold."""
        wanted = [self.wording.literal(one) for one in self.goal]
        lines = [wanted[at : at + IN_A_LINE] for at in range(0, len(wanted), IN_A_LINE)]
        return "\n".join(f"{GOAL} {', and '.join(line)}." for line in lines)

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """All ground actions."""
        return grounded(self.rules, self.problem)

    @cached_property
    def planner(self) -> Planner:
        """The planner of the task."""
        return Planner(self.actions)

    @cached_property
    def reader(self) -> Reader:
        """Understands the task's sentences."""
        return Reader(self.wording, self.problem.objects, self.actions)


def own_tasks(domains: Sequence[str] = OWN) -> list[Task]:
    """The tasks that ship with the project."""
    found = []
    for name in domains:
        folder = HERE / "domains" / name
        domain = read_domain(folder / "domain.pddl")
        wording = read_wording(folder / "words.toml", domain)
        for path in sorted(folder.glob("problem*.pddl")):
            problem = read_problem(path, domain)
            found.append(Task(name, problem.name, "", problem, wording, domain))
    return found


def benchmark_tasks(listed: Path, problems: Path) -> list[Task]:
    """The benchmark's tasks. Neither file nor folder is part of this project; their licences differ from ours.

    Args:
        listed: The benchmark's ``test.jsonl``: goals in words, difficulty. It has no initial states.
        problems: The folder ``pddl`` of the benchmark's environment: ``NAME.pddl`` and ``NAME/*.pddl``. A
            domain's n-th line of ``listed`` is its n-th file by name.

    Raises:
        InputError: A file is missing or unreadable, or the two do not fit together.
    """
    lines = list(_lines(listed))
    found = []
    for name in dict.fromkeys(line["additional_info"]["subtask"] for line in lines):
        mine = [line for line in lines if line["additional_info"]["subtask"] == name]
        domain = read_domain(problems / f"{name}.pddl")
        wording = read_wording(HERE / "benchmark_words" / f"{name}.toml", domain)
        paths = sorted((problems / name).glob("*.pddl"))
        if len(paths) != len(mine):
            raise _unfit(f"{len(mine)} tasks and {len(paths)} problems", problems / name)
        for line, path in zip(mine, paths, strict=True):
            problem = read_problem(path, domain)
            if len(problem.goal) != len(line["subgoals"]):
                raise _unfit(f"task {line['id']} has another goal", path)
            found.append(
                Task(name, f"{name}-{line['id']}", line["difficulty"], problem, wording, domain)
            )
    return found


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        for text in path.read_text(encoding="utf-8").splitlines():
            if text.strip():
                line = json.loads(text)
                yield {
                    key: line[key] for key in ("id", "subgoals", "difficulty", "additional_info")
                }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"the benchmark's list cannot be read: {type(error).__name__}: {error}",
            where=str(path),
            hint="name its test.jsonl",
        ) from error


def _unfit(what: str, path: Path) -> InputError:
    return InputError(
        f"the problems do not fit the list of tasks: {what}",
        where=str(path),
        hint="take both from the same version of the benchmark",
    )
