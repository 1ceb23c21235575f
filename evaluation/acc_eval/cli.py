"""``acc eval``: compares memories on scenarios. `app` joins ``acc`` by an entry point of ``acc.commands``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from acc.errors import EvaluationError, InputError
from acc_eval.cli_gate import gate, locomo
from acc_eval.cli_judge import judge
from acc_eval.cli_probe import probe
from acc_eval.composing import compose as compose_scenarios
from acc_eval.output import JsonOption, ScenarioArgument, check_apart, count, print_json, write_json
from acc_eval.report.page import page, write_page
from acc_eval.report_sections import Read, judge_section, probe_section, read_results
from acc_eval.scenarios import Scenario, doubts, read_scenario, read_scenarios


def _print_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app = typer.Typer(
    rich_markup_mode=None, add_completion=False, help="Evaluate memories on scenarios.",
    invoke_without_command=True, callback=_print_help,
)  # fmt: skip


@app.command()
def check(
    scenarios: ScenarioArgument,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings, too.")] = False,
    json: JsonOption = False,
) -> None:
    """Check scenario files and their ground truth.

    Warns if the words of a ground truth do not occur in the conversation.
    """
    found = [(scenario, list(doubts(scenario))) for scenario in map(read_scenario, scenarios)]
    if json:
        print_json([{**_counts(s), "file": s.where, "doubts": warnings} for s, warnings in found])
    for scenario, warnings in () if json else found:
        counts = ", ".join(f"{n} {key}" for key, n in _counts(scenario).items() if key != "id")
        print(f"{scenario.id}: {counts}")
        for warning in warnings:
            print(f"  {warning}")
    if strict and (number := sum(len(warnings) for _, warnings in found)):
        raise EvaluationError(
            count(number, "warning"),
            where=f"{sum(bool(warnings) for _, warnings in found)} of {len(found)} scenarios",
            hint="correct the scenarios, or check without --strict",
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


@app.command()
def report(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS", help="Files that probe --json and judge --json wrote."),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The HTML page to write.")],
    json: JsonOption = False,
) -> None:
    """Show results as one HTML page.

    Live evaluations come first.
    """
    if any(out.exists() and file.exists() and out.samefile(file) for file in results):
        raise InputError("--out would overwrite results", where=str(out), hint="name another file")
    read = sorted(map(read_results, results), key=lambda each: each.kind != "judge")
    write_page(page("Evaluation of memories", "".join(map(_section, read))), out)
    if json:
        shown = [{"file": str(each.file), "kind": each.kind} for each in read]
        print_json({"page": str(out), "results": shown})
    else:
        print(f"{out} shows {count(len(read), 'file')} of results")


def _section(read: Read) -> str:
    section = judge_section if read.kind == "judge" else probe_section
    try:
        return section(read.value)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"the results are incomplete: {type(error).__name__}: {error}",
            where=str(read.file),
            hint="evaluate again with this version of acc",
        ) from error


@app.command()
def compose(
    scenarios: ScenarioArgument,
    distractor: Annotated[
        list[str],
        typer.Option(metavar="SCENARIO", help="Put turns of this scenario in between. Repeatable."),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The scenario file to write.")],
    turns: Annotated[int, typer.Option(metavar="N", min=1, help="Length of the result.")] = 1_000,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the random choices.")] = 1,
    json: JsonOption = False,
) -> None:
    """Chain scenarios into a long one with distracting turns."""
    read = read_scenarios([*scenarios, *distractor])
    check_apart(str(out), read)
    chained, others = read[: len(scenarios)], read[len(scenarios) :]
    value = compose_scenarios(chained, others, turns=turns, seed=seed)
    write_json(out, value)
    probes = len(value["probes"])
    if json:
        print_json({"id": value["id"], "turns": turns, "probes": probes, "file": str(out)})
        return
    print(f"{value['id']}: {turns:,} turns, {probes} probes, in {out}")


for _command in (probe, judge, gate, locomo):
    app.command()(_command)
