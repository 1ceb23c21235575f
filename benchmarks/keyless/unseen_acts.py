"""What a clause does, by models that have not seen its file.

What stands behind the classifier of acts has to learn how far it can be trusted on clauses that are new
to it: on those it was trained on, it is nearly always right. So for each of `FOLDS` parts of the files a
pair of models like those of the package is trained on the others. Five minutes; needs torch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from pupil import SEED, Pupil, taught
from stored import write
from train_acts import Example, examples, trained
from train_convolution import labels
from tune_convolution import TOLD

from acc.keyless.acts import ACTS, Act, features, mixed
from acc.keyless.classifiers import Linear
from acc.keyless.convolution import Convolution
from acc.keyless.reading import Spoken

FOLDS, PASSES = 4, 6

Does = Callable[[Spoken], Mapping[Act, float]]


def unseen_acts() -> dict[str, Does]:
    """For each file and conversation, by name, what says what its clauses do."""
    torch.set_num_threads(1)  # so that it comes out the same everywhere
    found = list(examples())
    parts = _parts(example.source for example in found)
    judges = [
        _judge([example for example in found if parts[example.source] != part])
        for part in range(FOLDS)
    ]
    return {source: judges[part] for source, part in parts.items()}


def _parts(sources: Iterable[str]) -> dict[str, int]:
    """The part of each source: the parts are about equally long."""
    lengths, parts = [0] * FOLDS, {}
    for source, length in sorted(Counter(sources).items(), key=lambda pair: (-pair[1], pair[0])):
        parts[source] = lengths.index(min(lengths))
        lengths[parts[source]] += length
    return parts


def _judge(found: list[Example]) -> Does:
    """What says what a clause does, trained on ``found``."""
    with TemporaryDirectory() as folder:
        linear, network = Path(folder, "linear.npz"), Path(folder, "network.npz")
        write(trained(found), linear)
        shipped = Convolution.read()
        names = list(shipped.pieces.places)
        torch.manual_seed(SEED)
        pupil = Pupil(shipped.pieces.vectors.astype(np.float32) * np.float32(shipped.pieces.scale))
        told = labels(found, TOLD).astype(np.float32)
        taught(pupil, names, [e.spoken for e in found], told, PASSES).write(names, network)
        ngrams, convolution = Linear.load(linear), Convolution.load(network)

    @lru_cache(maxsize=1 << 16)
    def does(spoken: Spoken) -> Mapping[Act, float]:
        odds = mixed(ngrams.odds(features(spoken)), convolution.odds(spoken))
        return dict(zip(ACTS, odds, strict=True))

    return does
