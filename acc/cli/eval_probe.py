"""``acc eval probe``, ``recall`` and ``gate``: evaluations against ground truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acc.cli.eval_judge import check_apart, write_results
from acc.cli.screen import Screen, table
from acc.errors import AccError, EvaluationError
from acc.evaluation.gate_scoring import GateScore, as_lines, cases_of, read_labelled, score_gate
from acc.evaluation.locomo import CUTS, labelled_by_evidence, load_locomo, measure, summary
from acc.evaluation.memories.specs import MemorySpec, read_specs
from acc.evaluation.probe import probe_memory, read_threshold, write_turns
from acc.evaluation.probe_results import NAMES, RATES, SCORE, TOKENS, MemoryResult
from acc.evaluation.scenarios import Scenario, read_scenarios
from acc.folders import opened_for_text
from acc.text.tokens import utf8_quarter

_SIGNS = {"more": "+", "less": "-", "neither": " "}
_WHEN = {"end": "after the last turn", "turns": "over all turns"}


@dataclass(frozen=True)
class Wanted:
    """The arguments of a probe; empty values mean none."""

    scenarios: list[str]
    memories: list[str]
    json: str = ""
    csv: Path | None = None
    fail_under: Sequence[str] = ()
    fail_over: Sequence[str] = ()
    quiet: bool = False


def probe(wanted: Wanted) -> None:
    """Evaluate every memory on every scenario and print the results.

    Raises:
        EvaluationError: A memory fails, or misses a threshold.
        InputError: A scenario is malformed.
        ConfigurationError: There is no such memory or measure.
    """
    bounds = [read_threshold(given, is_upper=False) for given in wanted.fail_under]
    bounds += [read_threshold(given, is_upper=True) for given in wanted.fail_over]
    specs = read_specs(wanted.memories)
    scenarios = read_scenarios(wanted.scenarios)
    check_apart(wanted.json, scenarios)
    results = _results(specs, scenarios, Screen(quiet=wanted.quiet, data=wanted.json == "-"))
    if wanted.json:
        write_results(_as_json(specs, scenarios, results), wanted.json)
    if wanted.csv is not None:
        write_turns(results, wanted.csv)
    if not wanted.quiet and wanted.json != "-":
        _tell(results, scenarios)
    if failures := [said for bound in bounds if (said := bound.failure(results))]:
        raise EvaluationError(
            "; ".join(failures),
            where=", ".join(scenario.id for scenario in scenarios),
            hint="improve the memory, or ask for less",
        )


def _results(
    specs: Sequence[MemorySpec], scenarios: Sequence[Scenario], screen: Screen
) -> list[MemoryResult]:
    turns = sum(len(scenario.turns) for scenario in scenarios)
    with screen.progress(0, turns * len(specs)) as bar:
        return [
            probe_memory(spec.label, spec.make, scenarios, on_turn=bar.advance) for spec in specs
        ]


def _tell(results: Sequence[MemoryResult], scenarios: Sequence[Scenario]) -> None:
    names = ", ".join(f"{s.id} ({len(s.turns)} turns)" for s in scenarios)
    print(f"{names}; tokens are UTF-8 bytes / 4; + more is better, - less is better")
    for result in results:
        if failed := [said for each in result.scenarios for said in each.failures]:
            print(f"{result.memory}: {len(failed)} compressions failed; the first: {failed[0]}")
    averages = [result.averages() for result in results]
    for when in _WHEN:
        print(f"\n{_WHEN[when]}: micro (macro)\n")
        rows = []
        for name in (*RATES, SCORE):
            sign = _SIGNS[RATES[name][0]] if name in RATES else "+"
            cells = [
                _cell(each[when]["micro"][name], each[when]["macro"][name]) for each in averages
            ]
            rows.append([f"{sign} {name}", *cells])
        if when == "end":
            rows += [
                [f"- {name}", *(f"{each[when]['macro'][name]:,.0f}" for each in averages)]
                for name in TOKENS
            ]
            rows.append(["  max_tokens stated", *map(_bound, results)])
            rows.append(["- tokens_max / transcript", *map(_share, results)])
        table(["metric", *(result.memory for result in results)], rows, folds=())


def _cell(micro: float | None, macro: float | None) -> str:
    return "-" if micro is None or macro is None else f"{micro:.3f} ({macro:.3f})"


def _bound(result: MemoryResult) -> str:
    bound = result.scenarios[0].max_tokens
    return "-" if bound is None else f"{bound:,}"


def _share(result: MemoryResult) -> str:
    shares = [s for each in result.scenarios if (s := each.share_of_transcript) is not None]
    return f"{max(shares):.3f}" if shares else "-"


def _as_json(
    specs: Sequence[MemorySpec], scenarios: Sequence[Scenario], results: Sequence[MemoryResult]
) -> dict[str, Any]:
    from acc import __version__

    return {
        "acc": __version__,
        "counter": utf8_quarter.name,
        "metrics": list(NAMES),
        "scenarios": [
            {"id": s.id, "domain": s.truth.domain, "turns": len(s.turns)} for s in scenarios
        ],
        "memories": [
            {**spec.as_json(), **result.as_json()}
            for spec, result in zip(specs, results, strict=True)
        ],
    }


def recall(file: Path, *, json: str = "") -> None:
    """Measure evidence recall on LoCoMo, and the gate on the recalled evidence.

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
    _print_score(gate)


def gate(given: Sequence[str], *, json: str = "", write: Path | None = None) -> None:
    """Measure the gate on labelled candidates, from ``.jsonl`` files and from scenarios.

    Raises:
        InputError: A file is malformed.
        AccError: A file cannot be written.
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
        _print_score(score)


def _is_labels(given: str) -> bool:
    return given.endswith(".jsonl") and ":" not in Path(given).name


def _write(lines: Iterator[str], file: Path) -> None:
    try:
        with opened_for_text(file) as out:
            out.writelines(f"{line}\n" for line in lines)
    except OSError as error:
        what, hint = f"the labels cannot be written: {error.strerror or error}", "name another file"
        raise AccError(what, where=str(file), hint=hint) from error


def _print_score(score: GateScore) -> None:
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
