"""Probes a memory: replays a scenario and scores the memory's contents after every turn.

It needs no model, judge or key: the ground truth decides. It keeps only counts of a turn. Its own
memory use therefore does not grow with the contents of the evaluated memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from acc.errors import AccError, ConfigurationError, EvaluationError
from acc.text.tokens import utf8_quarter
from acc_eval.ground_truth import Matcher, Probe
from acc_eval.memories.protocol import EvaluatedMemory, Reading
from acc_eval.price import AgentPrompts
from acc_eval.probe_results import (
    NAMES,
    PROBES,
    RATES,
    Counts,
    MemoryResult,
    ProbeResult,
    ScenarioResult,
    TurnResult,
    Usage,
    notable,
    turn_counts,
    write_csv,
)
from acc_eval.scenarios import Scenario

_FORM = re.compile(
    r"(?:(?P<when>end|last|turns)\.)?(?:(?P<how>micro|macro)\.)?(?P<metric>\w+)(?:@(?P<memory>.+))?"
)


@dataclass(frozen=True)
class Threshold:
    """A limit on one value of one memory.

    Attributes:
        when: ``end``, ``last`` for the last ten turns, or ``turns`` for all turns.
        how: ``micro`` or ``macro``.
        memory: Label of the memory; empty for the first.
        is_upper: Whether a greater value fails; otherwise a smaller one fails.
    """

    when: str
    how: str
    metric: str
    memory: str
    value: float
    is_upper: bool

    def failure(self, results: Sequence[MemoryResult]) -> str:
        """How the memory misses the limit, as a clause; empty if it does not."""
        result = next((r for r in results if self.memory in ("", r.memory)), None)
        if result is None:
            labels = ", ".join(r.memory for r in results)
            raise ConfigurationError(
                f"no memory {self.memory!r}", where=str(self), hint=f"use one of {labels}"
            )
        value = result.averages()[self.when][self.how][self.metric]
        if value is None:
            return f"{self.metric} of {result.memory} is undefined"
        fails = value > self.value if self.is_upper else value < self.value
        word = "above" if self.is_upper else "below"
        bound = f"{self.value:g}"
        return f"{self.metric} of {result.memory} is {value:.4g}, {word} {bound}" if fails else ""

    def __str__(self) -> str:
        memory = f"@{self.memory}" if self.memory else ""
        return f"{self.when}.{self.how}.{self.metric}{memory}={self.value:g}"


def read_threshold(given: str, *, is_upper: bool) -> Threshold:
    """Parse ``[end.|last.|turns.][micro.|macro.]METRIC[@MEMORY]=VALUE``.

    Raises:
        ConfigurationError: The text has another form, or names no metric.
    """
    name, _, number = given.rpartition("=")
    match = _FORM.fullmatch(name)
    try:
        value = float(number)
    except ValueError:
        match = None
    if match is None or match["metric"] not in NAMES or value != value:
        raise ConfigurationError(
            f"{given!r} is not a limit of a metric",
            where="--fail-over" if is_upper else "--fail-under",
            hint=f"write METRIC=VALUE, with one of {', '.join(NAMES)}",
        )
    return Threshold(
        match["when"] or "end", match["how"] or "micro", match["metric"], match["memory"] or "",
        value, is_upper,
    )  # fmt: skip


def probe_memory(
    label: str,
    make: Callable[[], EvaluatedMemory],
    scenarios: Sequence[Scenario],
    *,
    runs: int = 1,
    on_turn: Callable[[], None] = lambda: None,
) -> MemoryResult:
    """Run each of ``scenarios`` through a new memory, ``runs`` times.

    ``on_turn`` is called after each turn.
    """
    first, *others = (
        MemoryResult(
            label,
            tuple(probe_scenario(make, each, on_turn=on_turn, label=label) for each in scenarios),
        )
        for _ in range(max(1, runs))
    )
    return replace(first, repeats=tuple(others))


def probe_scenario(
    make: Callable[[], EvaluatedMemory],
    scenario: Scenario,
    *,
    on_turn: Callable[[], None] = lambda: None,
    label: str = "memory",
) -> ScenarioResult:
    """Run one scenario through a new memory. Tokens are UTF-8 bytes / 4 for every memory.

    Raises:
        EvaluationError: The memory fails; the error says where.
    """
    turns: list[TurnResult] = []
    probes: list[ProbeResult] = []
    matcher, truth = Matcher(scenario.truth), scenario.truth
    transcript = scenario.transcript_tokens(utf8_quarter)
    memory = make()
    prompts, number = AgentPrompts(truth.role), 0
    try:
        for number, turn in enumerate(scenario.turns, 1):
            memory.observe(turn)
            reading = memory.held()
            held = matcher.holding(reading.items, reading.verbatim)
            counts = turn_counts(truth, number, held, has_slots=memory.has_slots)
            turns.append(_turn_result(number, reading, transcript[number - 1], counts))
            prompts.read(reading.text)
            due = [probe for probe in truth.probes if probe.turn == number]
            probes += [_probed(memory, matcher, probe) for probe in due]
            on_turn()
    except Exception as error:
        what, hint = f"{type(error).__name__}: {error}", "correct the memory, or leave it out"
        if isinstance(error, AccError):
            what, hint = error.what, error.hint
        where = f"{scenario.id}, turn {number}"
        raise EvaluationError(
            f"the memory {label!r} fails: {what}", where=where, hint=hint
        ) from error
    finally:
        memory.close()
    return ScenarioResult(
        scenario.id,
        truth.domain,
        tuple(turns),
        tuple(probes),
        notable(truth, number, held, has_slots=memory.has_slots),
        failures=tuple(getattr(memory, "failures", ())),
        max_tokens=getattr(memory, "max_tokens", None),
        usage=_usage(memory),
        agent=prompts.usage,
    )


def _turn_result(number: int, reading: Reading, transcript: int, counts: Counts) -> TurnResult:
    tokens, later = utf8_quarter(reading.text), sum(bool(item.later) for item in reading.items)
    return TurnResult(number, tokens, transcript, counts, dict(reading.parts), later)


def _usage(memory: EvaluatedMemory) -> Usage | None:
    usage = getattr(memory, "usage", None)
    return None if usage is None else dict(usage)


def _probed(memory: EvaluatedMemory, matcher: Matcher, probe: Probe) -> ProbeResult:
    reading = memory.read(probe.question)
    answered = matcher.answers(probe.needs, reading.items)
    return ProbeResult(
        probe.turn, probe.question, probe.needs, answered, utf8_quarter(reading.text)
    )


def write_turns(results: Sequence[MemoryResult], file: Path) -> None:
    """Write a CSV file with one line per scenario, memory and turn: tokens and rates."""
    # Probes occur in few turns and have no rate per turn.
    rates = [name for name in RATES if name != PROBES]
    headings = ["scenario", "domain", "memory", "turn", "tokens", "transcript_tokens", *rates]
    rows = (
        [each.scenario, each.domain, result.memory, turn.turn, turn.tokens, turn.transcript_tokens]
        + [count.rate if (count := turn.counts.get(name)) else None for name in rates]
        for result in results
        for each in result.scenarios
        for turn in each.turns
    )
    write_csv(file, headings, rows)
