"""``acc eval probe``: scores the contents of memories against ground truth, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from acc.errors import EvaluationError
from acc.text.tokens import utf8_quarter
from acc_eval.memories.specs import MemorySpec, read_specs
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
from acc_eval.price import TYPICAL, Price, costs, price_rows, price_text
from acc_eval.probe import probe_memory, read_threshold, write_turns
from acc_eval.probe_results import NAMES, WHEN, MemoryResult, average_rows
from acc_eval.repeats import interval_cells, intervals
from acc_eval.scenarios import Scenario, read_scenarios


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
