"""``acc eval probe``: memories on scenarios with ground truth, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acc.cli.eval_output import check_apart, write_results
from acc.cli.screen import Screen, table
from acc.errors import EvaluationError
from acc.evaluation.memories.specs import MemorySpec, read_specs
from acc.evaluation.metrics import NAMES, RATES, SCORE, TOKENS
from acc.evaluation.plots import plot_probe
from acc.evaluation.probe import probe_memory
from acc.evaluation.results import MemoryResult
from acc.evaluation.scenarios import Scenario, read_scenarios
from acc.evaluation.thresholds import read_threshold
from acc.tokens import utf8_quarter

_SIGNS = {"more": "+", "less": "-", "neither": " "}
_WHEN = {"end": "after the last turn", "turns": "over all turns"}


@dataclass(frozen=True)
class Wanted:
    """What a probe was asked for; empty stands for nothing."""

    scenarios: list[str]
    memories: list[str]
    json: str = ""
    plot: Path | None = None
    fail_under: Sequence[str] = ()
    fail_over: Sequence[str] = ()
    quiet: bool = False


def probe(wanted: Wanted) -> None:
    """Evaluate every memory on every scenario, and tell how they did.

    Raises:
        EvaluationError: A memory fails, or falls short of a bound.
        InputError: A scenario is malformed.
        ConfigurationError: A memory or a bound does not exist.
    """
    bounds = [read_threshold(given, is_upper=False) for given in wanted.fail_under]
    bounds += [read_threshold(given, is_upper=True) for given in wanted.fail_over]
    specs = read_specs(wanted.memories)
    scenarios = read_scenarios(wanted.scenarios)
    check_apart(wanted.json, scenarios)
    results = _results(specs, scenarios, Screen(quiet=wanted.quiet, data=wanted.json == "-"))
    if wanted.json:
        write_results(_as_json(specs, scenarios, results), wanted.json)
    if wanted.plot is not None:
        plot_probe(results, wanted.plot)
    if not wanted.quiet and wanted.json != "-":
        _tell(results, scenarios)
    if failures := [said for bound in bounds if (said := bound.failure(results))]:
        raise EvaluationError(
            "; ".join(failures),
            where=", ".join(scenario.id for scenario in scenarios),
            mend="improve the memory, or ask for less",
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
