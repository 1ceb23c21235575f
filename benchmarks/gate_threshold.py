"""The gate's relevance threshold on LoCoMo: chosen on one half of the conversations, measured on the other.

    python benchmarks/gate_threshold.py PATH_TO_locomo10.json [--json]

Candidates are a question's first 16 documents, wanted are those of its evidence, and the score of a
candidate is told over that of the best, so that a threshold follows what was found. Chosen is the
highest threshold at which the gate keeps `KEPT` of what is wanted. The data is CC BY-NC 4.0: fetch it
yourself; it is for measuring only and no part of this project.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from acc.evaluation.gate_scoring import GateScore, LabelledCase, score_gate
from acc.evaluation.locomo import labelled_by_evidence, load_locomo
from acc.gate.built_in import Budget, Relevance, Trusted

KEPT = 0.95
"""Recall that a threshold has to leave."""

GRID = tuple(step / 20 for step in range(1, 20))


@dataclass(frozen=True)
class Fold:
    """A threshold, chosen on the conversations of one half and measured on those of the other."""

    chosen: float
    precision: float
    recall: float
    admitting_all: float
    default_precision: float
    default_recall: float


def scored(cases: Iterable[LabelledCase], threshold: float) -> GateScore:
    """The gates that can refuse anything here; without a state the others admit all."""
    return score_gate(cases, Trusted() & Relevance(threshold=threshold) & Budget())


def folds(halves: Sequence[Sequence[LabelledCase]]) -> list[Fold]:
    """A fold for each half."""
    found = []
    for half, other in (halves, halves[::-1]):
        scores = {threshold: scored(half, threshold) for threshold in GRID}
        chosen = max(t for t, score in scores.items() if (score.recall or 0.0) >= KEPT)
        held_out, default = scored(other, chosen), scored(other, Relevance().threshold)
        found.append(
            Fold(
                chosen, held_out.precision or 0.0, held_out.recall or 0.0, held_out.base or 0.0,
                default.precision or 0.0, default.recall or 0.0,
            )
        )  # fmt: skip
    return found


def main() -> None:
    """Print a row a fold, or JSON."""
    parser = argparse.ArgumentParser(description="The gate's relevance threshold on LoCoMo.")
    parser.add_argument("path", type=Path, help="locomo10.json, in LoCoMo's own format")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    conversations = load_locomo(args.path)
    halves = [
        [case for each in conversations[half::2] for case in labelled_by_evidence(each)]
        for half in (0, 1)
    ]
    rows: list[dict[str, Any]] = [asdict(fold) for fold in folds(halves)]
    if args.json:
        print(json.dumps({"kept": KEPT, "default": Relevance().threshold, "folds": rows}))
        return
    print(f"| {' | '.join(rows[0])} |\n|{' --- |' * len(rows[0])}")
    for row in rows:
        print(f"| {' | '.join(f'{value:.3f}' for value in row.values())} |")


if __name__ == "__main__":
    main()
