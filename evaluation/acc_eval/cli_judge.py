"""``acc eval judge``: evaluates agents under a live judge.

A log keeps the paid answers. No answer is paid for twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Event, Lock
from typing import Annotated, NamedTuple

import typer

from acc.errors import ConfigurationError, EvaluationError
from acc.models.endpoints import as_model
from acc.models.protocol import ChatModel
from acc_eval.judge_by_rule import NOTICE, RuleModel
from acc_eval.judge_calls import Budget, Spending
from acc_eval.judge_measures import NAMES, Difference, differences, interval_text, intervals
from acc_eval.judge_runs import ROLES, Live, LiveResult, as_json, complete, play, write_turns
from acc_eval.memories.specs import read_specs
from acc_eval.output import (
    CsvOption,
    QuietOption,
    ResultsOption,
    ScenarioArgument,
    Screen,
    check_apart,
    count,
    parse_price,
    print_table,
    write_json,
)
from acc_eval.price import Price
from acc_eval.scenarios import read_scenarios

BY_RULE = "rule"
"""The model that is none: rules answer, which shows how it works, for free."""


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


class Limit(NamedTuple):
    """How much an evaluation may use."""

    kind: str
    most: float


def parse_limit(text: str) -> Limit:
    """Parse ``tokens=N`` or ``money=X``.

    Raises:
        typer.BadParameter: The text has another form.
    """
    kind, _, number = text.partition("=")
    try:
        limit = float(number)
    except ValueError:
        limit = -1.0
    if kind not in ("tokens", "money") or not 0 <= limit < float("inf"):
        raise typer.BadParameter(f"{text!r} is not tokens=N or money=X")
    return Limit(kind, limit)


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
            help="A memory to evaluate, written as for acc eval probe. Each memory gets an agent; "
            "the others are compared with the last. Repeatable. [default: transcript, retrieval, acc]",
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ROLE=]MODEL",
            help="The model of agent, judge or compressor: NAME, NAME@http://HOST/v1, or "
            "PROVIDER:NAME through LangChain; without a role, of agents and judge. `rule` asks no "
            "model. Without one for the compressor, memories are keyless. Repeatable.",
        ),
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
    budget: Annotated[
        list[Limit] | None,
        typer.Option(
            metavar="tokens=N|money=X",
            help="Stop before using more; money needs --price. Repeatable.",
            parser=parse_limit,
        ),
    ] = None,
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
    specs = read_specs(memory or ["transcript", "retrieval", "acc"])
    read = read_scenarios(scenarios)
    check_apart(json, read)
    screen = Screen(quiet=quiet, data=json == "-")
    live = Live(
        scenarios=read, memories=specs, models=_models(model or []), log=log,
        seeds=range(1, seeds + 1), turns=turns, scripted=scripted,
        budget=_budget(budget or [], price or []), concurrency=concurrency,
    )  # fmt: skip
    result = _play(live, screen)
    note = NOTICE if any(isinstance(m, RuleModel) for m in live.models.values()) else ""
    reference = specs[-1].label
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


def _budget(limits: Sequence[Limit], prices: Sequence[RolePrice]) -> Budget:
    given = {limit.kind: limit.most for limit in limits}
    tokens = int(given["tokens"]) if "tokens" in given else None
    return Budget(tokens, given.get("money"), {each.role: each.price for each in prices})


def _models(given: Sequence[str]) -> dict[str, ChatModel]:
    """The model of each role. The judge uses the agents' model if it has none."""
    named: dict[str, str] = {}
    for each in given:
        role, equals, name = each.partition("=")
        named |= {role: name} if equals and role in ROLES else {"agent": each}
    if "agent" not in named:
        raise ConfigurationError(
            "no model for the agents",
            where="--model",
            hint=f"name one, such as openai:gpt-x, or try --model {BY_RULE}, which asks none",
        )
    named.setdefault("judge", named["agent"])
    if named["agent"] == BY_RULE:
        named.setdefault("compressor", BY_RULE)
    return {
        role: RuleModel(f"{role}-by-rule") if name == BY_RULE else as_model(name)
        for role, name in named.items()
    }


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
