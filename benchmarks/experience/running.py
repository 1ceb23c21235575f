"""One run: a family's tasks, one after the other, through the library's experience memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .addition import Evaluator, Judgement
from .conditions import FAMILIES, Condition, addition_of, deletion_of
from .memory import Demonstration, ExperienceMemory
from .presets import PRESETS
from .shift import in_clusters
from .tasks import Family, Task, Workload

Agent = Callable[[Task, Sequence[Demonstration]], str]
"""Does a task, having read the demonstrations."""


class Scale(NamedTuple):
    """How large a run is, as a share of the paper's tasks; its periods are not scaled.

    Attributes:
        tasks: Tasks at the most; 0 for the paper's number.
        initial: Records at the start at the most; 0 for the paper's number.
    """

    tasks: int = 0
    initial: int = 0


@dataclass(frozen=True)
class Trace:
    """What came of a run, an element for each task.

    Attributes:
        success: Whether it was done.
        error_free: 1 if it would have been, had the same demonstrations been right, else 0; NaN
            where nobody tried.
        size: Records in memory after it.
        alike_in: Of the task to the most similar one shown; NaN where none was shown.
        alike_out: Of the execution to that one's.
        best_in: As alike_in, to the record shown whose execution was most like the one done.
        best_out: Of the execution to that record's.
        deleted: Whether that record is gone at the end.
        bounds: Where the clusters of a shifted run begin.
    """

    success: NDArray[np.bool_]
    error_free: NDArray[np.float64]
    size: NDArray[np.int64]
    alike_in: NDArray[np.float64]
    alike_out: NDArray[np.float64]
    best_in: NDArray[np.float64]
    best_out: NDArray[np.float64]
    deleted: NDArray[np.bool_]
    bounds: tuple[int, ...] = ()


class _Step(NamedTuple):
    success: bool
    error_free: float
    size: int
    alike_in: float
    alike_out: float
    best_in: float
    best_out: float
    best: str


def run(
    condition: Condition,
    seed: int,
    scale: Scale,
    agent: Agent | None = None,
    judge: Evaluator | None = None,
) -> Trace:
    """Run ``condition`` on the tasks of ``seed``.

    Args:
        condition: What to run.
        seed: Fixes tasks and luck; every condition of a family meets the same.
        scale: How much of it.
        agent: Does the tasks; by default the family's simulated agent.
        judge: The coarse evaluator; by default the family's.
    """
    family = FAMILIES[condition.family](seed)
    work = _workload(family, condition, scale)
    bounds: tuple[int, ...] = ()
    if condition.shifted:
        stream, bounds = in_clusters(work.stream, family.retrieval(1).vector, seed)
        work = Workload(work.initial, stream)
    book = {task.text: task for task in (*work.initial, *work.stream)}
    memory = _memory(condition, family, work.initial, book, judge)
    does = agent or family.execute
    simulated = agent is None
    steps = [_step(memory, family, book, task, does, simulated) for task in work.stream]
    alive = {experience.ref for experience in memory.experiences()}
    return _trace(steps, alive, bounds)


def _workload(family: Family, condition: Condition, scale: Scale) -> Workload:
    defaults = PRESETS[condition.family]
    initial = min(scale.initial or defaults.initial, condition.capacity or defaults.initial)
    whole = family.workload(defaults.initial, scale.tasks or defaults.tasks)
    return Workload(whole.initial[:initial], whole.stream)


def _memory(
    condition: Condition,
    family: Family,
    initial: Sequence[Task],
    book: dict[str, Task],
    judge: Evaluator | None,
) -> ExperienceMemory:
    memory = ExperienceMemory(
        addition_of(condition, family, book, judge),
        deletion_of(condition),
        family.retrieval(PRESETS[condition.family].k),
    )
    for task in initial:
        execution = family.spoilt(task) if condition.noisy else task.right
        utility = family.score(task, execution).utility if condition.noisy else family.best
        memory.seed(task.text, execution, Judgement(admitted=True, utility=utility))
    return memory


def _step(
    memory: ExperienceMemory,
    family: Family,
    book: dict[str, Task],
    task: Task,
    does: Agent,
    simulated: bool,
) -> _Step:
    shown = memory.retrieve(task.text)
    execution = does(task, shown)
    success = family.score(task, execution).success
    # The variant asks the agent a second time, which only the simulated one does for nothing.
    free = np.nan
    if simulated:
        free = float(family.score(task, does(task, _corrected(shown, book))).success)
    best_in, best_out, best = _best(memory, execution, shown)
    done = memory.finish(task.text, execution, shown)
    alike = (done.input_similarity, done.output_similarity) if shown else (np.nan, np.nan)
    return _Step(success, free, len(memory), *alike, best_in, best_out, best)


def _corrected(shown: Sequence[Demonstration], book: dict[str, Task]) -> list[Demonstration]:
    """The same demonstrations, each with the right execution of its task."""
    return [
        Demonstration(replace(d.experience, execution=book[d.experience.task].right), d.similarity)
        for d in shown
    ]


def _best(
    memory: ExperienceMemory, execution: str, shown: Sequence[Demonstration]
) -> tuple[float, float, str]:
    alike = memory.retrieval.outputs_alike
    ranked = [(alike(execution, d.experience.execution), d) for d in shown]
    if not ranked:
        return np.nan, np.nan, ""
    output, best = max(ranked, key=lambda pair: pair[0])
    return best.similarity, output, best.experience.ref


def _trace(steps: Sequence[_Step], alive: set[str], bounds: tuple[int, ...]) -> Trace:
    return Trace(
        success=np.array([step.success for step in steps], np.bool_),
        error_free=np.array([step.error_free for step in steps], np.float64),
        size=np.array([step.size for step in steps], np.int64),
        alike_in=np.array([step.alike_in for step in steps], np.float64),
        alike_out=np.array([step.alike_out for step in steps], np.float64),
        best_in=np.array([step.best_in for step in steps], np.float64),
        best_out=np.array([step.best_out for step in steps], np.float64),
        deleted=np.array([bool(step.best) and step.best not in alive for step in steps], np.bool_),
        bounds=bounds,
    )
