"""The paper's Figures 5, 6 and 7 of a live evaluation, and a CSV of every turn. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from acc.evaluation.judge.judging import METRICS
from acc.evaluation.judge.live import LiveResult
from acc.evaluation.judge.measures import MEASURES, RunOutcome
from acc.evaluation.judge.summary import complete, deviation_over_turns
from acc.evaluation.plots import DASHES, figure_class, save_figure
from acc.evaluation.results import mean, write_csv


def draw_figures(result: LiveResult, folder: Path, *, note: str = "") -> list[Path]:
    """Draw the complete runs.

    Args:
        result: The result of the evaluation.
        folder: The folder for the files; created if absent.
        note: A note for every figure.

    Returns:
        The files: ``figure5.png``, ``figure6.png``, ``figure7.png`` and ``turns.csv``; no figures
            if no run is complete.

    Raises:
        ConfigurationError: matplotlib is not installed.
        AccError: A file cannot be written.
    """
    labels = [spec.label for spec in result.live.memories]
    runs = complete(result)
    files = [folder / "turns.csv"]
    headings = ["scenario", "domain", "seed", "memory", "turn", *MEASURES]
    write_csv(files[0], headings, _csv_rows(result.runs))
    drawn = (("figure5", _footprint), ("figure6", _quality), ("figure7", _reliability))
    for name, draw in drawn if runs else ():
        figure = draw(runs, labels)
        if note:
            figure.suptitle(note, fontsize=8, color="firebrick")
        save_figure(figure, folder / f"{name}.png")
        files.append(folder / f"{name}.png")
    return files


def by_turn(
    runs: Sequence[RunOutcome], label: str, name: str
) -> Iterator[tuple[int, float | None]]:
    """The mean of a measure over runs, turn by turn."""
    for turn in range(1, max(len(run.agents[label]) for run in runs) + 1):
        there = [run.agents[label][turn - 1] for run in runs if len(run.agents[label]) >= turn]
        yield turn, mean(map(MEASURES[name], there))


def _domains(runs: Sequence[RunOutcome]) -> dict[str, list[RunOutcome]]:
    found: dict[str, list[RunOutcome]] = {}
    for run in runs:
        found.setdefault(run.domain or run.scenario, []).append(run)
    return found


def _footprint(runs: Sequence[RunOutcome], labels: Sequence[str]) -> Any:
    """Figure 5: memory tokens per turn in each domain, and their mean by domain and agent."""
    domains = _domains(runs)
    figure = figure_class()(figsize=(5 * (len(domains) + 1), 4.2), layout="constrained")
    axes = figure.subplots(1, len(domains) + 1, squeeze=False)[0]
    for axis, (domain, its) in zip(axes, domains.items(), strict=False):
        _lines(axis, its, labels, "memory_tokens")
        axis.set(title=domain, xlabel="turn", ylabel="memory tokens")
    _bars(axes[-1], labels, list(domains), [
        [_mean_of(its, label, "memory_tokens") for its in domains.values()] for label in labels
    ])  # fmt: skip
    axes[-1].set(title="mean by domain", ylabel="memory tokens")
    return _with_legend(figure, axes[0], labels)


def _quality(runs: Sequence[RunOutcome], labels: Sequence[str]) -> Any:
    """Figure 6: outcome quality, mean and standard deviation over turns."""
    figure = figure_class()(figsize=(9, 4.2), layout="constrained")
    axis = figure.subplots()
    means = [[_mean_of(runs, label, metric) for metric in METRICS] for label in labels]
    spread = [
        [deviation_over_turns(runs, label, metric) or 0.0 for metric in METRICS] for label in labels
    ]
    _bars(axis, labels, [metric.replace("_", " ") for metric in METRICS], means, spread)
    axis.set(ylabel="score, mean and deviation over turns", ylim=(0, 10.5))
    return _with_legend(figure, axis, labels)


def _reliability(runs: Sequence[RunOutcome], labels: Sequence[str]) -> Any:
    """Figure 7: hallucination (left) and drift (right) over turns, by domain."""
    domains = _domains(runs)
    figure = figure_class()(figsize=(10, 3.2 * len(domains) + 0.6), layout="constrained")
    axes = figure.subplots(len(domains), 2, squeeze=False)
    for row, (domain, its) in zip(axes, domains.items(), strict=True):
        for axis, name in zip(row, ("hallucination", "drift"), strict=True):
            _lines(axis, its, labels, name)
            axis.set(title=f"{domain}: {name}", xlabel="turn", ylabel=name, ylim=(-0.03, None))
    return _with_legend(figure, axes[0][0], labels)


def _lines(axis: Any, runs: Sequence[RunOutcome], labels: Sequence[str], name: str) -> None:
    for place, label in enumerate(labels):
        points = list(by_turn(runs, label, name))
        values = [float("nan") if value is None else value for _, value in points]
        dashes = DASHES[place % len(DASHES)]
        axis.plot([turn for turn, _ in points], values, label=label, linestyle=dashes)


def _bars(
    axis: Any,
    labels: Sequence[str],
    groups: Sequence[str],
    heights: Sequence[Sequence[float]],
    spread: Sequence[Sequence[float]] | None = None,
) -> None:
    width = 0.8 / len(labels)
    for place, label in enumerate(labels):
        at = [group + (place - (len(labels) - 1) / 2) * width for group in range(len(groups))]
        error = spread[place] if spread else None
        axis.bar(at, heights[place], width, yerr=error, capsize=2, label=label)
    axis.set_xticks(range(len(groups)), groups)


def _mean_of(runs: Sequence[RunOutcome], label: str, name: str) -> float:
    value = mean(run.means(label)[name] for run in runs)
    return float("nan") if value is None else value


def _with_legend(figure: Any, axis: Any, labels: Sequence[str]) -> Any:
    handles, names = axis.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=min(len(labels), 6))
    return figure


def _csv_rows(runs: Sequence[RunOutcome]) -> Iterator[list[object]]:
    """One row per agent and turn."""
    for run in runs:
        for label, turns in run.agents.items():
            for turn in turns:
                values = [measure(turn) for measure in MEASURES.values()]
                yield [run.scenario, run.domain, run.seed, label, turn.turn, *values]
