"""Plots of a probe, one PNG per scenario. Only this module imports matplotlib."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from acc.errors import AccError, ConfigurationError
from acc.evaluation.results import PROBES, MemoryResult, ScenarioResult, write_csv
from acc.evaluation.results import RATES as ALL_RATES
from acc.folders import opened_private, private_folder

PLOTTED = ("constraints_kept", "facts_current", "facts_stale", "poison_anywhere")
"""Rates to draw in addition to the tokens."""

RATES = tuple(name for name in ALL_RATES if name != PROBES)
"""Rates per turn. Probes occur in few turns and are not counted per turn."""

DASHES = ("-", "--", ":", "-.")
"""Line styles that distinguish lines that coincide or lack colour."""


def plot_probe(results: Sequence[MemoryResult], folder: Path) -> list[Path]:
    """Draw tokens and rates by turn for each scenario, with one line per memory.

    Args:
        results: Results of the same scenarios for each memory.
        folder: The folder for the files; created if absent.

    Returns:
        The files: ``probe.csv`` with one line per memory and turn, and the PNGs.

    Raises:
        ConfigurationError: matplotlib is not installed.
        AccError: A file cannot be written.
    """
    files = [folder / "probe.csv"]
    headings = ["scenario", "domain", "memory", "turn", "tokens", "transcript_tokens", *RATES]
    write_csv(files[0], headings, _csv_rows(results))
    for place, scenario in enumerate(results[0].scenarios):
        lines = [(result.memory, result.scenarios[place]) for result in results]
        file = folder / f"{_file_name(scenario.scenario)}.png"
        save_figure(_drawn(scenario.scenario, lines), file)
        files.append(file)
    return files


def _csv_rows(results: Sequence[MemoryResult]) -> Iterator[list[object]]:
    for result in results:
        for each in result.scenarios:
            for turn in each.turns:
                counts = (turn.counts.get(name) for name in RATES)
                rates = [count.rate if count is not None else None for count in counts]
                told = [turn.turn, turn.tokens, turn.transcript_tokens]
                yield [each.scenario, each.domain, result.memory, *told, *rates]


def _drawn(title: str, lines: Sequence[tuple[str, ScenarioResult]]) -> Any:
    figure = figure_class()(figsize=(9, 11), layout="constrained")
    figure.suptitle(title)
    axes = figure.subplots(1 + len(PLOTTED), 1, sharex=True)
    for place, (label, result) in enumerate(lines):
        look = {"label": label, "linestyle": DASHES[place % len(DASHES)]}
        turns = [turn.turn for turn in result.turns]
        axes[0].plot(turns, [max(1, turn.tokens) for turn in result.turns], **look)
        for axis, name in zip(axes[1:], PLOTTED, strict=True):
            counts = [turn.counts.get(name) for turn in result.turns]
            rates = [count.rate if count is not None else None for count in counts]
            axis.plot(turns, [float("nan") if r is None else r for r in rates], **look)
    axes[0].set(ylabel="tokens held", yscale="log")
    for axis, name in zip(axes[1:], PLOTTED, strict=True):
        axis.set(ylabel=name.replace("_", " "), ylim=(-0.05, 1.05))
    axes[-1].set(xlabel="turn")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def figure_class() -> Any:
    """matplotlib's figure class, which needs no display.

    Raises:
        ConfigurationError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigurationError(
            "plots need matplotlib, which is not installed",
            where="--plot",
            hint="pip install 'agent-cognitive-compressor[plots]'",
        ) from error
    return Figure


def save_figure(figure: Any, file: Path) -> None:
    """Write a PNG.

    Raises:
        AccError: The file cannot be written.
    """
    try:
        private_folder(file.parent)
        # Omit the version of matplotlib: equal results give equal bytes.
        with opened_private(file) as out:
            figure.savefig(out, format="png", dpi=120, metadata={"Software": None})
    except OSError as error:
        raise AccError(
            f"the plot cannot be written: {error.strerror or error}",
            where=str(file),
            hint="name another folder",
        ) from error


def _file_name(scenario: str) -> str:
    return (
        "".join(c if c.isalnum() or c in "-_." else "-" for c in scenario).strip(".") or "scenario"
    )
