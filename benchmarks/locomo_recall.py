"""Evidence recall of `acc.text.ranking` on LoCoMo: how many of the turns that answer are found.

    python benchmarks/locomo_recall.py PATH_TO_locomo10.json [--json] [--folds]

The data (snap-research/LoCoMo, ``data/locomo10.json``) is CC BY-NC 4.0: fetch it yourself; it is
for measuring only and no part of this project. The method is that of `acc.evaluation.locomo`,
and ``acc eval recall`` gives the default's figures; beside them are measured here the same without
context.

``--folds`` chooses the weights of the thread's context anew on each half of the conversations,
by recall at 16, and measures the choice on the other half (about a minute).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from acc.evaluation.locomo import LocomoConversation, load_locomo, measure, summary
from acc.text.ranking import Weights

VARIANTS = {"default": Weights(), "no context": Weights(predecessor=0.0, share=0.0)}
"""What is measured: the defaults, and beside them each document by its own words alone."""

GRID = tuple(
    Weights(predecessor=predecessor, share=share, decay=decay)
    for predecessor, share, decay in product(
        (0.0, 0.15, 0.3, 0.5), (0.0, 0.15, 0.3, 0.45), (0.6, 0.7, 0.8, 0.9)
    )
)
"""What ``--folds`` chooses from."""


def cross_validate(conversations: Sequence[LocomoConversation]) -> list[dict[str, Any]]:
    """For each half of the conversations: the weights it prefers, and R@16 on the other half."""
    recalls = {
        weights: [[o.recall[-1] for o in measure(c, weights)] for c in conversations]
        for weights in GRID
    }

    def pooled(weights: Weights, half: int) -> float:
        return fmean(recall for part in recalls[weights][half::2] for recall in part)

    folds = []
    for half in (0, 1):
        best = max(GRID, key=lambda weights: pooled(weights, half))
        chosen = {name: getattr(best, name) for name in ("predecessor", "share", "decay")}
        figures = {"chosen on": pooled(best, half), "held out": pooled(best, 1 - half)}
        folds.append({**chosen, **figures, "default": pooled(Weights(), 1 - half)})
    return folds


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A Markdown table; its columns are the keys of the first row."""
    lines = [[*rows[0]], ["---"] * len(rows[0])]
    lines += [[f"{v:.3f}" if isinstance(v, float) else v for v in row.values()] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Evidence recall of acc.text.ranking on LoCoMo.")
    parser.add_argument("path", type=Path, help="locomo10.json, in LoCoMo's own format")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--folds", action="store_true", help="cross-validate the weights")
    args = parser.parse_args()
    conversations = load_locomo(args.path)
    outcomes = {
        name: [o for c in conversations for o in measure(c, weights)]
        for name, weights in VARIANTS.items()
    }
    documents = sum(len(c.documents) for c in conversations)
    questions = sum(len(c.questions) for c in conversations)
    report: dict[str, Any] = {
        "conversations": len(conversations),
        "documents": documents,
        "questions": questions,
        "weights": {name: asdict(weights) for name, weights in VARIANTS.items()},
        "figures": {name: summary(found) for name, found in outcomes.items()},
    }
    if args.folds:
        report["folds"] = cross_validate(conversations)
    if args.json:
        print(json.dumps(report))
        return
    print(f"{len(conversations)} conversations, {documents} documents, {questions} questions\n")
    print(table([{"weights": name, **row} for name, row in report["figures"].items()]))
    if args.folds:
        print(f"\n{table(report['folds'])}")


if __name__ == "__main__":
    main()
