"""Train the model of which fact a sentence overtakes; its figures on conversations it has not seen.

    python benchmarks/keyless/train_revisions.py [--write]

Each open conversation is replayed. In the turn in which its ground truth supersedes a fact, the
held items that say it are overtaken by the sentences that say what is new in that turn (by all,
where none says it in the truth's words), and by nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from boosting import grown
from conversations import OPEN
from replaying import readings
from stored import asked_to_write, folds

from acc.compressors.rules import revisions
from acc.compressors.rules.reading import Reading
from acc.compressors.rules.revisions import pairs, tellings
from acc.compressors.rules.trees import Trees
from acc.evaluation.matching import Matcher
from acc.evaluation.scenarios import Scenario, read_scenario

WEIGHTS = Path(revisions.__file__).with_name(revisions.WEIGHTS)
FOLDS = 6
ROOM = 1600
"""Tokens of the state beside which the sentences are read: more facts than usual, to learn from more."""


class Pair(NamedTuple):
    """A sentence and a held fact; ``item`` names the fact, the turn and the conversation."""

    source: str
    item: tuple[str, int, str]
    figures: tuple[float, ...]
    overtaken: bool
    is_true: bool


def of_turn(scenario: Scenario, matcher: Matcher, reading: Reading) -> Iterator[Pair]:
    """Every sentence of a turn beside every fact that it may overtake."""
    turn = reading.state.turn + 1
    over = {fact.id for fact in scenario.truth.facts if fact.superseded == turn}
    new = {fact.id for fact in scenario.truth.facts if fact.introduced == turn}
    told = list(tellings(reading))
    says = [bool(matcher.found(telling.said.words).entries & new) for telling in told]
    for telling, names_it in zip(told, says, strict=True):
        for relation, figures in pairs(telling, reading.relations, turn):
            is_over = bool(matcher.found(relation.words).entries & over)
            overtaken = is_over and (names_it or not any(says))
            yield Pair(scenario.id, (scenario.id, turn, relation.id), figures, overtaken, is_over)


def every_pair() -> Iterator[Pair]:
    """The pairs of all open conversations."""
    for path in sorted(OPEN.glob("*.json")):
        scenario = read_scenario(str(path))
        matcher = Matcher(scenario.truth)
        for reading in readings(scenario, ROOM):
            yield from of_turn(scenario, matcher, reading)


def model_of(found: Sequence[Pair]) -> Trees:
    """Trees grown on ``found``."""
    labels = np.array([float(pair.overtaken) for pair in found])
    return grown(np.array([pair.figures for pair in found]), labels)


def main() -> None:
    """Print precision and recall of the facts overtaken; write the weights if asked to."""
    writes = asked_to_write(__doc__)
    found = list(every_pair())
    odds: dict[tuple[str, int, str], float] = {}
    for out in folds((pair.source for pair in found), FOLDS):
        model = model_of([pair for pair in found if pair.source not in out])
        rest = [pair for pair in found if pair.source in out]
        for pair, sure in zip(rest, model.odds(np.array([p.figures for p in rest])), strict=True):
            odds[pair.item] = max(odds.get(pair.item, 0.0), float(sure))
    true = {pair.item for pair in found if pair.is_true}
    print(f"{len(found)} pairs, {len(true)} facts overtaken; each conversation held out\n")
    print("| odds at least | precision | recall |\n| --- | --- | --- |")
    for least in (0.15, 0.25, 0.4, 0.5):
        said = {item for item, sure in odds.items() if sure >= least}
        both = len(said & true)
        print(f"| {least} | {both / max(1, len(said)):.2f} | {both / len(true):.2f} |")
    if writes:
        np.savez_compressed(WEIGHTS, **model_of(found)._asdict())
        print(f"\nwritten: {WEIGHTS.name}")


if __name__ == "__main__":
    main()
