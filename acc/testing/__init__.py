"""Tools to test your own compressors and agents with the library.

compressor = ScriptedCompressor([{"rules": [{"quote": "Never deploy", "ref": "u1"}]}, TimeoutError("slow")])
step = update_state(None, Turn.said("Never deploy on Fridays."), model=compressor)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from acc.state.proposal import Proposal, read
from acc.state.reading import Reading
from acc.testing.chat_api import FAULTS, Fault, Message, Reply, Request
from acc.testing.model_server import ModelServer

__all__ = [
    "FAULTS",
    "Fault",
    "FixedClock",
    "Message",
    "ModelServer",
    "Reply",
    "Request",
    "ScriptedCompressor",
]

Written: TypeAlias = Proposal | Mapping[str, Any]
"""A compressor's result: a proposal, or the JSON object that a model writes."""

Line: TypeAlias = Written | BaseException | Callable[[Reading], Written]
"""The entry of a script for one compression."""


class ScriptedCompressor:
    """Proposes the entries of a script, one per compression.

    An entry is a `Proposal`, a model's JSON object, an exception to raise, or a function of the `Reading` that returns
    a proposal or an object. After the last entry it fails with an AssertionError, which the library treats as a failed
    compression.

    Attributes:
        readings: What each compression was given to read.
    """

    def __init__(self, script: Iterable[Line]) -> None:
        self._script = tuple(script)
        self.readings: list[Reading] = []

    def __call__(self, reading: Reading) -> Proposal:
        """Return the next entry of the script, or raise it if it is an exception."""
        place = len(self.readings)
        self.readings.append(reading)
        if place >= len(self._script):
            raise AssertionError(
                f"the script has {len(self._script)} entries, and this is call {place + 1}, "
                f"for turn {reading.number}"
            )
        entry = self._script[place]
        if isinstance(entry, BaseException):
            raise entry
        if callable(entry):
            entry = entry(reading)
        return entry if isinstance(entry, Proposal) else read(entry, reading.policy.schema)


class FixedClock:
    """A clock that stands still at ``at``, which a test may change."""

    def __init__(self, at: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.at = at

    def now(self) -> datetime:
        """Return the time at which the clock stands."""
        return self.at

    def seconds(self) -> float:
        """Return the seconds since the year 1970."""
        return self.at.timestamp()
