"""The paper's orderings, one by one: does each come out, and how sure is that?"""

from __future__ import annotations

from typing import NamedTuple

from acc.evidence.presets import DeletionName

from .conditions import AdditionName, Condition
from .paper_figures import ADDITION, AGENTS, DELETION
from .study import Interval, Study, gain, interval


class Ordering(NamedTuple):
    """One thing that the paper found.

    Attributes:
        claim: In words.
        paper: Points by which it holds in the paper, negative where it does not hold there.
        ours: The same here, paired by seeds; where it is about sizes, records.
    """

    claim: str
    paper: float
    ours: Interval

    @property
    def verdict(self) -> str:
        """Whether ours says what the paper says."""
        if not self.ours.sure:
            return "undecided"
        return "as the paper" if (self.ours.mean > 0) == (self.paper > 0) else "the other way round"


_ADDED: tuple[tuple[AdditionName, AdditionName], ...] = (
    ("strict", "fixed"), ("strict", "all"), ("strict", "coarse"), ("fixed", "all"),
    ("coarse", "all"), ("coarse", "fixed"),
)  # fmt: skip
_DELETED: tuple[DeletionName, ...] = ("period", "history", "combined")


def orderings(study: Study, family: str) -> list[Ordering]:
    """What Tables 1 and 2 order, of one agent."""
    return [*_of_additions(study, family), *_of_deletions(study, family)]


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
    for evaluator in ("strict", "coarse"):
        none = study[Condition(family, evaluator)]
        for deletion in _DELETED:
            traces = study[Condition(family, evaluator, deletion)]
            printed = DELETION[family, evaluator, deletion]
            before = DELETION[family, evaluator, "none"]
            what = f"{AGENTS[family]}, {evaluator}: {deletion}"
            found.append(
                Ordering(f"{what} better than none", printed[0] - before[0], gain(traces, none))
            )
            fewer = interval(
                [float(a.size[-1] - b.size[-1]) for a, b in zip(none, traces, strict=True)]
            )
            found.append(Ordering(f"{what} keeps fewer records", before[1] - printed[1], fewer))
    return found
