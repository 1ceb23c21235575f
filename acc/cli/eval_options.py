"""Options of ``acc eval``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
PlotOption = Annotated[
    Path | None, typer.Option("--plot", metavar="DIR", help="Draw what was found as PNG files.")
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
