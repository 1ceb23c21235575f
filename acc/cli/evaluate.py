"""``acc eval``: compares memories on scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from acc.cli.eval_judge import CsvOption, QuietOption, ScenarioArgument, check_apart, judge
from acc.cli.options import JsonOption, ResultsOption, parse_price, typer_app
from acc.cli.output import Screen, count, print_json, print_table, write_json, write_text
from acc.compress.protocol import Price
from acc.errors import EvaluationError, InputError
from acc.evaluation.composing import compose as compose_scenarios
from acc.evaluation.gate_scoring import GateScore, as_lines, cases_of, read_labelled, score_gate
from acc.evaluation.locomo import CUTS, labelled_by_evidence, load_locomo, measure, summary
from acc.evaluation.memories.specs import MemorySpec, read_specs
from acc.evaluation.price import TYPICAL, costs, price_rows, price_text
from acc.evaluation.probe import probe_memory, read_threshold, write_turns
from acc.evaluation.probe_results import NAMES, WHEN, MemoryResult, average_rows
from acc.evaluation.repeats import interval_cells, intervals
from acc.evaluation.report_sections import Read, judge_section, probe_section, read_results
from acc.evaluation.scenarios import Scenario, doubts, read_scenario, read_scenarios
from acc.report.page import page, write_page
from acc.text.tokens import utf8_quarter

eval_ = typer_app("Evaluate memories on scenarios.")


@eval_.command()
def probe(
    scenarios: ScenarioArgument,
    memory: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SPEC",
            help="A memory to evaluate, as NAME,option=value,...: acc, transcript, retrieval, "
            "summary, semantic, recent, or module:factory. Repeatable. [default: acc]",
        ),
    ] = None,
    json: ResultsOption = "",
    csv: CsvOption = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=VALUE",
            help="Fail if the metric is less: [end.|last.|turns.][micro.|macro.]METRIC[@MEMORY]. "
            "Repeatable.",
        ),
    ] = None,
    fail_over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=VALUE", help="Fail if the metric is more, written the same way."
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option(metavar="N", min=1, help="Run each memory N times and show intervals.")
    ] = 1,
    price: Annotated[
        Price | None,
        typer.Option(
            metavar="IN,OUT[,CACHED]",
            help="Price of model and agent, in dollars per million tokens. "
            "[default: 1.25,10,0.125, a made-up typical model]",
            parser=parse_price,
        ),
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Score the contents of memories against ground truth.

    Looks after every turn. Needs no model and no key.
    """
    bounds = [read_threshold(given, is_upper=False) for given in fail_under or ()]
    bounds += [read_threshold(given, is_upper=True) for given in fail_over or ()]
    specs, read = read_specs(memory or ["acc"]), read_scenarios(scenarios)
    check_apart(json, read)
    turns = sum(len(scenario.turns) for scenario in read) * runs
    with Screen(quiet=quiet, data=json == "-").progress(0, turns * len(specs)) as advance:
        results = [
            probe_memory(spec.label, spec.make, read, runs=runs, on_turn=advance) for spec in specs
        ]
    paid = price or TYPICAL
    if json:
        write_json(json, _probe_json(specs, read, results, paid))
    if csv is not None:
        write_turns(results, csv)
    if not quiet and json != "-":
        _print_probe(results, read, paid)
    if failures := [failure for bound in bounds if (failure := bound.failure(results))]:
        raise EvaluationError(
            "; ".join(failures),
            where=", ".join(scenario.id for scenario in read),
            hint="improve the memory, or relax the threshold",
        )


def _print_probe(
    results: Sequence[MemoryResult], scenarios: Sequence[Scenario], price: Price
) -> None:
    names = ", ".join(f"{s.id} ({count(len(s.turns), 'turn')})" for s in scenarios)
    print(f"{names}; tokens are UTF-8 bytes / 4; + more is better, - less is better")
    for result in results:
        if failed := [failure for each in result.scenarios for failure in each.failures]:
            print(f"{result.memory}: {len(failed)} compressions failed; the first: {failed[0]}")
    averages = [result.averages() for result in results]
    runs = max(len(result.runs) for result in results)
    shown = "micro (macro)" if runs == 1 else f"micro, mean of {runs} runs [95 % interval]"
    for when, words in WHEN.items():
        print(f"\n{words}: {shown}\n")
        spread = interval_cells(results, when) if runs > 1 else {}
        rows = [
            [f"{sign or ' '} {name}", *spread.get(name, cells)]
            for sign, name, cells in average_rows(averages, when)
        ]
        if when == "end":
            limits = [result.scenarios[0].max_tokens for result in results]
            rows.append(["  max_tokens stated", *("-" if n is None else f"{n:,}" for n in limits)])
            rows.append(["- tokens_max / transcript", *map(_transcript_share, results)])
        print_table(["metric", *(result.memory for result in results)], rows)
    print(f"\nwhat it costs, at {price_text(price)}\n")
    print_table(["cost", *(result.memory for result in results)], list(price_rows(results, price)))


def _transcript_share(result: MemoryResult) -> str:
    shares = [s for each in result.scenarios if (s := each.share_of_transcript) is not None]
    return f"{max(shares):.3f}" if shares else "-"


def _probe_json(
    specs: Sequence[MemorySpec],
    scenarios: Sequence[Scenario],
    results: Sequence[MemoryResult],
    price: Price,
) -> dict[str, Any]:
    from acc import __version__

    return {
        "acc": __version__,
        "counter": utf8_quarter.name,
        "metrics": list(NAMES),
        "price": {"input": price.input, "output": price.output, "cached": price.cached},
        "scenarios": [
            {"id": s.id, "domain": s.truth.domain, "turns": len(s.turns)} for s in scenarios
        ],
        "memories": [
            {
                **spec.as_json(),
                **result.as_json(),
                "price": costs([s for run in result.runs for s in run.scenarios], price),
                "intervals": _intervals_json(result),
            }
            for spec, result in zip(specs, results, strict=True)
        ],
    }


def _intervals_json(result: MemoryResult) -> dict[str, Any]:
    """The intervals of several runs, by when and metric."""
    if not result.repeats:
        return {}
    return {
        when: {
            name: None if found is None else found._asdict()
            for name, found in intervals(result, when).items()
        }
        for when in WHEN
    }


@eval_.command()
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


eval_.command()(judge)


@eval_.command()
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


@eval_.command()
def recall(
    locomo: Annotated[
        Path, typer.Argument(metavar="LOCOMO", help="The file locomo10.json of LoCoMo.")
    ],
    json: ResultsOption = "",
) -> None:
    """Measure recall and the gate on LoCoMo."""
    conversations = load_locomo(locomo)
    outcomes = [outcome for each in conversations for outcome in measure(each)]
    figures = summary(outcomes)
    score = score_gate(case for each in conversations for case in labelled_by_evidence(each))
    if json:
        write_json(json, {
            "conversations": len(conversations), "questions": len(outcomes),
            "documents": sum(len(each.documents) for each in conversations),
            "figures": figures, "gate": score.as_json(),
        })  # fmt: skip
    if json == "-":
        return
    print(
        f"{len(conversations)} conversations, {len(outcomes):,} questions; recall at "
        f"{', '.join(map(str, CUTS))}: share of a question's evidence among the first results; "
        "no state\n"
    )
    print_table(["recall", "mean"], [[n, f"{v:.3f}"] for n, v in figures.items()])
    print("\nthe gate on the first 16 results; wanted are those that are evidence\n")
    _print_score(score)


@eval_.command()
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
        typer.Option(metavar="FILE", help="Write the candidates with their labels (.jsonl)."),
    ] = None,
) -> None:
    """Measure the gate's precision and recall on labelled candidates."""
    labels = [each for each in labelled if _is_labels(each)]
    scenarios = read_scenarios([each for each in labelled if not _is_labels(each)])
    check_apart(json, scenarios)
    cases = [case for scenario in scenarios for case in cases_of(scenario)]
    cases += [case for each in labels for case in read_labelled(Path(each))]
    if write is not None:
        write_text(write, "".join(f"{line}\n" for line in as_lines(cases)))
    score = score_gate(cases)
    if json:
        write_json(json, score.as_json())
    if json != "-":
        _print_score(score)


def _is_labels(given: str) -> bool:
    return given.endswith(".jsonl") and ":" not in Path(given).name


def _print_score(score: GateScore) -> None:
    refused = ", ".join(f"{name} {number:,}" for name, number in score.refusals.items()) or "none"
    rows = [
        ["questions", f"{score.cases:,}"],
        ["candidates with a label", f"{score.labelled:,}"],
        ["wanted", f"{score.wanted:,}"],
        ["admitted", f"{score.admitted:,}"],
        ["+ precision", _rate(score.precision)],
        ["  precision if all are admitted", _rate(score.base)],
        ["+ recall", _rate(score.recall)],
        ["+ f1", _rate(score.f1)],
        [f"+ share of {score.needs:,} wanted things found", _rate(score.needs_found)],
        ["  wanted but refused, by gate", refused],
    ]
    print_table(["gate", "value"], rows)


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


@eval_.command()
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
