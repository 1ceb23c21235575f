"""Train the classifier of which facts will be needed; its figures on conversations it has not seen.

    python benchmarks/keyless/train_needed.py [--write]

Each open conversation is replayed, and all facts that the finders find in it are compared with
those that its ground truth asks for. Train after `train_worth.py`, whose grades are looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from conversations import OPEN
from dataset import scenarios
from numpy.typing import NDArray
from replaying import readings
from softmax import Softmax, fit
from stored import asked_to_write, folds, write

from acc.evaluation.ground_truth import Matcher
from acc.evaluation.scenarios import Scenario
from acc.keyless import worth
from acc.keyless.facts import facts_in
from acc.keyless.rules import rules_in
from acc.keyless.worth import Told, features

WEIGHTS = Path(worth.__file__).with_name(worth.NEEDED)
FOLDS = 6


class Example(NamedTuple):
    """A fact that was found; a conversation is held out as a whole."""

    source: str
    told: Told
    is_needed: bool


def told_in(scenario: Scenario) -> list[Told]:
    """Every fact that is found in the conversation, also those that find no room."""
    found: dict[Told, None] = {}
    for reading in readings(scenario):
        ruling = {said for said in reading.user if rules_in(said)}
        for fact in facts_in(reading, ruling):
            told = Told(fact.subject, fact.predicate, fact.object, fact.status, len(fact.cites))
            found[told] = None
    return list(found)


def examples() -> Iterator[Example]:
    """The facts of all open conversations."""
    for scenario in scenarios(OPEN):
        matcher, wanted = Matcher(scenario.truth), {fact.id for fact in scenario.truth.facts}
        for told in told_in(scenario):
            words = f"{told.subject} {told.predicate} {told.object}"
            yield Example(scenario.id, told, bool(matcher.found(words).entries & wanted))


def trained(found: Sequence[Example]) -> Softmax:
    """A model of ``found``."""
    return fit([features(e.told) for e in found], [int(e.is_needed) for e in found], 2)


def held_out(found: Sequence[Example]) -> NDArray[np.float64]:
    """The odds of each example, by a model that has not seen its conversation."""
    odds = np.zeros(len(found))
    for out in folds((e.source for e in found), FOLDS):
        rest = [at for at, e in enumerate(found) if e.source in out]
        model = trained([e for e in found if e.source not in out])
        odds[rest] = model.odds([features(found[at].told) for at in rest])[:, 1]
    return odds


def main() -> None:
    """Print how well it ranks; write the weights if asked to."""
    writes = asked_to_write(__doc__)
    found = list(examples())
    if not found:
        sys.exit("no open conversation")
    wanted = np.array([e.is_needed for e in found])
    print(f"{len(found)} facts, {wanted.sum()} of them needed; each conversation held out\n")
    print("| kept, best first | of them needed | of the needed |\n| --- | --- | --- |")
    order = np.argsort(-held_out(found))
    for share in (0.1, 0.2, 0.3, 0.4):
        kept = wanted[order[: int(share * len(order))]]
        print(f"| {share:.0%} | {kept.mean():.2f} | {kept.sum() / wanted.sum():.2f} |")
    if writes:
        write(trained(found), WEIGHTS)


if __name__ == "__main__":
    main()
