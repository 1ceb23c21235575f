"""The tables, in the shape of the paper's 1 and 2, its numbers beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from .conditions import ADDITIONS, DELETIONS, EVALUATORS, AdditionName, Condition, DeletionName
from .orderings import orderings
from .paper_figures import ADDITION, AGENTS, DELETION
from .presets import PRESETS
from .study import Interval, Study, interval, performance, size
from .tasks import Floats


def addition_rows(study: Study) -> list[str]:
    """Table 1: performance and memory by addition, with what the error-free variant does."""
    head = [f"{AGENTS[f]} | paper | error-free | records | paper" for f in _families(study)]
    lines = _headed(["addition", *head])
    for addition in ADDITIONS:
        cells: list[str] = [addition]
        for family in _families(study):
            traces = study[Condition(family, addition)]
            paper = ADDITION[family, addition]
            free = interval([100.0 * float(t.error_free.mean()) for t in traces])
            cells += [_shown(performance(traces)), f"{paper[0]:.2f}", _shown(free)]
            cells += [f"{size(traces).mean:.0f}", f"{paper[1]}"]
        lines.append(_row(cells))
    return lines


def deletion_rows(study: Study) -> list[str]:
    """Table 2: performance and memory by evaluator and deletion."""
    head = [f"{AGENTS[family]} | paper | records | paper" for family in _families(study)]
    lines = _headed(["evaluator", "deletion", *head])
    for evaluator in EVALUATORS:
        for deletion in DELETIONS:
            cells: list[str] = [evaluator, _name(deletion)]
            for family in _families(study):
                traces = study[Condition(family, evaluator, deletion)]
                paper = DELETION.get((family, evaluator, deletion))
                cells += [_shown(performance(traces)), f"{paper[0]:.2f}" if paper else "-"]
                cells += [f"{size(traces).mean:.0f}", f"{paper[1]}" if paper else "-"]
            lines.append(_row(cells))
    return lines


def following_rows(study: Study) -> list[str]:
    """Experience following: likeness of tasks and of executions over all tasks, and their correlation."""
    lines = _headed(["agent", "addition", "input similarity", "output similarity", "correlation"])
    for family in _families(study):
        for addition in ADDITIONS:
            traces = study[Condition(family, addition)]
            ins = interval([float(np.nanmean(t.alike_in)) for t in traces])
            outs = interval([float(np.nanmean(t.alike_out)) for t in traces])
            both = interval([_correlation(t.alike_in, t.alike_out) for t in traces])
            cells = [_shown(value, 2) for value in (ins, outs, both)]
            lines.append(_row([AGENTS[family], addition, *cells]))
    return lines


def replay_rows(study: Study) -> list[str]:
    """Figures 5, 11, 12 in numbers: tasks whose best record is gone against those whose is not."""
    lines = _headed(
        ["agent", "tasks with a deleted one, %", "input: deleted", "retained", "output: deleted", "retained"]
    )  # fmt: skip
    for family in _families(study):
        traces = study[Condition(family, "strict", "history")]
        cells = [_shown(interval([100.0 * float(t.deleted.mean()) for t in traces]))]
        for name in ("best_in", "best_out"):
            for gone in (True, False):
                means = [_mean(getattr(t, name)[t.deleted == gone]) for t in traces]
                cells.append(_shown(interval([m for m in means if m is not None] or [np.nan]), 2))
        lines.append(_row([AGENTS[family], *cells]))
    return lines


def shift_rows(study: Study) -> list[str]:
    """Figure 6 in numbers: success in percent with the tasks in three clusters."""
    families = [f for f in _families(study) if Condition(f, "fixed", shifted=True) in study]
    lines = _headed(["memory", *(f"{AGENTS[f]} | records" for f in families)])
    rows: list[tuple[AdditionName, DeletionName, bool]] = [
        ("fixed", "none", True), ("strict", "none", True), ("strict", "history", True),
        ("strict", "combined", True), ("strict", "combined", False),
    ]  # fmt: skip
    for addition, deletion, shifted in rows:
        cells = [f"{addition}, {deletion}{'' if shifted else ', no shift'}"]
        for family in families:
            traces = study[Condition(family, addition, deletion, shifted=shifted)]
            cells += [_shown(performance(traces)), f"{size(traces).mean:.0f}"]
        lines.append(_row(cells))
    return lines


def beta_rows(study: Study) -> list[str]:
    """Strict addition by the threshold of history-based deletion."""
    lines = _headed(["agent", "beta", "success", "records at the end"])
    tried = [c for c in study if c.beta is not None]
    for family in dict.fromkeys(c.family for c in tried):
        papers = Condition(family, "strict", "history")
        for condition in [Condition(family, "strict"), *tried, papers]:
            traces = study[condition]
            beta = "the paper's" if condition == papers else "no deletion"
            beta = beta if condition.beta is None else f"{condition.beta:g}"
            count = _shown(size(traces), 0)
            lines.append(_row([AGENTS[family], beta, _shown(performance(traces)), count]))
    return lines


def capacity_rows(study: Study) -> list[str]:
    """Figures 7 and 18 in numbers: success in percent by the largest memory."""
    lines = _headed(["agent", "evaluator", "records at most", "success", "records at the end"])
    bounded = [c for c in study if c.capacity]
    for family in dict.fromkeys(c.family for c in bounded):
        for evaluator in EVALUATORS:
            limits = [c for c in bounded if (c.family, c.addition) == (family, evaluator)]
            for condition in [*limits, Condition(family, evaluator, "combined")]:
                traces = study[condition]
                most = str(condition.capacity) if condition.capacity else "no bound, combined"
                cells = [AGENTS[family], evaluator, most, _shown(performance(traces))]
                lines.append(_row([*cells, f"{size(traces).mean:.0f}"]))
    return lines


def noise_rows(study: Study) -> list[str]:
    """Figure 17 in numbers: a clean start and a noisy one over the same first tasks."""
    noisy = [c for c in study if c.noisy]
    lines = _headed(["addition", "clean start", "noisy start"])
    for condition in noisy:
        spoilt = study[condition]
        count = len(spoilt[0].success)
        clean = study[Condition(condition.family, condition.addition)]
        first = interval([100.0 * float(t.success[:count].mean()) for t in clean])
        lines.append(_row([condition.addition, _shown(first), _shown(performance(spoilt))]))
    return lines


def ordering_rows(study: Study) -> list[str]:
    """Each of the paper's orderings, and whether it comes out."""
    lines = _headed(["what the paper finds, or not", "paper", "here", "verdict"])
    for family in _families(study):
        for found in orderings(study, family):
            paper = "in words" if found.paper is None else f"{found.paper:+.2f}"
            digits = 2 if found.kind == "similarity" else 1
            cells = [found.claim, paper, _shown(found.ours, digits, signed=True)]
            lines.append(_row([*cells, found.verdict]))
    return lines


def bound_rows() -> list[str]:
    """The most that a periodical deletion leaves, newcomers apart: as derived, and as printed."""
    lines = _headed(["agent", "K", "period", "alpha", "derived bound", "printed bound"])
    for family, name in AGENTS.items():
        found = PRESETS[family]
        period = found.period
        printed = -period.alpha * period.period * found.k
        cells = [name, found.k, period.period, period.alpha, found.bound, printed]
        lines.append(_row(map(str, cells)))
    return lines


def _families(study: Study) -> list[str]:
    return list(dict.fromkeys(condition.family for condition in study))


def _name(deletion: str) -> str:
    return {"combined": "combined (union)", "intersection": "combined (product)"}.get(
        deletion, deletion
    )


def _correlation(one: Floats, other: Floats) -> float:
    both = ~np.isnan(one) & ~np.isnan(other)
    if both.sum() < 2 or one[both].std() == 0 or other[both].std() == 0:
        return float("nan")
    return float(np.corrcoef(one[both], other[both])[0, 1])


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _shown(value: Interval, digits: int = 1, *, signed: bool = False) -> str:
    if np.isnan(value.mean):
        return "-"
    mean = f"{value.mean:+.{digits}f}" if signed else f"{value.mean:.{digits}f}"
    return mean if np.isnan(value.half) else f"{mean} ± {value.half:.{digits}f}"


def _headed(cells: Sequence[str]) -> list[str]:
    columns = sum(cell.count("|") + 1 for cell in cells)
    return [_row(cells), "|" + " --- |" * columns]


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
