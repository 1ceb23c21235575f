"""Checking a scenario beyond its form: whether its ground truth can be found where it should be."""

from __future__ import annotations

import re
from collections.abc import Iterator

from acc.evaluation.ground_truth import TOPICS, FactTruth, Standing
from acc.evaluation.matching import Matcher, look_alike
from acc.evaluation.scenarios import Scenario

TURNS = 50
"""Turns of a scenario in the paper's evaluation."""


def doubts(scenario: Scenario) -> Iterator[str]:
    """What may be wrong with a scenario, each as a clause. None is an error of form."""
    yield from _shape(scenario)
    matcher = Matcher(scenario.truth)
    yield from _entries(scenario, matcher)
    yield from _planted(scenario, matcher)
    yield from _probes(scenario, matcher)


def _shape(scenario: Scenario) -> Iterator[str]:
    if len(scenario.turns) != TURNS:
        yield f"{len(scenario.turns)} turns, not {TURNS}"
    named = {turn.stress for turn in scenario.script} - {""}
    if missing := [topic for topic in TOPICS if topic not in named]:
        yield f"no turn has the stress topic {', '.join(missing)}"
    if unknown := sorted(named - set(TOPICS)):
        yield f"a stress topic that the paper's Table 1 lacks: {', '.join(unknown)}"


def _entries(scenario: Scenario, matcher: Matcher) -> Iterator[str]:
    for entry in scenario.truth.named():
        if entry.id not in matcher.found(entry.text).entries:
            yield f"{entry.id} does not match its own text: {entry.text[:60]!r}"
        if isinstance(entry, Standing | FactTruth):
            turn = entry.introduced
            if not _stands_in(scenario, matcher, turn, entry.id):
                yield f"{entry.id} is nowhere in turn {turn}, which introduces it"


def _planted(scenario: Scenario, matcher: Matcher) -> Iterator[str]:
    for poison in scenario.truth.poison:
        if not _stands_in(scenario, matcher, poison.turn, poison.id):
            yield f"{poison.id} is nowhere in its turn {poison.turn}"
    for index, alike in enumerate(scenario.truth.not_constraints):
        if not _stands_in(scenario, matcher, alike.turn, look_alike(index)):
            yield f"not_constraints {index + 1} is nowhere in its turn {alike.turn}"


def _probes(scenario: Scenario, matcher: Matcher) -> Iterator[str]:
    for number, probe in enumerate(scenario.truth.probes, 1):
        if set(probe.needs) <= matcher.found(probe.question).entries:
            yield f"probe {number} answers itself: {probe.question[:60]!r}"
        patterns = (re.compile(pattern, re.IGNORECASE) for pattern in probe.any_of)
        if probe.answer and probe.any_of and not any(p.search(probe.answer) for p in patterns):
            yield f"probe {number} does not match its own answer: {probe.answer[:60]!r}"


def _stands_in(scenario: Scenario, matcher: Matcher, turn: int, key: str) -> bool:
    observed = scenario.turns[turn - 1].observations
    return any(key in matcher.found(observation.text).entries for observation in observed)
