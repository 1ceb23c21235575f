"""``acc eval judge``: evaluates agents under a live judge.

A log keeps the paid answers. No answer is paid for twice.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import Any

from acc.cli.screen import Screen, table, told_json
from acc.compress.asking import endpoint_named
from acc.compress.endpoint import Endpoint
from acc.compress.protocol import Price
from acc.errors import AccError, ConfigurationError, EvaluationError, InputError
from acc.evaluation.composing import compose as composed
from acc.evaluation.judge_by_rule import NOTICE, answer_by_rule
from acc.evaluation.judge_calls import Budget, Spending
from acc.evaluation.judge_measures import (
    NAMES,
    Difference,
    Interval,
    differences,
    intervals,
)
from acc.evaluation.judge_runs import (
    ROLES,
    Live,
    LiveResult,
    as_json,
    complete,
    play,
    write_turns,
)
from acc.evaluation.memories.specs import read_specs
from acc.evaluation.report_sections import Read, judge_section, probe_section, read_results
from acc.evaluation.scenarios import Scenario, doubts, read_scenario, read_scenarios
from acc.folders import opened_for_text
from acc.report.page import page, write_page


def write_results(value: dict[str, Any], out: str) -> None:
    """Write ``value`` to the file ``out``; ``-`` is stdout.

    Raises:
        AccError: The file cannot be written.
    """
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    if out == "-":
        sys.stdout.write(text)
        return
    try:
        with opened_for_text(Path(out)) as file:
            file.write(text)
    except OSError as error:
        raise AccError(
            f"the results cannot be written: {error.strerror or error}",
            where=out,
            hint="free space or name another file",
        ) from error


def check_apart(out: str, scenarios: Sequence[Scenario]) -> None:
    """Refuse to overwrite a scenario with the results.

    Raises:
        InputError: ``out`` is a file of one of ``scenarios``.
    """
    if out in ("", "-") or not Path(out).exists():
        return
    for scenario in scenarios:
        if any(Path(out).samefile(file) for file in scenario.files):
            raise InputError(
                "the output would overwrite a scenario", where=out, hint="name another file"
            )


def check(given: Sequence[str], *, strict: bool = False, as_json: bool = False) -> None:
    """Read every scenario and print doubts about it.

    Raises:
        InputError: A scenario is malformed; the error says where.
        EvaluationError: There is a doubt, and ``strict`` is set.
    """
    found = [(scenario, list(doubts(scenario))) for scenario in map(read_scenario, given)]
    if as_json:
        told_json([{**_counts(s), "file": s.where, "doubts": said} for s, said in found])
    for scenario, said in () if as_json else found:
        counts = ", ".join(
            f"{value} {key}" for key, value in _counts(scenario).items() if key != "id"
        )
        print(f"{scenario.id}: {counts}")
        for doubt in said:
            print(f"  {doubt}")
    number = sum(len(said) for _, said in found)
    if strict and number:
        raise EvaluationError(
            f"{number} things are doubtful",
            where=f"{sum(bool(said) for _, said in found)} of {len(found)} scenarios",
            hint="mend the scenarios, or check without --strict",
        )


def _counts(scenario: Scenario) -> dict[str, str | int]:
    truth = scenario.truth
    return {
        "id": scenario.id,
        "turns": len(scenario.turns),
        "constraints": len(truth.constraints),
        "goals": len(truth.goals),
        "facts": len(truth.facts),
        "poison": len(truth.poison),
        "not_constraints": len(truth.not_constraints),
        "probes": len(truth.probes),
    }


def compose(
    chained: Sequence[str],
    distractors: Sequence[str],
    out: Path,
    *,
    turns: int,
    seed: int,
    as_json: bool = False,
) -> None:
    """Compose scenarios, write the result to ``out``, and print a summary.

    Raises:
        InputError: A scenario is malformed, or would be overwritten.
        ConfigurationError: The scenarios do not fit together.
        AccError: The file cannot be written.
    """
    scenarios = read_scenarios([*chained, *distractors])
    check_apart(str(out), scenarios)
    whose, others = scenarios[: len(chained)], scenarios[len(chained) :]
    value = composed(whose, others, turns=turns, seed=seed)
    write_results(value, str(out))
    probes = len(value["probes"])
    if as_json:
        told_json({"id": value["id"], "turns": turns, "probes": probes, "file": str(out)})
        return
    print(f"{value['id']}: {turns:,} turns, {probes} probes, in {out}")


def report(results: Sequence[Path], out: Path, *, as_json: bool = False) -> None:
    """Write the page. Live evaluations come first, in the given order.

    With ``as_json``, print the page's path and the results it shows.

    Raises:
        InputError: A file holds no results, or would be overwritten.
        AccError: The page cannot be written.
    """
    if any(out.exists() and file.exists() and out.samefile(file) for file in results):
        raise InputError("--out would overwrite results", where=str(out), hint="name another file")
    read = sorted(read_results(results), key=lambda each: each.kind != "judge")
    write_page(page("Evaluation of memories", "".join(map(_section, read))), out)
    if as_json:
        shown = [{"file": str(each.file), "kind": each.kind} for each in read]
        told_json({"page": str(out), "results": shown})


def _section(read: Read) -> str:
    section = judge_section if read.kind == "judge" else probe_section
    try:
        return section(read.value)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"the results are not whole: {type(error).__name__}: {error}",
            where=str(read.file),
            hint="evaluate again with this version",
        ) from error


@dataclass(frozen=True)
class Wanted:
    """The arguments of a live evaluation; None and empty values mean the default."""

    scenarios: list[str]
    log: Path
    memories: list[str]
    models: dict[str, str]
    by_rule: bool = False
    reference: str = ""
    seeds: int = 1
    turns: int | None = None
    scripted: bool = False
    budget_tokens: int | None = None
    budget_money: float | None = None
    prices: Sequence[str] = field(default_factory=list)
    concurrency: int = 4
    json: str = ""
    csv: Path | None = None
    quiet: bool = False


def judge(wanted: Wanted) -> None:
    """Run the evaluation, or the rest of an interrupted one, and print the results.

    Raises:
        EvaluationError: A model does not answer, or the budget or an interrupt ended the run early.
        InputError: A scenario is malformed.
        ConfigurationError: A model, memory or price is missing, or the log belongs to another
            evaluation.
    """
    budget = Budget(
        wanted.budget_tokens, wanted.budget_money, dict(read_price(p) for p in wanted.prices)
    )
    specs, scenarios = read_specs(wanted.memories), read_scenarios(wanted.scenarios)
    reference = wanted.reference or specs[-1].label
    if reference not in [spec.label for spec in specs]:
        known = ", ".join(spec.label for spec in specs)
        raise ConfigurationError(
            f"no memory {reference!r}", where="--reference", hint=f"name one of {known}"
        )
    check_apart(wanted.json, scenarios)
    screen = Screen(quiet=wanted.quiet, data=wanted.json == "-")
    with _models(wanted) as models:
        live = Live(
            scenarios=scenarios, memories=specs, models=models, log=wanted.log,
            seeds=range(1, wanted.seeds + 1), turns=wanted.turns, scripted=wanted.scripted,
            budget=budget, concurrency=wanted.concurrency,
        )  # fmt: skip
        result = _played(live, screen)
    note = NOTICE if wanted.by_rule else ""
    if wanted.json:
        write_results(as_json(result, reference, note=note), wanted.json)
    if wanted.csv is not None:
        write_turns(result, wanted.csv)
    _tell(result, reference, note, screen)
    if result.stopped:
        done = len(complete(result))
        raise EvaluationError(
            f"stopped with {done} of {len(result.runs)} runs complete: {result.stopped}",
            where=str(wanted.log),
            hint="the same command goes on from the log; give it a larger budget if that ended it",
        )


@contextmanager
def _models(wanted: Wanted) -> Iterator[dict[str, Endpoint]]:
    """The endpoint of each role. A role without its own model uses the agents' model."""
    if wanted.by_rule:
        from acc.testing.model_server import ModelServer

        with ModelServer(answer_by_rule) as server:
            yield {role: endpoint_named(f"{role}-by-rule@{server.base_url}") for role in ROLES}
        return
    if not wanted.models["agent"]:
        raise ConfigurationError(
            "no model for the agents",
            where="--agent-model",
            hint="name one, such as openai:gpt-x; or see the machinery work with --by-rule",
        )
    named = {**wanted.models, "judge": wanted.models["judge"] or wanted.models["agent"]}
    yield {role: endpoint_named(model) for role, model in named.items() if model}


def _played(live: Live, screen: Screen) -> LiveResult:
    total = live.total_turns
    screen.line(f"{total:,} turns of {len(live.memories)} agents; log {live.log}")
    told = _Told(total, screen)
    with screen.progress(0, total) as bar:

        def on_turn(spending: Spending) -> None:
            with told.lock:
                told.turn(spending)
                bar.advance()

        return play(live, on_turn, Event())


class _Told:
    """Prints the spending so far and the expected total at intervals."""

    def __init__(self, total: int, screen: Screen) -> None:
        self.lock = Lock()
        self._total = total
        self._screen = screen
        self._done = 0

    def turn(self, spending: Spending) -> None:
        """Count a completed turn."""
        self._done += 1
        is_time = self._done == 1 or self._done % 25 == 0
        if not is_time or self._done == self._total:
            return
        tokens, money = spending.expected(self._done / self._total)
        priced = f", {spending.money:,.2f} of about {money:,.2f}" if spending.money else ""
        self._screen.line(
            f"{self._done:,} of {self._total:,} turns: {spending.tokens:,} tokens of about "
            f"{tokens:,}{priced}; transcripts make later turns dearer"
        )


def _tell(result: LiveResult, reference: str, note: str, screen: Screen) -> None:
    runs = complete(result)
    labels = [spec.label for spec in result.live.memories]
    if note:
        screen.last(note)
    screen.line(
        f"{len(runs)} complete runs, {sum(run.unjudged for run in runs)} judgements given up, "
        f"{sum(sum(run.failures.values()) for run in runs)} compressions failed; "
        f"{sum(result.spending.calls.values()):,} calls, {result.spending.tokens:,} tokens"
    )
    if not runs or not screen.is_told:
        return
    found = {label: intervals(runs, label) for label in labels}
    print("\nmean over runs [95 % bootstrap interval]\n")
    rows = [[name, *(_interval(found[label][name]) for label in labels)] for name in NAMES]
    table(["measure", *labels], rows, folds=())
    others = [label for label in labels if label != reference]
    if others:
        tests = {label: differences(runs, reference, label) for label in others}
        print(f"\n{reference} less another: mean difference, p of the paired permutation test\n")
        rows = [[name, *(_difference(tests[label][name]) for label in others)] for name in NAMES]
        table(["measure", *others], rows, folds=())


def _interval(value: Interval | None) -> str:
    return "-" if value is None else f"{value.mean:,.3f} [{value.low:,.3f}, {value.high:,.3f}]"


def _difference(value: Difference | None) -> str:
    return "-" if value is None else f"{value.mean:+,.3f}, p {value.p:.3g} of {value.pairs} pairs"


def read_price(given: str) -> tuple[str, Price]:
    """Parse ``ROLE=IN,OUT[,CACHED]`` into role and price per million tokens.

    Raises:
        ConfigurationError: The text has another form.
    """
    role, _, numbers = given.partition("=")
    try:
        values = [float(number) for number in numbers.split(",")]
    except ValueError:
        values = []
    if role not in ROLES or not 2 <= len(values) <= 3:
        raise ConfigurationError(
            f"{given!r} is no price",
            where="--price",
            hint=f"write ROLE=IN,OUT[,CACHED] per million tokens, with a role of {', '.join(ROLES)}",
        )
    return role, Price(*values)
