"""Train the classifier of what is worth keeping, and say how good it is on trades it has not seen.

    python benchmarks/keyless/train_worth.py [--write]

The conversations of ``sentence_worth`` say of each sentence whether
somebody would need it thirty turns later (2), a few turns later (1), or not (0). Its clauses, and
what the finders make of it, have its grade.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from dataset import read
from softmax import Softmax, fit
from stored import asked_to_write, folds, write

from acc.keyless import worth
from acc.keyless.sentences import clauses, plain
from acc.keyless.statements import FINDERS, whole_sentence
from acc.keyless.worth import GRADES, worth_features

WEIGHTS = Path(worth.__file__).with_name(worth.WORTH)
FOLDS = 5


class Example(NamedTuple):
    """A labelled sentence; a trade is held out as a whole."""

    trade: str
    words: str
    grade: int


def examples() -> Iterator[Example]:
    """All sentences of the conversations."""
    for _, case in read("sentence_worth"):
        for turn in case["turns"]:
            said = zip(turn["user"], turn["user_keep"], strict=True)
            answered = zip(turn["reply"], turn["keep"], strict=True)
            for words, grade in (*said, *answered):
                yield Example(case["trade"], words, grade)
                for part in (*_facts_in(plain(words)), *clauses(plain(words))):
                    yield Example(case["trade"], part, grade)


def _facts_in(words: str) -> Iterator[str]:
    for find in (*FINDERS, whole_sentence):
        yield from map(" ".join, find(words))


def trained(found: Sequence[Example]) -> Softmax:
    """A model of ``found``."""
    return fit([worth_features(e.words) for e in found], [e.grade for e in found], len(GRADES))


def main() -> None:
    """Print how well worth ranks; write the weights if asked to."""
    writes = asked_to_write(__doc__)
    found = list(examples())
    values, grades = [], []
    for out in folds((e.trade for e in found), FOLDS):
        rest = [e for e in found if e.trade in out]
        odds = trained([e for e in found if e.trade not in out]).odds(
            [worth_features(e.words) for e in rest]
        )
        values.append(odds @ np.array(GRADES))
        grades += [e.grade for e in rest]
    worths, needed = np.concatenate(values), np.array(grades) == 2
    print(f"{len(found)} sentences, {needed.sum()} of them needed later; each trade held out\n")
    print("| kept, best first | of them needed | of the needed |\n| --- | --- | --- |")
    order = np.argsort(-worths)
    for share in (0.2, 0.3, 0.4, 0.5):
        kept = needed[order[: int(share * len(order))]]
        print(f"| {share:.0%} | {kept.mean():.2f} | {kept.sum() / needed.sum():.2f} |")
    if writes:
        write(trained(found), WEIGHTS)


if __name__ == "__main__":
    main()
