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
from pupil import SEED, Pupil, network_in, taught
from stored import linear, write
from train_acts import Example, examples, trained
from train_convolution import NETWORK, labels
from tune_convolution import TOLD

from acc.compress.keyless.acts import ACTS, Act, features, mixed
from acc.compress.keyless.words import Clause

FOLDS, PASSES = 4, 6

Does = Callable[[Clause], Mapping[Act, float]]


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
        ngrams, network = Path(folder, "linear.npz"), Path(folder, "network.npz")
        write(trained(found), ngrams)
        known = network_in(NETWORK)
        names = list(known.places)
        torch.manual_seed(SEED)
        pupil = Pupil(known.vectors)
        told = labels(found, TOLD).astype(np.float32)
        taught(pupil, names, [e.clause for e in found], told, PASSES).write(names, network)
        one, other = linear(ngrams), network_in(network)

    @lru_cache(maxsize=1 << 16)
    def does(clause: Clause) -> Mapping[Act, float]:
        odds = mixed(one.odds(features(clause)), other.odds(clause))
        return dict(zip(ACTS, odds, strict=True))

    return does
