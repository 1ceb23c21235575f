"""A shift of the tasks: those of three clusters, one cluster after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .tasks import Task
from .vectors import Vectoriser

CLUSTERS = 3
_ROUNDS = 30


def in_clusters(
    tasks: Sequence[Task], vector: Vectoriser, seed: int
) -> tuple[list[Task], tuple[int, ...]]:
    """The tasks by cluster, in their order within each; and where the second and third begin.

    k-means over the vectors that retrieval uses; the paper fits a Gaussian mixture.
    """
    points = np.array([vector(task.text) for task in tasks], np.float64)
    spread = points.std(axis=0)
    labels = _kmeans(points / np.where(spread > 0, spread, 1.0), np.random.default_rng([seed, 41]))
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(1, CLUSTERS))
    return [tasks[int(at)] for at in order], tuple(int(at) for at in bounds)


def _kmeans(points: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    centres = points[rng.choice(len(points), CLUSTERS, replace=False)]
    labels = np.zeros(len(points), np.intp)
    for _ in range(_ROUNDS):
        gaps = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        labels = np.asarray(np.argmin(gaps, axis=1))
        centres = np.array(
            [points[labels == k].mean(axis=0) if (labels == k).any() else centres[k] for k in range(CLUSTERS)]
        )  # fmt: skip
    return labels
