"""``acc eval judge``: evaluates agents under a live judge.

A log keeps the paid answers. No answer is paid for twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock
from typing import Annotated, NamedTuple

import typer

from acc.cli.options import ResultsOption, parse_price
from acc.cli.output import Screen, count, print_table, write_json
from acc.compress.asking import endpoint_named
from acc.compress.endpoint import Endpoint
from acc.compress.protocol import Price
from acc.errors import ConfigurationError, EvaluationError, InputError
from acc.evaluation.judge_by_rule import NOTICE, answer_by_rule
from acc.evaluation.judge_calls import Budget, Spending
from acc.evaluation.judge_measures import (
    NAMES,
    Difference,
    differences,
    interval_text,
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
from acc.evaluation.scenarios import Scenario, read_scenarios

ScenarioArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SCENARIO",
        help="Scenario files, names of shipped scenarios, or CONVERSATION:TRUTH if the ground "
        "truth is in a second file.",
    ),
]
CsvOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write one line per memory and turn.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print only errors.")]


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


class RolePrice(NamedTuple):
    """The price of a role's model."""

    role: str
    price: Price


def parse_role_price(text: str) -> RolePrice:
    """Parse ``ROLE=IN,OUT[,CACHED]``: money per million tokens.

    Raises:
        typer.BadParameter: The text has another form.
    """
    role, _, numbers = text.partition("=")
    if role not in ROLES:
        raise typer.BadParameter(
            f"{text!r} is not ROLE=IN,OUT[,CACHED] with a role of {', '.join(ROLES)}"
        )
    return RolePrice(role, parse_price(numbers))


def judge(
    scenarios: ScenarioArgument,
    log: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Keep every prompt and reply in this file. A later run takes its answers from it "
            "and pays only for new ones.",
        ),
    ],
    memory: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPEC",
            help="A memory to evaluate, written as for acc eval probe. Each memory gets an agent. "
            "Repeatable. [default: transcript, retrieval, acc]",
        ),
    ] = None,
    agent_model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="The agents' model: openai:NAME, NAME@http://HOST/v1, or PROVIDER:NAME through "
            "LangChain.",
        ),
    ] = "",
    judge_model: Annotated[
        str, typer.Option(metavar="MODEL", help="The judge's model. [default: the agents']")
    ] = "",
    compressor_model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="The model of memories that compress or summarize and name none. "
            "[default: the keyless rules]",
        ),
    ] = "",
    by_rule: Annotated[
        bool,
        typer.Option(
            "--by-rule", help="Let rules answer instead of models: shows how it works, for free."
        ),
    ] = False,
    reference: Annotated[
        str,
        typer.Option(
            metavar="LABEL", help="Compare the others with this memory. [default: the last one]"
        ),
    ] = "",
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of each scenario.")] = 1,
    turns: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Play only the first N turns.")
    ] = None,
    scripted: Annotated[
        bool,
        typer.Option(
            "--scripted", help="Ask in the scenario's words. [default: the judge words the queries]"
        ),
    ] = False,
    budget_tokens: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Stop before using more tokens.")
    ] = None,
    budget_money: Annotated[
        float | None,
        typer.Option(metavar="X", min=0, help="Stop before spending more. Needs --price."),
    ] = None,
    price: Annotated[
        list[RolePrice] | None,
        typer.Option(
            metavar="ROLE=IN,OUT[,CACHED]",
            help=f"Price of a role's model per million tokens; roles: {', '.join(ROLES)}. "
            "Repeatable.",
            parser=parse_role_price,
        ),
    ] = None,
    concurrency: Annotated[
        int, typer.Option(metavar="N", min=1, help="Maximum number of simultaneous calls.")
    ] = 4,
    json: ResultsOption = "",
    csv: CsvOption = None,
    quiet: QuietOption = False,
) -> None:
    """Let a judge question agents and score their answers.

    This is the paper's live evaluation. If a run stops early, the same command continues it.
    """
    budget = Budget(budget_tokens, budget_money, {each.role: each.price for each in price or ()})
    specs = read_specs(memory or ["transcript", "retrieval", "acc"])
    read = read_scenarios(scenarios)
    labels = [spec.label for spec in specs]
    reference = reference or labels[-1]
    if reference not in labels:
        raise ConfigurationError(
            f"no memory {reference!r}", where="--reference", hint=f"name one of {', '.join(labels)}"
        )
    check_apart(json, read)
    screen = Screen(quiet=quiet, data=json == "-")
    models = {"agent": agent_model, "judge": judge_model, "compressor": compressor_model}
    with _rule_endpoints() if by_rule else _endpoints(models) as endpoints:
        live = Live(
            scenarios=read, memories=specs, models=endpoints, log=log,
            seeds=range(1, seeds + 1), turns=turns, scripted=scripted,
            budget=budget, concurrency=concurrency,
        )  # fmt: skip
        result = _play(live, screen)
    note = NOTICE if by_rule else ""
    if json:
        write_json(json, as_json(result, reference, note=note))
    if csv is not None:
        write_turns(result, csv)
    _print_result(result, reference, note, screen)
    if result.stopped:
        done = len(complete(result))
        raise EvaluationError(
            f"stopped with {done} of {len(result.runs)} runs complete: {result.stopped}",
            where=str(log),
            hint="run the same command again to continue; raise the budget if it is used up",
        )


@contextmanager
def _rule_endpoints() -> Iterator[dict[str, Endpoint]]:
    from acc.testing.model_server import ModelServer

    with ModelServer(answer_by_rule) as server:
        yield {role: endpoint_named(f"{role}-by-rule@{server.base_url}") for role in ROLES}


@contextmanager
def _endpoints(models: dict[str, str]) -> Iterator[dict[str, Endpoint]]:
    """The endpoint of each role. The judge uses the agents' model if it has none."""
    if not models["agent"]:
        raise ConfigurationError(
            "no model for the agents",
            where="--agent-model",
            hint="name one, such as openai:gpt-x, or try --by-rule, which needs no model",
        )
    named = {**models, "judge": models["judge"] or models["agent"]}
    yield {role: endpoint_named(model) for role, model in named.items() if model}


def _play(live: Live, screen: Screen) -> LiveResult:
    """Run the evaluation; print the spending so far and the expected total at intervals."""
    total = live.total_turns
    screen.line(f"{count(total, 'turn')} of {count(len(live.memories), 'agent')}; log {live.log}")
    lock, done = Lock(), 0
    with screen.progress(0, total) as advance:

        def on_turn(spending: Spending) -> None:
            nonlocal done
            with lock:
                done += 1
                if done < total and (done == 1 or done % 25 == 0):
                    tokens, money = spending.expected(done / total)
                    spent = f", {spending.money:,.2f} of about {money:,.2f}"
                    screen.line(
                        f"{done:,} of {total:,} turns: {spending.tokens:,} tokens of about "
                        f"{tokens:,}{spent if spending.money else ''}; later turns cost more, "
                        "because transcripts grow"
                    )
                advance()

        return play(live, on_turn, Event())


def _print_result(result: LiveResult, reference: str, note: str, screen: Screen) -> None:
    runs = complete(result)
    labels = [spec.label for spec in result.live.memories]
    if note:
        screen.last(note)
    screen.line(
        f"{count(len(runs), 'complete run')}, {sum(run.unjudged for run in runs)} answers not judged, "
        f"{sum(sum(run.failures.values()) for run in runs)} compressions failed; "
        f"{sum(result.spending.calls.values()):,} calls, {result.spending.tokens:,} tokens"
    )
    if not runs or not screen.prints_lines:
        return
    found = {label: intervals(runs, label) for label in labels}
    print("\nmean over runs [95 % bootstrap interval]\n")
    rows = [[name, *(interval_text(found[label][name]) for label in labels)] for name in NAMES]
    print_table(["measure", *labels], rows)
    others = [label for label in labels if label != reference]
    if others:
        tests = {label: differences(runs, reference, label) for label in others}
        print(f"\n{reference} minus the other: mean difference, p of the paired permutation test\n")
        rows = [[name, *(_difference(tests[label][name]) for label in others)] for name in NAMES]
        print_table(["measure", *others], rows)


def _difference(value: Difference | None) -> str:
    return "-" if value is None else f"{value.mean:+,.3f}, p {value.p:.3g} of {value.pairs} pairs"
