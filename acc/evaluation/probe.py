"""Probing a memory: replay a scenario, and score what it holds after every turn.

No model, no judge, no key: the ground truth decides. Only counts are kept of a turn, so that
the harness's own memory does not grow with what the evaluated one holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from acc.errors import AccError, EvaluationError
from acc.evaluation.ground_truth import Probe
from acc.evaluation.matching import Matcher
from acc.evaluation.memories.protocol import EvaluatedMemory
from acc.evaluation.metrics import notable, turn_counts
from acc.evaluation.results import Asked, MemoryResult, ScenarioResult, TurnResult
from acc.evaluation.scenarios import Scenario
from acc.tokens import TokenCounter, guarded, utf8_quarter


def probe_memory(
    label: str,
    make: Callable[[], EvaluatedMemory],
    scenarios: Sequence[Scenario],
    *,
    counter: TokenCounter = utf8_quarter,
    on_turn: Callable[[], None] = lambda: None,
) -> MemoryResult:
    """Run every scenario through a fresh memory.

    Args:
        label: The memory's name in what is reported.
        make: Makes one; called once a scenario.
        scenarios: At least one.
        counter: Counts tokens, the same for every memory.
        on_turn: Called after each turn.

    Raises:
        EvaluationError: A memory fails; says where.
    """
    results = [
        probe_scenario(make, scenario, counter=counter, on_turn=on_turn, label=label)
        for scenario in scenarios
    ]
    return MemoryResult(label, tuple(results))


def probe_scenario(
    make: Callable[[], EvaluatedMemory],
    scenario: Scenario,
    *,
    counter: TokenCounter = utf8_quarter,
    on_turn: Callable[[], None] = lambda: None,
    label: str = "memory",
) -> ScenarioResult:
    """Run one scenario through a fresh memory; arguments as for `probe_memory`."""
    turns: list[TurnResult] = []
    probes: list[Asked] = []
    matcher, truth = Matcher(scenario.truth), scenario.truth
    counter = guarded(counter)
    transcript = scenario.transcript_tokens(counter)
    memory = make()
    number = 0
    try:
        for number, turn in enumerate(scenario.turns, 1):
            memory.observe(turn)
            reading = memory.held()
            held = matcher.holding(reading.items)
            counts = turn_counts(truth, number, held, has_slots=memory.has_slots)
            tokens = counter(reading.text)
            turns.append(TurnResult(number, tokens, transcript[number - 1], counts))
            due = (probe for probe in truth.probes if probe.turn == number)
            probes.extend(_asked(memory, matcher, counter, due))
            on_turn()
    except Exception as error:
        raise _failed(label, scenario, number, error) from error
    finally:
        memory.close()
    return ScenarioResult(
        scenario.id,
        truth.domain,
        tuple(turns),
        tuple(probes),
        notable(truth, number, held),
        failures=tuple(getattr(memory, "failures", ())),
        max_tokens=getattr(memory, "max_tokens", None),
    )


def _asked(
    memory: EvaluatedMemory, matcher: Matcher, counter: TokenCounter, due: Iterable[Probe]
) -> Iterator[Asked]:
    for probe in due:
        reading = memory.read(probe.question)
        answered = matcher.answers(probe.needs, reading.items)
        yield Asked(probe.turn, probe.question, probe.needs, answered, counter(reading.text))


def _failed(label: str, scenario: Scenario, turn: int, error: Exception) -> AccError:
    if isinstance(error, AccError):
        what, mend = error.what, error.mend
    else:
        what, mend = f"{type(error).__name__}: {error}", "mend the memory, or leave it out"
    where = f"{scenario.id}, turn {turn}"
    return EvaluationError(f"the memory {label!r} fails: {what}", where=where, mend=mend)
