"""``acc eval recall`` and ``acc eval gate``: what is found, and what of it is let through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from acc.cli.eval_output import check_apart, write_results
from acc.cli.screen import table
from acc.errors import AccError
from acc.evaluation.evidence_recall import CUTS, labelled_by_evidence, measure, summary
from acc.evaluation.gate_scoring import GateScore, score_gate
from acc.evaluation.labelled_candidates import as_lines, cases_of, read_labelled
from acc.evaluation.locomo import load_locomo
from acc.evaluation.scenarios import read_scenarios
from acc.folders import opened_for_text


def recall(file: Path, *, json: str = "") -> None:
    """Measure evidence recall on LoCoMo, and the gate on what was recalled.

    Raises:
        InputError: The file is not in LoCoMo's format.
        AccError: The results cannot be written.
    """
    conversations = load_locomo(file)
    outcomes = [outcome for each in conversations for outcome in measure(each)]
    figures = summary(outcomes)
    gate = score_gate(case for each in conversations for case in labelled_by_evidence(each))
    if json:
        write_results({
            "conversations": len(conversations), "questions": len(outcomes),
            "documents": sum(len(each.documents) for each in conversations),
            "figures": figures, "gate": gate.as_json(),
        }, json)  # fmt: skip
    if json == "-":
        return
    print(
        f"{len(conversations)} conversations, {len(outcomes):,} questions; recall at "
        f"{', '.join(map(str, CUTS))}: share of a question's evidence among the first; no state\n"
    )
    table(["recall", "mean"], [[n, f"{v:.3f}"] for n, v in figures.items()], folds=())
    print("\nthe gate on the first 16, wanted what is evidence\n")
    _tell(gate)


def gate(given: Sequence[str], *, json: str = "", write: Path | None = None) -> None:
    """Measure the gate on labelled candidates: files of them (``.jsonl``), and scenarios.

    Raises:
        InputError: A file is malformed.
        AccError: Something cannot be written.
    """
    labels = [each for each in given if _is_labels(each)]
    scenarios = read_scenarios([each for each in given if not _is_labels(each)])
    check_apart(json, scenarios)
    cases = [case for scenario in scenarios for case in cases_of(scenario)]
    cases += [case for each in labels for case in read_labelled(Path(each))]
    if write is not None:
        _write(as_lines(cases), write)
    score = score_gate(cases)
    if json:
        write_results(score.as_json(), json)
    if json != "-":
        _tell(score)


def _is_labels(given: str) -> bool:
    return given.endswith(".jsonl") and ":" not in Path(given).name


def _write(lines: Iterator[str], file: Path) -> None:
    try:
        with opened_for_text(file) as out:
            out.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        what, mend = f"the labels cannot be written: {error.strerror or error}", "name another file"
        raise AccError(what, where=str(file), mend=mend) from error


def _tell(score: GateScore) -> None:
    refused = ", ".join(f"{name} {number:,}" for name, number in score.refusals.items()) or "none"
    rows = [
        ["questions", f"{score.cases:,}"],
        ["candidates with a label", f"{score.labelled:,}"],
        ["wanted", f"{score.wanted:,}"],
        ["admitted", f"{score.admitted:,}"],
        ["+ precision", _rate(score.precision)],
        ["  precision of admitting all", _rate(score.base)],
        ["+ recall", _rate(score.recall)],
        ["+ f1", _rate(score.f1)],
        [f"+ of {score.needs:,} things wanted, found", _rate(score.needs_found)],
        ["  wanted but refused, by gate", refused],
    ]
    table(["gate", "value"], rows, folds=())


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
