"""Packet features to class: the family that mirrors the CIC-IoT agent.

The simulated agent has a notion of each class, which is off by as much as a model's is. It
follows the classes that it is shown, each weighted by its similarity, with a chance that grows
with the similarity of the nearest; else it names the class whose notion is nearest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .memory import Demonstration, Retrieval
from .packet_features import CLASSES, FLAGS, MEASURES, Classes, classes, features, nearness, packet
from .tasks import Score, Task, Workload, followed
from .vectors import texts_alike

APART, SPREAD = 0.3, 0.8
"""Of classes of one group, and of packets of one class: standard deviations of the logarithms."""

NOTION = 1.2
"""How far the agent's notion of a class is off, likewise. Set by the fixed-memory row alone."""

MIDPOINT, WIDTH = 0.5, 0.05
"""Similarity that is followed in every second case; how sharply."""

SHORT_LIST = 2
"""The coarse evaluator believes a class among so many that seem likeliest to it."""


class PacketFamily:
    """Classes and packets of one seed."""

    name = "cic-iot"
    best = 1.0
    instruction = (
        "Say which kind of attack a packet's features show. Answer with one line of reasoning, "
        f"then a last line `Attack type: NAME`, with a name of: {', '.join(CLASSES)}"
    )

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 32])
        self._classes = classes(self._rng, APART)
        blur = NOTION * self._rng.standard_normal(self._classes.centres.shape)
        self._notion = Classes(self._classes.centres + blur, self._classes.flags)
        blur = NOTION * self._rng.standard_normal(blur.shape)
        self._judges = Classes(self._classes.centres + blur, self._classes.flags)
        self._frequency = self._rng.dirichlet(np.full(len(CLASSES), 1.5))

    def workload(self, initial: int, tasks: int) -> Workload:
        """Packets; some classes are frequent, some rare."""
        made = [self._task() for _ in range(initial + tasks)]
        return Workload(made[:initial], made[initial:])

    def retrieval(self, k: int) -> Retrieval:
        """By relative change of the features; executions by their words."""
        return Retrieval(k=k, vector=_vector, likeness=nearness, outputs_alike=texts_alike)

    def execute(self, task: Task, shown: Sequence[Demonstration]) -> str:
        """Follow what is shown, or go by one's own notion."""
        label = ""
        if shown and task.luck[0] < followed(shown[0].similarity, MIDPOINT, WIDTH):
            label = _voted(shown)
        return _reasoned(task.text, label or self._own(task))

    def score(self, task: Task, execution: str) -> Score:
        """Whether the class is the right one."""
        good = named(execution) == named(task.right)
        return Score(good, float(good))

    def plausible(self, task: Task, execution: str) -> bool:
        """Whether the class is on a short list of a judge with notions of its own."""
        fit = _fits(features(task.text), self._judges)
        short = np.argsort(-fit)[:SHORT_LIST]
        return named(execution) in {CLASSES[int(at)] for at in short}

    def spoilt(self, task: Task) -> str:
        """Reasoning to another class."""
        right = CLASSES.index(named(task.right))
        step = 1 + int(task.luck[1] * (len(CLASSES) - 1))
        return _reasoned(task.text, CLASSES[(right + step) % len(CLASSES)])

    def _own(self, task: Task) -> str:
        fit = _fits(features(task.text), self._notion)
        return CLASSES[int(np.argmax(fit + task.noise))]

    def _task(self) -> Task:
        label = int(self._rng.choice(len(CLASSES), p=self._frequency))
        text = packet(self._classes, label, SPREAD, self._rng)
        luck, noise = self._rng.random(2), self._rng.standard_normal(len(CLASSES))
        return Task(text, _reasoned(text, CLASSES[label]), luck, noise)


def named(execution: str) -> str:
    """The class that an execution ends with; empty if it names none."""
    return execution.strip().rpartition("Attack type: ")[2].strip()


def _voted(shown: Sequence[Demonstration]) -> str:
    """Similarities are apart by little: the nearest counts most."""
    votes: dict[str, float] = {}
    for demonstration in shown:
        label = named(demonstration.experience.execution)
        gap = demonstration.similarity - shown[0].similarity
        votes[label] = votes.get(label, 0.0) + float(np.exp(gap / 0.05))
    return max(votes, key=lambda label: votes[label])


def _fits(vector: NDArray[np.float32], known: Classes) -> NDArray[np.float64]:
    """The logarithm of how likely a packet is in each class."""
    count = len(MEASURES)
    logs = np.log(np.maximum(vector[:count].astype(np.float64), 1e-6))
    raised = vector[count:] > 0
    chance = np.where(raised, known.flags, 1 - known.flags)
    scale = SPREAD**2 + NOTION**2
    gaps = ((logs - known.centres) ** 2).sum(axis=1) / (2 * scale)
    return np.asarray(np.log(chance).sum(axis=1) - gaps)


def _vector(text: str) -> Sequence[float]:
    return features(text)  # type: ignore[return-value]  # an array is as good as a sequence here


def _reasoned(text: str, label: str) -> str:
    flags = [line.split(" ")[0] for line in text.splitlines()[-len(FLAGS) :] if line.endswith("1")]
    return f"Flags raised: {', '.join(flags) or 'none'}.\nAttack type: {label}"
