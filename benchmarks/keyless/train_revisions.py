"""Train the model of which fact a sentence overtakes; its figures on conversations it has not seen.

    python benchmarks/keyless/train_revisions.py [--write]

Each open conversation is replayed, and the short ones of the split ``updates``, in which facts
change all the time. In the turn in which the ground truth supersedes a fact, the held items that
say it are overtaken by the sentences that say what is new in that turn (by all, where none says it
in the truth's words), and by nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from boosting import grown
from conversations import OPEN
from dataset import scenarios
from numpy.typing import NDArray
from replaying import readings
from stored import asked_to_write, folds

from acc.evaluation.ground_truth import Matcher
from acc.evaluation.scenarios import Scenario
from acc.keyless import revisions
from acc.keyless.classifiers import Trees
from acc.keyless.reading import TurnReading
from acc.keyless.revisions import paired, rows_of, tellings

WEIGHTS = Path(revisions.__file__).with_name(revisions.WEIGHTS)
UPDATES = "updates"
FOLDS = 6
ROOM = 1600
"""Tokens of the state beside which the sentences are read: more facts than usual, to learn from more."""


class Case(NamedTuple):
    """A sentence and a held fact; ``item`` names the fact, the turn and the conversation.

    ``is_dense`` where the conversation was written to be dense with changes.
    """

    source: str
    item: tuple[str, int, str]
    row: NDArray[np.float64]
    overtaken: bool
    is_true: bool
    is_dense: bool


def of_turn(
    scenario: Scenario, matcher: Matcher, reading: TurnReading, is_dense: bool
) -> Iterator[Case]:
    """Every sentence of a turn beside every fact that it may overtake."""
    turn = reading.state.turn + 1
    over = {fact.id for fact in scenario.truth.facts if fact.superseded == turn}
    new = {fact.id for fact in scenario.truth.facts if fact.introduced == turn}
    says = {
        telling: bool(matcher.found(telling.said.words).entries & new)
        for telling in tellings(reading)
    }
    found = paired(reading, reading.state.relational_map)
    rows = rows_of(found, often=is_dense) if found else ()
    for (telling, relation, _), row in zip(found, rows, strict=True):
        is_over = bool(matcher.found(relation.words).entries & over)
        overtaken = is_over and (says[telling] or not any(says.values()))
        item = (scenario.id, turn, relation.id)
        yield Case(scenario.id, item, row, overtaken, is_over, is_dense)


def every_case() -> Iterator[Case]:
    """The pairs of all these conversations."""
    for split in (OPEN, UPDATES):
        for scenario in scenarios(split):
            matcher = Matcher(scenario.truth)
            for reading in readings(scenario, ROOM):
                yield from of_turn(scenario, matcher, reading, split == UPDATES)


def model_of(found: Sequence[Case]) -> Trees:
    """Trees grown on ``found``."""
    labels = np.array([float(case.overtaken) for case in found])
    return grown(np.array([case.row for case in found]), labels)


def main() -> None:
    """Print precision and recall of the facts overtaken; write the weights if asked to."""
    writes = asked_to_write(__doc__)
    every = list(every_case())
    dense = [case for case in every if case.is_dense]
    found = [case for case in every if not case.is_dense]
    odds: dict[tuple[str, int, str], float] = {}
    for out in folds((case.source for case in found), FOLDS):
        model = model_of([*dense, *(case for case in found if case.source not in out)])
        rest = [case for case in found if case.source in out]
        for case, sure in zip(rest, model.odds(np.array([c.row for c in rest])), strict=True):
            odds[case.item] = max(odds.get(case.item, 0.0), float(sure))
    true = {case.item for case in found if case.is_true}
    changing = {case.item for case in dense if case.is_true}
    print(f"{len(found)} pairs, {len(true)} facts overtaken; each conversation held out")
    print(f"beside them {len(dense)} pairs, {len(changing)} facts overtaken, of {UPDATES}\n")
    print("| odds at least | precision | recall |\n| --- | --- | --- |")
    for least in (0.15, 0.2, 0.3, 0.4, 0.5):
        said = {item for item, sure in odds.items() if sure >= least}
        both = len(said & true)
        print(f"| {least} | {both / max(1, len(said)):.2f} | {both / len(true):.2f} |")
    if writes:
        np.savez_compressed(WEIGHTS, **asdict(model_of(every)))
        print(f"\nwritten: {WEIGHTS.name}")


if __name__ == "__main__":
    main()
