"""Trajectories: the family that mirrors AgentDriver.

The simulated agent mixes the demonstrated trajectory with one of its own, the more of the
former the more similar the scene, and adds an unsteady hand. Its own goes on as things are
going, with a turn where the goal asks for one. What it was shown wrong it does wrong, in part,
and what it does is what the next one is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .driving_scenes import GOALS, STEPS, driven, features, off, read_way, scene, written
from .memory import Demonstration, Retrieval
from .tasks import Score, Task, Workload, followed
from .vectors import Vector

NEAR = 2.5
"""Metres of the mean error up to which an execution counts as done: the paper's."""

MIDPOINT, WIDTH = 0.2, 0.08
"""Similarity at which half of the demonstration is taken over; how sharply that grows."""

HAND = 0.05
"""Standard deviation of the hand, in metres for each half second, each of x and y."""

TURN = 0.14
"""The yaw rate of the agent's own reckoning where it has to turn."""

NOISE = 5.0**0.5
"""Of a noisy start, for each coordinate: the paper's variance of 5."""


class DrivingFamily:
    """Scenes of one seed."""

    name = "agentdriver"
    best = 0.0
    instruction = (
        "Plan a car's next three seconds: six way points, half a second apart, in metres from "
        "where it is, x to the right and y ahead. Answer with the six points and nothing else: "
        "[(x1,y1), (x2,y2), (x3,y3), (x4,y4), (x5,y5), (x6,y6)]"
    )

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 22])

    def workload(self, initial: int, tasks: int) -> Workload:
        """Scenes at random."""
        made = [self._task() for _ in range(initial + tasks)]
        return Workload(made[:initial], made[initial:])

    def retrieval(self, k: int) -> Retrieval:
        """exp(-distance) of scenes; the kernel of the paper (gamma 1) between trajectories."""
        return Retrieval(k=k, vector=_vector, likeness=_nearness, outputs_alike=_ways_alike)

    def execute(self, task: Task, shown: Sequence[Demonstration]) -> str:
        """Part demonstration, part own reckoning."""
        way = _own(task)
        example = read_way(shown[0].experience.execution) if shown else None
        if example is not None:
            weight = followed(shown[0].similarity, MIDPOINT, WIDTH)
            way = weight * example + (1 - weight) * way
        return written(way + np.cumsum(HAND * task.noise.reshape(STEPS, 2), axis=0))

    def score(self, task: Task, execution: str) -> Score:
        """Metres off, negative; what cannot be read is as bad as a car that vanished."""
        way, right = read_way(execution), read_way(task.right)
        if way is None or right is None:
            return Score(False, -100.0)
        metres = off(way, right)
        return Score(metres < NEAR, -metres)

    def plausible(self, task: Task, execution: str) -> bool:
        """The paper's criteria: on from step to step, toward the goal, about as fast as the car is."""
        way = read_way(execution)
        if way is None:
            return False
        goal = task.text.rsplit(" ", 1)[-1]
        side = {"FORWARD": 0.0, "LEFT": -1.0, "RIGHT": 1.0}[goal]
        ahead = bool((np.diff(way[:, 1]) > -0.1).all())
        drift, reach = float(way[-1, 0]), 0.5 * STEPS * _speed(task)
        steady = 0.5 * reach < float(np.linalg.norm(way[-1])) < 1.5 * reach
        return ahead and steady and (side * drift > 0.3 if side else abs(drift) < 2.0)

    def spoilt(self, task: Task) -> str:
        """The right trajectory with the paper's noise at every point."""
        right = read_way(task.right)
        assert right is not None
        return written(right + NOISE * task.noise.reshape(STEPS, 2)[::-1])

    def _task(self) -> Task:
        made = scene(self._rng)
        return Task(
            made.text(),
            written(made.way),
            self._rng.random(2),
            self._rng.standard_normal(2 * STEPS),
        )


def _own(task: Task) -> NDArray[np.float64]:
    """Speed as it is, and some of the turn that the goal asks for."""
    goal = task.text.rsplit(" ", 1)[-1]
    return driven(_speed(task), 0.0, dict(zip(GOALS, (0.0, TURN, -TURN), strict=True))[goal], STEPS)


def _speed(task: Task) -> float:
    return float(task.text.split(" ", 2)[1])


def _vector(text: str) -> Sequence[float]:
    return features(text)  # type: ignore[return-value]  # an array is as good as a sequence here


def _nearness(vector: Vector, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = np.exp(-np.linalg.norm(rows - vector, axis=1))
    return found


def _ways_alike(one: str, other: str) -> float:
    ways = read_way(one), read_way(other)
    if ways[0] is None or ways[1] is None:
        return 0.0
    return float(np.exp(-((ways[0] - ways[1]) ** 2).sum()))
