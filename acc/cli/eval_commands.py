"""``acc eval`` and its commands: memories side by side, on scenarios."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from acc.cli.eval_options import (
    AgentModelOption,
    AgentsOption,
    BudgetMoneyOption,
    BudgetTokensOption,
    ByRuleOption,
    CompressorModelOption,
    ConcurrencyOption,
    FailOverOption,
    FailUnderOption,
    JudgeModelOption,
    LogOption,
    MemorySpecOption,
    PlotOption,
    PriceOption,
    ReferenceOption,
    ResultsOption,
    ScenarioArgument,
    ScriptedOption,
    SeedsOption,
    SilentOption,
    TurnsOption,
)
from acc.cli.options import JsonOption

Work = Callable[[], None]

evaluation = typer.Typer(
    rich_markup_mode=None, add_completion=False, help="Evaluate memories on scenarios."
)


@evaluation.command()
def probe(
    scenarios: ScenarioArgument,
    memory: MemorySpecOption = None,
    json: ResultsOption = "",
    plot: PlotOption = None,
    fail_under: FailUnderOption = None,
    fail_over: FailOverOption = None,
    quiet: SilentOption = False,
) -> Work:
    """Score what memories hold, turn by turn, by ground truth. No judge, no key."""
    from acc.cli.eval_probe import Wanted
    from acc.cli.eval_probe import probe as work

    wanted = Wanted(
        scenarios=scenarios, memories=memory or ["acc"], json=json, plot=plot,
        fail_under=fail_under or [], fail_over=fail_over or [], quiet=quiet,
    )  # fmt: skip
    return lambda: work(wanted)


@evaluation.command()
def check(
    scenarios: ScenarioArgument,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail on anything doubtful, too.")
    ] = False,
    json: JsonOption = False,
) -> Work:
    """Validate scenario files: their form, and whether their ground truth can be found."""
    from acc.cli.eval_check import check as work

    return lambda: work(scenarios, strict=strict, as_json=json)


@evaluation.command()
def judge(
    scenarios: ScenarioArgument,
    log: LogOption,
    memory: AgentsOption = None,
    agent_model: AgentModelOption = "",
    judge_model: JudgeModelOption = "",
    compressor_model: CompressorModelOption = "",
    by_rule: ByRuleOption = False,
    reference: ReferenceOption = "",
    seeds: SeedsOption = 1,
    turns: TurnsOption = None,
    scripted: ScriptedOption = False,
    budget_tokens: BudgetTokensOption = None,
    budget_money: BudgetMoneyOption = None,
    price: PriceOption = None,
    concurrency: ConcurrencyOption = 4,
    json: ResultsOption = "",
    plot: PlotOption = None,
    quiet: SilentOption = False,
) -> Work:
    """Let a judge lead agents through scenarios, and score them: the paper's live evaluation."""
    from acc.cli.eval_judge import Wanted
    from acc.cli.eval_judge import judge as work

    wanted = Wanted(
        scenarios=scenarios, log=log, memories=memory or ["transcript", "retrieval", "acc"],
        models={"agent": agent_model, "judge": judge_model, "compressor": compressor_model},
        by_rule=by_rule, reference=reference, seeds=seeds, turns=turns, scripted=scripted,
        budget_tokens=budget_tokens, budget_money=budget_money, prices=price or [],
        concurrency=concurrency, json=json, plot=plot, quiet=quiet,
    )  # fmt: skip
    return lambda: work(wanted)


@evaluation.command()
def report(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS", help="What probe --json and judge --json wrote."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The page.")],
    json: JsonOption = False,
) -> Work:
    """Write results as one self-contained HTML page."""
    from acc.cli.eval_report import report as work

    return lambda: work(results, out, as_json=json)


@evaluation.command()
def recall(
    locomo: Annotated[
        Path, typer.Argument(metavar="LOCOMO", help="locomo10.json, in LoCoMo's own format.")
    ],
    json: ResultsOption = "",
) -> Work:
    """Measure evidence recall, and the gate, on LoCoMo."""
    from acc.cli.eval_recall import recall as work

    return lambda: work(locomo, json=json)


@evaluation.command()
def gate(
    labelled: Annotated[
        list[str],
        typer.Argument(
            metavar="LABELLED", help="Labelled candidates (.jsonl), or scenarios with probes."
        ),
    ],
    json: ResultsOption = "",
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="FILE", help="Write the candidates with their labels."),
    ] = None,
) -> Work:
    """Measure precision and recall of the gate on labelled candidates."""
    from acc.cli.eval_recall import gate as work

    return lambda: work(labelled, json=json, write=write)


@evaluation.command()
def compose(
    scenarios: ScenarioArgument,
    distractor: Annotated[
        list[str],
        typer.Option(
            "--distractor", metavar="SCENARIO", help="Whose turns stand in between. Repeatable."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The scenario file.")],
    turns: Annotated[int, typer.Option("--turns", metavar="N", min=1)] = 1_000,
    seed: Annotated[int, typer.Option("--seed", metavar="N")] = 1,
    json: JsonOption = False,
) -> Work:
    """Chain scenarios into a long one, with other scenarios' turns in between."""
    from acc.cli.eval_compose import compose as work

    return lambda: work(scenarios, distractor, out, turns=turns, seed=seed, as_json=json)
