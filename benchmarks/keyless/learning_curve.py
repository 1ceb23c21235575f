"""What more labelled sentences bring: the classifier of n-grams, trained on parts of the files.

    python benchmarks/keyless/learning_curve.py

Shown is what it makes of the clauses of `held_acts.py`: how many it gets right, and the recall of rules at
a precision of 0.85; the mean over `DRAWS` draws of files. Two minutes.
"""

from __future__ import annotations

import numpy as np
from held_acts import PRECISION, unseen
from train_acts import Example, examples, recall_at, trained

from acc.keyless.acts import features

SHARES = (1 / 8, 1 / 4, 1 / 2, 1.0)
DRAWS = 3


def drawn(found: list[Example], share: float, seed: int) -> list[Example]:
    """The examples of a share of the files."""
    sources = sorted({example.source for example in found})
    order = np.random.default_rng(seed).permutation(sources)
    kept = set(order[: round(share * len(sources))].tolist())
    return [example for example in found if example.source in kept]


def row(found: list[Example], kinds: dict[str, list[Example]]) -> list[float]:
    """Clauses, and of each kind the share that is right and the recall of rules."""
    model = trained(found)
    figures = [float(len(found))]
    for clauses in kinds.values():
        odds = model.odds([features(one.spoken) for one in clauses])
        acts = np.array([one.act for one in clauses])
        figures.append(float((odds.argmax(axis=1) == acts).mean()))
        figures.append(recall_at(PRECISION, odds[:, 0], acts == 0))
    return figures


def main() -> None:
    """Print the table."""
    found, kinds = list(examples()), unseen()
    print("| files | clauses |", *(f" {kind}: right | rules |" for kind in kinds))
    print("|---|---|", "---|---|" * len(kinds), sep="")
    for share in SHARES:
        draws = range(DRAWS if share < 1 else 1)
        figures = np.mean([row(drawn(found, share, seed), kinds) for seed in draws], axis=0)
        clauses, *rates = figures.tolist()
        print(f"| {share:.1%} | {clauses:,.0f} |", *(f" {rate:.3f} |" for rate in rates))


if __name__ == "__main__":
    main()
