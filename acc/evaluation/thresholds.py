"""What a memory is held to: ``metric=value``, for an exit code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from acc.errors import ConfigurationError
from acc.evaluation.metrics import NAMES
from acc.evaluation.results import MemoryResult

_FORM = re.compile(
    r"(?:(?P<when>end|turns)\.)?(?:(?P<how>micro|macro)\.)?(?P<metric>\w+)(?:@(?P<memory>.+))?"
)


@dataclass(frozen=True)
class Threshold:
    """A bound on one value of one memory.

    Attributes:
        when: ``end``, or ``turns`` for the counts of all turns.
        how: ``micro`` or ``macro``.
        metric: Its name.
        memory: Label of the memory; empty for the first.
        value: The bound.
        is_upper: Whether more than it fails; else less.
    """

    when: str
    how: str
    metric: str
    memory: str
    value: float
    is_upper: bool

    def failure(self, results: Sequence[MemoryResult]) -> str:
        """How the memory fails it, as a clause; empty where it does not.

        Raises:
            ConfigurationError: No such memory was evaluated.
        """
        result = next((r for r in results if self.memory in ("", r.memory)), None)
        if result is None:
            labels = ", ".join(r.memory for r in results)
            raise ConfigurationError(
                f"no memory {self.memory!r}", where=str(self), mend=f"name one of {labels}"
            )
        value = result.averages()[self.when][self.how][self.metric]
        if value is None:
            return f"{self.metric} of {result.memory} is undefined"
        fails = value > self.value if self.is_upper else value < self.value
        word = "above" if self.is_upper else "below"
        bound = f"{self.value:g}"
        return f"{self.metric} of {result.memory} is {value:.4g}, {word} {bound}" if fails else ""

    def __str__(self) -> str:
        memory = f"@{self.memory}" if self.memory else ""
        return f"{self.when}.{self.how}.{self.metric}{memory}={self.value:g}"


def read_threshold(given: str, *, is_upper: bool) -> Threshold:
    """Read ``[end.|turns.][micro.|macro.]METRIC[@MEMORY]=VALUE``.

    Raises:
        ConfigurationError: It has another form, or names no metric.
    """
    name, _, number = given.rpartition("=")
    match = _FORM.fullmatch(name)
    try:
        value = float(number)
    except ValueError:
        match = None
    if match is None or match["metric"] not in NAMES or value != value:
        raise ConfigurationError(
            f"{given!r} is no bound on a metric",
            where="--fail-over" if is_upper else "--fail-under",
            mend=f"write METRIC=VALUE, with one of {', '.join(NAMES)}",
        )
    return Threshold(
        match["when"] or "end", match["how"] or "micro", match["metric"], match["memory"] or "",
        value, is_upper,
    )  # fmt: skip
