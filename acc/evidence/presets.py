"""The paper's hyperparameters (arXiv 2505.16067, appendix A.2), by agent and evaluator.

Its text deletes by history what was retrieved "at least 5 times", its formula what was
retrieved more than n times; the formula counts here. AgentDriver's utility is a distance, of
which less is better: here it is negative, and the threshold too, of both its evaluators. So its
history-based deletion never fires on utilities of 0 to 1: `Preset.yes_or_no` is for those.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

from acc.errors import ConfigurationError
from acc.evidence.deletion import Deletion, History, Keep, Period, combined

EvaluatorName = Literal["coarse", "strict"]
DeletionName = Literal["none", "period", "history", "combined", "intersection"]


class Preset(NamedTuple):
    """What one agent of the paper was run with.

    Attributes:
        k: Records retrieved for each task.
        period: Its periodical deletion.
        history: Its history-based deletion by evaluator.
        initial: Records in memory at the start.
        tasks: Tasks in all.
    """

    k: int
    period: Period
    history: dict[EvaluatorName, History]
    initial: int
    tasks: int

    def yes_or_no(self, evaluator: EvaluatorName) -> Preset:
        """The preset for utilities of 1 and 0: a threshold that none of them reaches becomes 0.5."""
        history = self.history[evaluator]
        if history.beta >= 0:
            return self
        return self._replace(history={**self.history, evaluator: replace(history, beta=0.5)})

    def deletion(self, name: DeletionName, evaluator: EvaluatorName = "strict") -> Deletion:
        """The deletion policy of that name.

        Raises:
            ConfigurationError: There is none.
        """
        history = self.history[evaluator]
        policies: dict[str, Deletion] = {
            "none": Keep(),
            "period": self.period,
            "history": history,
            "combined": combined(self.period, history),
            "intersection": combined(self.period, history, "intersection"),
        }
        if name not in policies:
            raise ConfigurationError(
                f"no deletion policy {name!r}", where="deletion", mend=f"use {', '.join(policies)}"
            )
        return policies[name]


PRESETS: dict[str, Preset] = {
    "ehragent": Preset(
        k=4,
        period=Period(200, 0),
        history={"coarse": History(5, 0.3), "strict": History(5, 0.7)},
        initial=100,
        tasks=2392,
    ),
    "agentdriver": Preset(
        k=1,
        period=Period(300, 1),
        history={"coarse": History(5, -5.0), "strict": History(5, -5.0)},
        initial=180,
        tasks=2000,
    ),
    "cic-iot": Preset(
        k=3,
        period=Period(300, 1),
        history={"coarse": History(5, 0.5), "strict": History(5, 0.5)},
        initial=100,
        tasks=1200,
    ),
}


def preset(agent: str) -> Preset:
    """The preset of one of the paper's agents.

    Raises:
        ConfigurationError: No such agent.
    """
    found = PRESETS.get(agent.lower())
    if found is None:
        raise ConfigurationError(
            f"no preset for the agent {agent!r}", where="preset", mend=f"use {', '.join(PRESETS)}"
        )
    return found
