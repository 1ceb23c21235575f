"""What is compared: addition, deletion, order of the tasks, start and capacity, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from acc.evidence.policies import Capacity, Deletion, History, Period, RecordUse

from .addition import Addition, Evaluator, Judgement, PolicyName
from .code_family import CodeFamily
from .driving_family import DrivingFamily
from .packet_family import PacketFamily
from .presets import PRESETS, is_due
from .tasks import Family, Task

FAMILIES: dict[str, type[CodeFamily] | type[DrivingFamily] | type[PacketFamily]] = {
    "ehragent": CodeFamily,
    "agentdriver": DrivingFamily,
    "cic-iot": PacketFamily,
}

AdditionName = Literal["fixed", "all", "coarse", "strict"]
DeletionName = Literal["none", "period", "history", "combined", "intersection"]
EvaluatorName = Literal["coarse", "strict"]
ADDITIONS: tuple[AdditionName, ...] = ("fixed", "all", "coarse", "strict")
DELETIONS: tuple[DeletionName, ...] = ("none", "period", "history", "combined", "intersection")
EVALUATORS: tuple[EvaluatorName, ...] = ("coarse", "strict")


@dataclass(frozen=True)
class Condition:
    """One way to run a family.

    Attributes:
        family: One of `FAMILIES`.
        addition: The paper's four.
        deletion: The paper's four; of its combined one both readings.
        shifted: Whether the tasks come in three clusters, one after the other.
        noisy: Whether the initial memory has errors in it.
        capacity: Records at the most; 0 for no bound.
        beta: Of history-based deletion; None for the paper's.
    """

    family: str
    addition: AdditionName = "strict"
    deletion: DeletionName = "none"
    shifted: bool = False
    noisy: bool = False
    capacity: int = 0
    beta: float | None = None


def addition_of(
    condition: Condition, family: Family, book: dict[str, Task], judge: Evaluator | None = None
) -> Addition:
    """The addition policy; its evaluators judge by the family, of the tasks in ``book``.

    ``judge`` takes the coarse evaluator's place.
    """

    def strict(task: str, execution: str) -> Judgement:
        good, utility = family.score(book[task], execution)
        return Judgement(admitted=good, utility=utility)

    def coarse(task: str, execution: str) -> bool:
        return family.plausible(book[task], execution)

    evaluators: dict[AdditionName, Evaluator] = {"coarse": judge or coarse, "strict": strict}
    if condition.addition in evaluators:
        name: PolicyName = "strict" if condition.addition == "strict" else "automatic"
        return Addition(name, evaluators[condition.addition])
    return Addition("none" if condition.addition == "fixed" else "all")


Doomed = Mapping[str, str]


def deletion_of(condition: Condition) -> Deletion:
    """The deletion policy, with the paper's defaults for the agent. It runs after each execution."""
    period = PRESETS[condition.family].period
    if condition.capacity:
        return _bounded(period, Capacity(condition.capacity))
    if condition.beta is not None:
        return History(beta=condition.beta)
    history = _history(condition)
    policies: dict[DeletionName, Deletion] = {
        "none": lambda *_: {},
        "period": _when_due(period),
        "history": history,
        "combined": _union(_when_due(period), history),
        "intersection": _intersection(_when_due(period), history),
    }
    return policies[condition.deletion]


def _history(condition: Condition) -> History:
    """The paper's; coarse evaluators say yes or no, AgentDriver's too, whose threshold is in metres."""
    evaluator: EvaluatorName = "coarse" if condition.addition == "coarse" else "strict"
    history = PRESETS[condition.family].history[evaluator]
    is_out_of_reach = evaluator == "coarse" and history.beta < 0
    return replace(history, beta=0.5) if is_out_of_reach else history


def _when_due(period: Period) -> Deletion:
    """A periodical deletion at the end of each period."""
    return lambda usages, t: period(usages, t) if is_due(period, t) else {}


def _union(one: Deletion, other: Deletion) -> Deletion:
    """What either deletes, when it runs: the reading of the combined deletion that its tables show."""
    return lambda usages, t: {**one(usages, t), **other(usages, t)}


def _intersection(one: Deletion, other: Deletion) -> Deletion:
    """What both delete: the product that the paper prints."""

    def deletes(usages: Sequence[RecordUse], t: int) -> Doomed:
        first, second = one(usages, t), other(usages, t)
        return {key: first[key] for key in first if key in second}

    return deletes


def _bounded(period: Period, capacity: Capacity) -> Deletion:
    """The paper's section 6.2: periodical deletion, then the least useful beyond the limit."""
    first = _when_due(period)

    def deletes(usages: Sequence[RecordUse], t: int) -> Doomed:
        gone = first(usages, t)
        left = [usage for usage in usages if usage.key not in gone]
        return {**gone, **capacity(left, t)}

    return deletes


def addition_table(family: str) -> list[Condition]:
    """The rows of the paper's Table 1."""
    return [Condition(family, addition) for addition in ADDITIONS]


def deletion_table(family: str) -> list[Condition]:
    """The rows of its Table 2, and the other reading of its combined deletion."""
    return [Condition(family, e, deletion) for e in EVALUATORS for deletion in DELETIONS]


def shift_figure(family: str) -> list[Condition]:
    """The lines of its Figure 6."""
    return [
        Condition(family, "fixed", shifted=True),
        *(Condition(family, "strict", d, shifted=True) for d in ("none", "history", "combined")),
        Condition(family, "strict", "combined"),
    ]  # fmt: skip


def capacity_figure(family: str, limits: tuple[int, ...]) -> list[Condition]:
    """The lines of its Figures 7 and 18: limits of the memory by evaluator."""
    return [Condition(family, e, capacity=limit) for e in EVALUATORS for limit in limits]


def beta_sweep(family: str, betas: tuple[float, ...]) -> list[Condition]:
    """Strict addition with history-based deletion at other thresholds."""
    return [Condition(family, "strict", "history", beta=beta) for beta in betas]


def noise_figure(family: str) -> list[Condition]:
    """The lines of its Figure 17: a start with errors in it."""
    return [Condition(family, addition, noisy=True) for addition in ADDITIONS]
