"""Growing boosted trees with scikit-learn, which nothing needs at run time."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier

from acc.compressors.rules.trees import Trees

DEPTH = 4


def grown(rows: NDArray[np.float64], labels: NDArray[np.float64]) -> Trees:
    """Trees that tell ``labels`` (0 or 1) from ``rows``."""
    model = GradientBoostingClassifier(
        n_estimators=200, max_depth=DEPTH, learning_rate=0.04, subsample=0.5,
        min_samples_leaf=20, max_features=0.3, random_state=1,
    )  # fmt: skip
    model.fit(rows, labels)
    trees = [estimator.tree_ for estimator in model.estimators_[:, 0]]
    starts = [0, *accumulate(tree.node_count for tree in trees)]
    columns: dict[str, list[NDArray[np.float64]]] = {
        name: [] for name in ("feature", "threshold", "left", "right", "value")
    }
    for start, tree in zip(starts, trees, strict=False):
        leaf = tree.children_left < 0
        own = np.arange(tree.node_count)
        columns["feature"].append(np.where(leaf, 0, tree.feature))
        columns["threshold"].append(np.where(leaf, 0.0, tree.threshold))
        columns["left"].append(start + np.where(leaf, own, tree.children_left))
        columns["right"].append(start + np.where(leaf, own, tree.children_right))
        columns["value"].append(np.where(leaf, model.learning_rate * tree.value[:, 0, 0], 0.0))
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    share = float(labels.mean())
    return Trees(
        roots=np.array(starts[:-1], dtype=np.int32),
        feature=joined["feature"].astype(np.int16),
        threshold=joined["threshold"].astype(np.float32),
        left=joined["left"].astype(np.int32),
        right=joined["right"].astype(np.int32),
        value=joined["value"].astype(np.float32),
        depth=DEPTH,
        bias=float(np.log(share / (1 - share))),
    )
