"""The settings of the paper's agents, and when its periodical deletion runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from acc.evidence.policies import History, Period

Evaluator = Literal["coarse", "strict"]


class Preset(NamedTuple):
    """The settings of one of the paper's agents.

    Attributes:
        k: Records retrieved for each task.
        period: Its periodical deletion.
        history: Its deletion by history, by evaluator.
        initial: Records at the start.
        tasks: Number of tasks.
    """

    k: int
    period: Period
    history: Mapping[Evaluator, History]
    initial: int
    tasks: int

    @property
    def bound(self) -> int:
        """How many records a periodical deletion leaves at most, without newcomers.

        The paper's bound, alpha (t' - t) K, is 0 for alpha = 0. K retrievals in each of P executions are K P, and each
        survivor took at least alpha + 1 of them.
        """
        return self.k * self.period.period // (self.period.alpha + 1)


PRESETS = {
    "ehragent": Preset(
        4, Period(200, 0), {"coarse": History(5, 0.3), "strict": History(5, 0.7)}, 100, 2392
    ),
    "agentdriver": Preset(
        1, Period(300, 1), {"coarse": History(5, -5.0), "strict": History(5, -5.0)}, 180, 2000
    ),
    "cic-iot": Preset(
        3, Period(300, 1), {"coarse": History(5, 0.5), "strict": History(5, 0.5)}, 100, 1200
    ),
}


def is_due(period: Period, t: int) -> bool:
    """Whether ``t`` ends a period."""
    return t > 0 and t % period.period == 0
