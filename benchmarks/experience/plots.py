"""The paper's figures, of our runs. Needs matplotlib, which is loaded by `acc.evaluation.plots`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acc.evaluation.plots import figure_class, save_figure
from acc.evidence.deletion import DeletionName

from .conditions import ADDITIONS, EVALUATORS, Condition
from .paper_figures import AGENTS
from .running import Trace
from .study import Study, performance

Series = Callable[[Trace], NDArray[np.float64]]


def plot_study(study: Study, folder: Path) -> list[Path]:
    """Draw all figures that the study has the runs for; a PNG each.

    Raises:
        ConfigurationError: matplotlib is not installed.
        AccError: A file cannot be written.
    """
    files = []
    for family in dict.fromkeys(condition.family for condition in study):
        for name, draw in _FIGURES.items():
            figure = draw(study, family)
            if figure is not None:
                files.append(folder / f"{name}.{family}.png")
                save_figure(figure, files[-1])
    return files


def running_success(trace: Trace) -> NDArray[np.float64]:
    """Success so far, in percent, after each task."""
    return _running(100.0 * trace.success.astype(np.float64))


def _running(values: NDArray[np.float64]) -> NDArray[np.float64]:
    known = ~np.isnan(values)
    count = np.maximum(np.cumsum(known), 1)
    return np.asarray(np.cumsum(np.where(known, values, 0.0)) / count)


def _mean(traces: Sequence[Trace], series: Series) -> NDArray[np.float64]:
    return np.asarray(np.mean([series(trace) for trace in traces], axis=0))


def _axes(title: str, across: str, up: str) -> tuple[Any, Any]:
    figure = figure_class()(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.set(title=title, xlabel=across, ylabel=up)
    return figure, axes


def _additions(study: Study, family: str) -> Any:
    """Figures 2 and 8."""
    figure, axes = _axes(f"{AGENTS[family]}: addition", "tasks", "success so far, %")
    for addition in ADDITIONS:
        axes.plot(_mean(study[Condition(family, addition)], running_success), label=addition)
    axes.legend()
    return figure


def _following(study: Study, family: str) -> Any:
    """Figures 3, 9 and 10: averages so far, from the 50th task on."""
    figure = figure_class()(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for addition in ADDITIONS:
        traces = study[Condition(family, addition)]
        ins = _mean(traces, lambda trace: _running(trace.alike_in))[50:]
        outs = _mean(traces, lambda trace: _running(trace.alike_out))[50:]
        left.plot(ins, outs, label=addition)
        right.plot(ins, _mean(traces, running_success)[50:], label=addition)
    left.set(title=AGENTS[family], xlabel="input similarity", ylabel="output similarity")
    right.set(xlabel="input similarity", ylabel="success so far, %")
    left.legend()
    return figure


def _error_free(study: Study, family: str) -> Any:
    """Figure 4: each addition, and the same with its demonstrations put right (dashed)."""
    if any(np.isnan(study[Condition(family, a)][0].error_free).any() for a in ADDITIONS):
        return None
    figure, axes = _axes(f"{AGENTS[family]}: errors in memory", "tasks", "success so far, %")
    for place, addition in enumerate(ADDITIONS):
        traces = study[Condition(family, addition)]
        free = _mean(traces, lambda trace: _running(100.0 * trace.error_free.astype(np.float64)))
        axes.plot(_mean(traces, running_success), f"C{place}", label=addition)
        axes.plot(free, f"C{place}--", label=f"{addition}, error-free")
    axes.legend(ncols=2)
    return figure


def _replay(study: Study, family: str) -> Any:
    """Figures 5, 11 and 12: of the first seed, a point a task."""
    title = f"{AGENTS[family]}: history-based deletion"
    figure, axes = _axes(title, "input similarity", "output similarity")
    trace = study[Condition(family, "strict", "history")][0]
    for gone, label in ((False, "retained"), (True, "deleted")):
        at = trace.deleted == gone
        axes.scatter(trace.best_in[at], trace.best_out[at], s=8, alpha=0.5, label=label)
    axes.legend()
    return figure


def _shift(study: Study, family: str) -> Any:
    """Figure 6; the lines of each seed's own clusters begin where the dotted lines are."""
    if Condition(family, "fixed", shifted=True) not in study:
        return None
    figure, axes = _axes(f"{AGENTS[family]}: shift, first seed", "tasks", "success so far, %")
    rows: list[tuple[str, Condition]] = [("fixed", Condition(family, "fixed", shifted=True))]
    names: tuple[DeletionName, ...] = ("none", "history", "combined")
    rows += [(f"strict, {d}", Condition(family, "strict", d, shifted=True)) for d in names]
    for label, condition in rows:
        axes.plot(running_success(study[condition][0]), label=label)
    for bound in study[rows[0][1]][0].bounds:
        axes.axvline(bound, color="grey", linestyle=":")
    unshifted = study[Condition(family, "strict", "combined")][0]
    axes.axhline(100.0 * unshifted.success.mean(), linestyle="--", label="combined, no shift")
    axes.legend()
    return figure


def _capacity(study: Study, family: str) -> Any:
    """Figures 7 and 18: success by the largest memory; dashed without a bound."""
    if not any(c.capacity and c.family == family for c in study):
        return None
    figure, axes = _axes(f"{AGENTS[family]}: capacity", "records at most", "success, %")
    for place, evaluator in enumerate(EVALUATORS):
        bounded = [c for c in study if c.capacity and (c.family, c.addition) == (family, evaluator)]
        found = [performance(study[c]) for c in bounded]
        limits = [c.capacity for c in bounded]
        means, halves = [i.mean for i in found], [i.half for i in found]
        axes.errorbar(limits, means, halves, fmt=f"C{place}o-", label=evaluator)
        free = performance(study[Condition(family, evaluator, "combined")]).mean
        axes.axhline(free, color=f"C{place}", linestyle="--")
    axes.legend()
    return figure


def _noise(study: Study, family: str) -> Any:
    """Figure 17: a noisy start, and a clean one (dashed)."""
    if Condition(family, "fixed", noisy=True) not in study:
        return None
    figure, axes = _axes(f"{AGENTS[family]}: noisy start", "tasks", "success so far, %")
    for place, addition in enumerate(ADDITIONS):
        noisy = _mean(study[Condition(family, addition, noisy=True)], running_success)
        clean = _mean(study[Condition(family, addition)], running_success)[: len(noisy)]
        axes.plot(noisy, f"C{place}", label=addition)
        axes.plot(clean, f"C{place}--")
    axes.legend()
    return figure


_FIGURES: dict[str, Callable[[Study, str], Any]] = {
    "figure-2-addition": _additions,
    "figure-3-following": _following,
    "figure-4-error-free": _error_free,
    "figure-5-replay": _replay,
    "figure-6-shift": _shift,
    "figure-7-18-capacity": _capacity,
    "figure-17-noise": _noise,
}
