"""Growing boosted trees with scikit-learn, which nothing needs at run time."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from acc.compress.keyless.acts import Trees

DEPTH = 6


def grown(rows: NDArray[np.float64], labels: NDArray[np.float64]) -> Trees:
    """Trees that tell ``labels`` (0 or 1) from ``rows``."""
    model = HistGradientBoostingClassifier(
        max_iter=250, max_depth=DEPTH, learning_rate=0.06, min_samples_leaf=40, max_features=0.3,
        l2_regularization=20, early_stopping=False, random_state=1,
    )  # fmt: skip
    with threadpool_limits(1):  # so that it comes out the same everywhere
        model.fit(rows.astype(np.float32), labels)  # as the package reads them
    trees = [predictor.nodes for (predictor,) in model._predictors]
    starts = [0, *accumulate(map(len, trees))]
    columns: dict[str, list[NDArray[np.float64]]] = {
        name: [] for name in ("feature", "threshold", "left", "right", "value")
    }
    for start, nodes in zip(starts, trees, strict=False):
        leaf, own = nodes["is_leaf"].astype(bool), np.arange(len(nodes))
        columns["feature"].append(np.where(leaf, 0, nodes["feature_idx"]))
        columns["threshold"].append(np.where(leaf, 0.0, nodes["num_threshold"]))
        columns["left"].append(start + np.where(leaf, own, nodes["left"]))
        columns["right"].append(start + np.where(leaf, own, nodes["right"]))
        columns["value"].append(np.where(leaf, nodes["value"], 0.0))
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    return Trees(
        roots=np.array(starts[:-1], dtype=np.int32),
        feature=joined["feature"].astype(np.int16),
        threshold=joined["threshold"].astype(np.float32),
        left=joined["left"].astype(np.int32),
        right=joined["right"].astype(np.int32),
        value=joined["value"].astype(np.float32),
        depth=np.array(DEPTH),
        bias=np.array(model._baseline_prediction[0, 0]),
    )
