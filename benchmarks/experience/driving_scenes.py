"""Scenes of driving: what the planner is told, and the way the car really took.

What decides the way is only partly in the text: how hard the driver brakes or turns depends on
a situation (a light, a queue, an empty road) of which the text shows the beginnings. Two scenes
that look alike may therefore end apart, as on the road.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

STEPS = 6
"""Way points of a trajectory, half a second apart: the paper's three seconds."""

GOALS = ("FORWARD", "LEFT", "RIGHT")
SITUATIONS: tuple[tuple[str, float, float, float], ...] = (
    # name, mean speed m/s, later acceleration m/s2, how much of it shows already
    ("cruise", 9.0, 0.0, 0.5),
    ("stop", 7.0, -2.2, 0.4),
    ("start", 2.0, 1.6, 0.5),
    ("queue", 4.0, -0.8, 0.4),
    ("clear", 6.0, 1.2, 0.4),
)


PACE, SPEEDS, HIDDEN = 2.5, 8.0, 2.8
"""What mean speeds are times; how speeds spread, in m/s; how what the driver will do, in m/s2."""


class Scene(NamedTuple):
    """A scene, its hidden part included.

    Attributes:
        speed: Metres a second.
        acceleration: That which shows already.
        yaw: The yaw rate that shows already, radians a second; to the left is positive.
        goal: One of `GOALS`.
        history: Of the last two seconds four points, x to the right and y ahead.
        way: The trajectory that it became: `STEPS` points.
    """

    speed: float
    acceleration: float
    yaw: float
    goal: str
    history: NDArray[np.float64]
    way: NDArray[np.float64]

    def text(self) -> str:
        """What the planner is told."""
        past = ", ".join(f"({x:.2f},{y:.2f})" for x, y in self.history)
        return (
            f"speed {self.speed:.2f} m/s, acceleration {self.acceleration:.2f} m/s2, "
            f"yaw rate {self.yaw:.3f} rad/s\nhistory {past}\ngoal {self.goal}"
        )


def scene(rng: np.random.Generator) -> Scene:
    """A scene at random."""
    _, mean, later, shows = SITUATIONS[int(rng.integers(len(SITUATIONS)))]
    speed = max(0.3, PACE * mean + SPEEDS * rng.standard_normal())
    goal = GOALS[int(rng.choice(3, p=[0.6, 0.2, 0.2]))]
    turn = {"FORWARD": 0.0, "LEFT": 0.28, "RIGHT": -0.28}[goal]
    will = later + HIDDEN * rng.standard_normal()
    bend = turn * rng.uniform(0.6, 1.4) + 0.02 * rng.standard_normal()
    acceleration = shows * will + 0.15 * rng.standard_normal()
    yaw = 0.35 * bend + 0.01 * rng.standard_normal()
    history = driven(speed, -acceleration, -yaw, 4)[::-1] * np.array([1.0, -1.0])
    return Scene(speed, acceleration, yaw, goal, history, driven(speed, will, bend, STEPS))


def driven(speed: float, acceleration: float, yaw: float, steps: int) -> NDArray[np.float64]:
    """Where a car is after each half second that starts at the origin, headed along y."""
    times = 0.5 * np.arange(1, steps + 1)
    speeds = np.maximum(speed + acceleration * (times - 0.25), 0.0)
    headings = yaw * (times - 0.25)
    moves = 0.5 * speeds[:, None] * np.column_stack([-np.sin(headings), np.cos(headings)])
    return np.asarray(np.cumsum(moves, axis=0))


def written(way: NDArray[np.float64]) -> str:
    """A trajectory as text."""
    return "[" + ", ".join(f"({x:.2f},{y:.2f})" for x, y in way) + "]"


_POINT = re.compile(r"\(\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*\)")


def read_way(text: str) -> NDArray[np.float64] | None:
    """The trajectory in a text: its last `STEPS` points; None if there are fewer."""
    points = _POINT.findall(text)[-STEPS:]
    return np.array(points, dtype=np.float64) if len(points) == STEPS else None


_NUMBERS = re.compile(r"-?\d+\.\d+")
_SCALES = np.array([3.0, 0.6, 0.06, *([2.0, 4.0] * 4)])


def features(text: str) -> NDArray[np.float32]:
    """A scene's text as numbers: ego state, history and goal, each by what matters of it."""
    numbers = np.array(_NUMBERS.findall(text), dtype=np.float64)
    goal = text.rsplit(" ", 1)[-1]
    wanted = [1.5 * (goal == each) for each in GOALS]
    return np.concatenate([numbers / _SCALES, wanted]).astype(np.float32)


def off(way: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    """UniAD's measure: the mean of the distances after one, two and three seconds, in metres."""
    return float(np.linalg.norm(way - right, axis=1)[1::2].mean())
