"""``acc eval gate`` and ``acc eval locomo``: what recall finds, and what the gate admits of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from acc_eval.gate_scoring import GateScore, as_lines, cases_of, read_labelled, score_gate
from acc_eval.locomo import CUTS, labelled_by_evidence, load_locomo, measure, summary
from acc_eval.output import ResultsOption, check_apart, print_table, write_json, write_text
from acc_eval.scenarios import read_scenarios


def locomo(
    file: Annotated[
        Path, typer.Argument(metavar="LOCOMO", help="The file locomo10.json of LoCoMo.")
    ],
    json: ResultsOption = "",
) -> None:
    """Measure recall and the gate on LoCoMo."""
    conversations = load_locomo(file)
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
    print("\nthe gate on the passages found; wanted are the turns that are evidence\n")
    _print_score(score)


def gate(
    labelled: Annotated[
        list[str],
        typer.Argument(
            metavar="LABELLED", help="Labelled messages (.jsonl), or scenarios with probes."
        ),
    ],
    json: ResultsOption = "",
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the messages with their labels (.jsonl)."),
    ] = None,
) -> None:
    """Measure the gate's precision and recall on labelled messages."""
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
        ["messages with a label", f"{score.labelled:,}"],
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
