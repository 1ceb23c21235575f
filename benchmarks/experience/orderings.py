"""What the paper finds, one by one: does each come out, and how sure is that?"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from .conditions import EVALUATORS, AdditionName, Condition, DeletionName
from .paper_figures import ADDITION, AGENTS, DELETION
from .presets import PRESETS
from .running import Trace
from .study import Interval, Study, gain, interval

CHEAP = 2.0
"""Points that the paper says a periodical deletion costs at the most, in most configurations."""


class Ordering(NamedTuple):
    """One thing that the paper found.

    Attributes:
        claim: In words.
        paper: By how much it holds in the paper, negative where it does not hold there; None where
            the paper says it in words or draws it.
        ours: By how much it holds here, paired by seeds.
        kind: Success in points, records in memory (fewer records are what a deletion is for, so
            that they say little), or similarity.
    """

    claim: str
    paper: float | None
    ours: Interval
    kind: Literal["success", "records", "similarity"] = "success"

    @property
    def verdict(self) -> str:
        """Whether ours says what the paper says, in direction; sizes of effects may differ."""
        if not self.ours.sure:
            return "undecided"
        if self.paper == 0:
            return "a tie only in the paper"
        holds = self.paper is None or self.paper > 0
        return "as the paper" if (self.ours.mean > 0) == holds else "the other way round"


VERDICTS = ("as the paper", "the other way round", "a tie only in the paper", "undecided")

_ADDED: tuple[tuple[AdditionName, AdditionName], ...] = (
    ("strict", "fixed"), ("strict", "all"), ("strict", "coarse"), ("fixed", "all"),
    ("coarse", "all"), ("coarse", "fixed"),
)  # fmt: skip
_DELETED: tuple[DeletionName, ...] = ("period", "history", "combined")


def orderings(study: Study, family: str) -> list[Ordering]:
    """What the paper finds of one agent, as far as the study has the runs."""
    return [
        *_of_additions(study, family),
        *_of_deletions(study, family),
        *_of_replay(study, family),
        *_of_hard_conditions(study, family),
    ]


def _of_additions(study: Study, family: str) -> list[Ordering]:
    return [
        Ordering(
            f"{AGENTS[family]}: {one} better than {other}",
            ADDITION[family, one][0] - ADDITION[family, other][0],
            gain(study[Condition(family, one)], study[Condition(family, other)]),
        )
        for one, other in _ADDED
    ]


def _of_deletions(study: Study, family: str) -> list[Ordering]:
    found = []
    for evaluator in EVALUATORS:
        none = study[Condition(family, evaluator)]
        before = DELETION[family, evaluator, "none"]
        for deletion in _DELETED:
            traces = study[Condition(family, evaluator, deletion)]
            printed = DELETION[family, evaluator, deletion]
            what, points = f"{AGENTS[family]}, {evaluator}: {deletion}", printed[0] - before[0]
            ours = gain(traces, none)
            found.append(Ordering(f"{what} better than none", points, ours))
            if deletion == "period":
                left = Interval(CHEAP + ours.mean, ours.half)
                claim = f"{what} costs less than {CHEAP:g} points"
                found.append(Ordering(claim, CHEAP + points, left))
            saved = before[1] - printed[1]
            found.append(_fewer(f"{what} keeps fewer records", saved, none, traces))
    return found


def _fewer(claim: str, paper: float, many: list[Trace], few: list[Trace]) -> Ordering:
    pairs = zip(many, few, strict=True)
    saved = interval([float(a.size[-1] - b.size[-1]) for a, b in pairs])
    return Ordering(claim, paper, saved, "records")


def _of_replay(study: Study, family: str) -> list[Ordering]:
    """Figures 5, 11 and 12: deleted records are as similar in input, and less so in output."""
    traces = study[Condition(family, "strict", "history")]
    gaps = {n: [_gap(t, n) for t in traces] for n in ("best_in", "best_out")}
    if any(math.isnan(gap) for values in gaps.values() for gap in values):
        return []
    name = f"{AGENTS[family]}: deleted records"
    alike = Ordering(
        f"{name} were as similar in input", 0.0, interval(gaps["best_in"]), "similarity"
    )
    followed = Ordering(
        f"{name} were followed less", None, interval(gaps["best_out"]), "similarity"
    )
    return [alike, followed]


def _gap(trace: Trace, name: str) -> float:
    """How much more similar retained records were than deleted ones; NaN without either."""
    values = getattr(trace, name)
    known = ~np.isnan(values)
    gone, kept = values[trace.deleted & known], values[~trace.deleted & known]
    return float(kept.mean() - gone.mean()) if len(gone) and len(kept) else math.nan


def _of_hard_conditions(study: Study, family: str) -> list[Ordering]:
    """Figures 6, 7 and 18, where the family has them."""
    found = []
    name = AGENTS[family]
    limit = PRESETS[family].initial
    bounded = Condition(family, "strict", capacity=limit)
    if bounded in study:
        ours = gain(study[bounded], study[Condition(family, "fixed")])
        claim = f"{name}: strict within {limit} records better than fixed"
        found.append(Ordering(claim, None, ours))
    shifted = Condition(family, "strict", "combined", shifted=True)
    if shifted in study:
        fixed = study[Condition(family, "fixed", shifted=True)]
        claim = f"{name}, shift: strict with combined deletion better than fixed"
        found.append(Ordering(claim, None, gain(study[shifted], fixed)))
    return found
