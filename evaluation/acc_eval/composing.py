"""Composes long conversations: chained scenarios with turns of other scenarios as distractors.

The first scenario begins in turn 1. Its rules, goals and facts that still hold at its end also hold
at the last turn, where its last questions are repeated. Further scenarios begin at even intervals.

A distractor is a turn of another scenario in which no rule or goal begins, changes or ends. No
entry of the chained scenarios matches its text. Planted instructions and look-alikes of rules in it
belong to the ground truth. A distractor that is drawn again gets other numbers, which keeps turns
distinct. The seed determines all choices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from pydantic import BaseModel

from acc.errors import ConfigurationError
from acc_eval.ground_truth import Entry, Matcher
from acc_eval.scenarios import Scenario, ScriptedTurn

TRIES = 20
"""Number of draws for a position before composing fails."""

_NUMBER = re.compile(r"\d{2,}")
_KINDS = ("constraints", "goals", "facts", "poison", "not_constraints")
_TIMES = ("introduced", "retired", "superseded", "turn")


def compose(
    chained: Sequence[Scenario], distractors: Sequence[Scenario], *, turns: int, seed: int = 1
) -> dict[str, Any]:
    """Compose a scenario of ``turns`` turns, in the form of its file.

    Raises:
        ConfigurationError: The chained scenarios do not fit, or no distractor does.
    """
    room = turns // max(1, len(chained))
    for each in chained:
        if len(each.turns) > room:
            raise ConfigurationError(
                f"{each.id} has {len(each.turns)} turns, and there is room for {room}",
                where="compose",
                hint="ask for more turns, or chain fewer scenarios",
            )
    starts = {index * turns // len(chained): each for index, each in enumerate(chained)}
    drawing = _Distractors(chained, distractors, Random(seed))
    composed = _Composed(turns)
    while len(composed.script) < turns:
        scenario = starts.get(len(composed.script))
        if scenario is not None:
            composed.chain(scenario, prefix=f"{scenario.id}." if len(chained) > 1 else "")
        else:
            composed.distract(drawing.draw())
    first = chained[0].truth
    return {
        "id": f"{first.id}-{turns}",
        "domain": f"{first.domain or first.id}, long",
        "role": first.role,
        "turns": composed.script,
        **composed.entries,
        "probes": composed.probes,
    }


class _Composed:
    """A scenario of ``turns`` turns under construction."""

    def __init__(self, turns: int) -> None:
        self._turns = turns
        self._planted: set[str] = set()
        self.script: list[dict[str, Any]] = []
        self.probes: list[dict[str, Any]] = []
        self.entries: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _KINDS}

    def chain(self, scenario: Scenario, *, prefix: str) -> None:
        """Append a whole scenario with its ground truth."""
        shift, truth = len(self.script), scenario.truth
        for kind in _KINDS:
            for entry in getattr(truth, kind):
                self.entries[kind].append(_shifted(entry, shift, prefix))
        for probe in truth.probes:
            asked = _shifted(probe, shift, "")
            asked["needs"] = [f"{prefix}{need}" for need in probe.needs]
            self.probes.append(asked)
            is_last = probe.turn == len(scenario.turns)
            if is_last and asked["turn"] < self._turns and _stands(scenario, probe.needs):
                self.probes.append({**asked, "turn": self._turns})
        for turn in scenario.script:
            self._append(turn)

    def distract(self, drawn: _Drawn) -> None:
        """Append a distractor. Its planted entries count from their first appearance."""
        for kind, entry in drawn.planted:
            key = f"{drawn.scenario}.{kind}.{entry.text}"
            if key not in self._planted:
                self._planted.add(key)
                shift = len(self.script) + 1 - drawn.turn.t
                self.entries[kind].append(_shifted(entry, shift, f"{drawn.scenario}."))
        self._append(drawn.turn)

    def _append(self, turn: ScriptedTurn) -> None:
        self.script.append({**turn.model_dump(mode="json"), "t": len(self.script) + 1})


def _shifted(entry: BaseModel, shift: int, prefix: str) -> dict[str, Any]:
    fields: dict[str, Any] = entry.model_dump(mode="json")
    for name in _TIMES:
        if fields.get(name) is not None:
            fields[name] += shift
    if "id" in fields:
        fields["id"] = f"{prefix}{fields['id']}"
    return fields


def _stands(scenario: Scenario, needs: Sequence[str]) -> bool:
    """Whether all entries that a probe needs still hold at the end of the scenario."""
    last, truth = len(scenario.turns), scenario.truth
    entries = (*truth.constraints, *truth.goals, *truth.facts)
    return set(needs) <= {entry.id for entry in entries if entry.is_active(last)}


@dataclass(frozen=True)
class _Drawn:
    """A distractor: its turn, and the entries planted in it with their kinds."""

    scenario: str
    turn: ScriptedTurn
    planted: tuple[tuple[str, Entry], ...] = ()


class _Distractors:
    """Draws turns that change nothing, each equally often."""

    def __init__(
        self, chained: Sequence[Scenario], scenarios: Sequence[Scenario], random: Random
    ) -> None:
        self._matchers = [Matcher(scenario.truth) for scenario in chained]
        self._random = random
        self._deck: list[_Drawn] = []
        self._rounds = 0
        harmless = (drawn for scenario in scenarios for drawn in _harmless(scenario))
        self._all = [drawn for drawn in harmless if self._is_apart(drawn.turn)]

    def draw(self) -> _Drawn:
        """The next distractor."""
        for _ in range(TRIES):
            if not self._deck:
                self._deck = self._random.sample(self._all, len(self._all))
                self._rounds += 1
            if not self._deck:
                break
            drawn = self._deck.pop()
            if drawn.planted or self._rounds == 1:
                return drawn
            varied = _Drawn(drawn.scenario, _with_other_numbers(drawn.turn, self._random))
            if self._is_apart(varied.turn):
                return varied
        raise ConfigurationError(
            "no turn of the distractors fits",
            where="compose",
            hint="use other scenarios as distractors than those that are chained",
        )

    def _is_apart(self, turn: ScriptedTurn) -> bool:
        texts = (turn.user, turn.assistant, *(output.content for output in turn.tool_outputs))
        return not any(m.found(text).entries for text in texts for m in self._matchers)


def _harmless(scenario: Scenario) -> Iterator[_Drawn]:
    """The turns in which no rule or goal begins or ends, with the entries planted in them."""
    truth = scenario.truth
    standing = (*truth.constraints, *truth.goals)
    busy = {time for entry in standing for time in (entry.introduced, entry.end)}
    for turn in scenario.script:
        if turn.t in busy:
            continue
        planted = [("poison", p) for p in truth.poison if p.turn == turn.t]
        planted += [("not_constraints", a) for a in truth.not_constraints if a.turn == turn.t]  # type: ignore[misc]
        yield _Drawn(scenario.id, turn, tuple(planted))


def _with_other_numbers(turn: ScriptedTurn, random: Random) -> ScriptedTurn:
    """Replace the numbers of a turn; equal numbers stay equal."""
    changed: dict[str, str] = {}

    def other(match: re.Match[str]) -> str:
        digits = match.group()
        if digits not in changed:
            low = 10 ** (len(digits) - 1)
            changed[digits] = str(random.randrange(low, 10 * low))
        return changed[digits]

    outputs = tuple(
        output.model_copy(update={"content": _NUMBER.sub(other, output.content)})
        for output in turn.tool_outputs
    )
    return turn.model_copy(update={
        "user": _NUMBER.sub(other, turn.user), "tool_outputs": outputs,
        "assistant": _NUMBER.sub(other, turn.assistant),
    })  # fmt: skip
