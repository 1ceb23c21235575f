"""``acc eval`` and its commands, which compare memories on scenarios."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from acc.cli.options import JsonOption

ScenarioArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SCENARIO",
        help="Scenario files; CONVERSATION:TRUTH where they are two; or a name of those that ship.",
    ),
]
MemorySpecOption = Annotated[
    list[str] | None,
    typer.Option(
        "--memory",
        metavar="SPEC",
        help="A memory to evaluate, as NAME,option=value,...: acc, transcript, retrieval, summary, "
        "semantic, recent, or module:factory. Repeatable. [default: acc]",
    ),
]
MODELS = "openai:NAME, NAME@http://HOST/v1, or PROVIDER:NAME through LangChain."

SilentOption = Annotated[bool, typer.Option("--quiet", help="Tell nothing but what fails.")]
LogOption = Annotated[
    Path,
    typer.Option(
        "--log", metavar="FILE", help="Every prompt and reply; what is in it is not paid again."
    ),
]
AgentsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--memory",
        metavar="SPEC",
        help="As for probe; an agent each, answering in this order. Repeatable. "
        "[default: transcript, retrieval, acc]",
    ),
]
AgentModelOption = Annotated[
    str, typer.Option("--agent-model", metavar="MODEL", help=f"Answers. {MODELS}")
]
JudgeModelOption = Annotated[
    str, typer.Option("--judge-model", metavar="MODEL", help="Judges. [default: the agents']")
]
CompressorModelOption = Annotated[
    str,
    typer.Option(
        "--compressor-model",
        metavar="MODEL",
        help="Compresses and summarises, for memories that name none. [default: rules]",
    ),
]
ByRuleOption = Annotated[
    bool, typer.Option("--by-rule", help="No model: rules answer, to show the machinery.")
]
ReferenceOption = Annotated[
    str, typer.Option("--reference", metavar="LABEL", help="Compared with. [default: the last]")
]
SeedsOption = Annotated[
    int, typer.Option("--seeds", metavar="N", min=1, help="Play each scenario N times.")
]
TurnsOption = Annotated[
    int | None, typer.Option("--turns", metavar="N", min=1, help="Only the first N turns.")
]
ScriptedOption = Annotated[
    bool, typer.Option("--scripted", help="Queries in the scenario's words, not the judge's.")
]
BudgetTokensOption = Annotated[
    int | None, typer.Option("--budget-tokens", metavar="N", min=0, help="Stop before more.")
]
BudgetMoneyOption = Annotated[
    float | None, typer.Option("--budget-money", metavar="X", min=0, help="Stop before more.")
]
PriceOption = Annotated[
    list[str] | None,
    typer.Option(
        "--price",
        metavar="ROLE=IN,OUT[,CACHED]",
        help="Money per million tokens of the model of a role. Repeatable.",
    ),
]
ConcurrencyOption = Annotated[
    int, typer.Option("--concurrency", metavar="N", min=1, help="Calls at the same time.")
]
ResultsOption = Annotated[
    str, typer.Option("--json", metavar="OUT", help="Write the results; - for stdout.")
]
CsvOption = Annotated[
    Path | None,
    typer.Option("--csv", metavar="FILE", help="Write a line for each memory and turn."),
]
FailUnderOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-under",
        metavar="METRIC=VALUE",
        help="Fail where it is less: [end.|turns.][micro.|macro.]METRIC[@MEMORY]. Repeatable.",
    ),
]
FailOverOption = Annotated[
    list[str] | None,
    typer.Option("--fail-over", metavar="METRIC=VALUE", help="Fail where it is more."),
]


Work = Callable[[], None]

evaluation = typer.Typer(
    rich_markup_mode=None, add_completion=False, help="Evaluate memories on scenarios."
)


@evaluation.command()
def probe(
    scenarios: ScenarioArgument,
    memory: MemorySpecOption = None,
    json: ResultsOption = "",
    csv: CsvOption = None,
    fail_under: FailUnderOption = None,
    fail_over: FailOverOption = None,
    quiet: SilentOption = False,
) -> Work:
    """Score the contents of memories after every turn against ground truth. No judge, no key."""
    from acc.cli.eval_probe import Wanted
    from acc.cli.eval_probe import probe as work

    wanted = Wanted(
        scenarios=scenarios, memories=memory or ["acc"], json=json, csv=csv,
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
    from acc.cli.eval_judge import check as work

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
    csv: CsvOption = None,
    quiet: SilentOption = False,
) -> Work:
    """Let a judge lead agents through scenarios and score them: the paper's live evaluation."""
    from acc.cli.eval_judge import Wanted
    from acc.cli.eval_judge import judge as work

    wanted = Wanted(
        scenarios=scenarios, log=log, memories=memory or ["transcript", "retrieval", "acc"],
        models={"agent": agent_model, "judge": judge_model, "compressor": compressor_model},
        by_rule=by_rule, reference=reference, seeds=seeds, turns=turns, scripted=scripted,
        budget_tokens=budget_tokens, budget_money=budget_money, prices=price or [],
        concurrency=concurrency, json=json, csv=csv, quiet=quiet,
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
    from acc.cli.eval_judge import report as work

    return lambda: work(results, out, as_json=json)


@evaluation.command()
def recall(
    locomo: Annotated[
        Path, typer.Argument(metavar="LOCOMO", help="locomo10.json, in LoCoMo's own format.")
    ],
    json: ResultsOption = "",
) -> Work:
    """Measure evidence recall and the gate on LoCoMo."""
    from acc.cli.eval_probe import recall as work

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
    from acc.cli.eval_probe import gate as work

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
    """Chain scenarios into a long one, with turns of other scenarios in between."""
    from acc.cli.eval_judge import compose as work

    return lambda: work(scenarios, distractor, out, turns=turns, seed=seed, as_json=json)
