"""What a family of tasks is: its stream, its simulated agent, and who judges an execution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .memory import Demonstration, Experience, Retrieval

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Task:
    """One task.

    Attributes:
        text: What the agent reads; no two tasks of one text have different executions.
        right: The execution that is right.
        luck: Numbers in [0, 1) that the simulated agent's choices are drawn from. They belong to
            the task, so that every policy meets the same luck and differs by its memory alone.
        noise: Standard normal numbers, likewise.
    """

    text: str
    right: str
    luck: Floats
    noise: Floats


class Workload(NamedTuple):
    """The tasks of one run.

    Attributes:
        initial: Those whose right executions are in memory at the start.
        stream: Those to be done, in order.
    """

    initial: Sequence[Task]
    stream: Sequence[Task]


class Score(NamedTuple):
    """How good an execution is.

    Attributes:
        success: Whether it counts as done, as the paper's ACC and SR count.
        utility: What the strict evaluator says; higher is better.
    """

    success: bool
    utility: float


class Family(Protocol):
    """A family of tasks with an agent that does them. One object serves one run."""

    @property
    def name(self) -> str:
        """The preset of the paper's agent (`PRESETS`)."""
        ...

    @property
    def instruction(self) -> str:
        """What a model is told, that does these tasks in the simulated agent's place."""
        ...

    @property
    def best(self) -> float:
        """The utility of a right execution."""
        ...

    def workload(self, initial: int, tasks: int) -> Workload:
        """Tasks to start from and to do."""
        ...

    def retrieval(self, k: int) -> Retrieval:
        """How demonstrations are found, and executions compared."""
        ...

    def execute(self, task: Task, shown: Sequence[Demonstration]) -> str:
        """The simulated agent's execution."""
        ...

    def score(self, task: Task, execution: str) -> Score:
        """The strict evaluator: compares with what is right."""
        ...

    def plausible(self, task: Task, execution: str) -> bool:
        """The coarse evaluator: does not know what is right."""
        ...

    def spoilt(self, task: Task) -> str:
        """The right execution with an error in it: a noisy start."""
        ...


def followed(similarity: float, midpoint: float, width: float) -> float:
    """The chance, or weight, of following a demonstration of this similarity: a logistic curve."""
    return float(1.0 / (1.0 + np.exp((midpoint - similarity) / width)))


def chosen(shown: Sequence[Demonstration], luck: float, temperature: float) -> Experience:
    """One of the demonstrations, the more similar the likelier (softmax)."""
    weights = np.exp((np.array([d.similarity for d in shown]) - shown[0].similarity) / temperature)
    place = int(np.searchsorted(np.cumsum(weights) / weights.sum(), luck))
    return shown[min(place, len(shown) - 1)].experience
