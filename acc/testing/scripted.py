"""Scripted compressors and a fixed clock for tests.

compressor = ScriptedCompressor([{"rules": [{"quote": "Never deploy", "ref": "u1"}]}, TimeoutError("slow")])
step = update_state(None, Turn.said("Never deploy on Fridays."), compressor=compressor)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

from acc.compress.protocol import Reading
from acc.errors import CompressionError
from acc.state.proposal import Mode, Proposal, read

Written: TypeAlias = Proposal | Mapping[str, Any]
"""A compressor's result: a proposal, or the JSON object that a model writes."""

Line: TypeAlias = Written | BaseException | Callable[[Reading], Written]
"""The entry of a script for one compression."""


class ScriptedCompressor:
    """Proposes the entries of a script, one per compression.

    An entry is a `Proposal`, a model's JSON object, an exception to raise, or a function of the `Reading` that returns
    a proposal or an object.

    Attributes:
        readings: What each compression was given to read.
    """

    def __init__(
        self,
        script: Iterable[Line],
        *,
        at_end: Literal["fail", "repeat"] = "fail",
        mode: Mode = "revise",
    ) -> None:
        """Set the script.

        Args:
            script: The entries, in the order of the compressions.
            at_end: After the last entry: ``fail`` with an AssertionError, which the library treats as a failed
                compression, or ``repeat`` the last entry.
            mode: Mode in which objects are read.

        Raises:
            ValueError: An empty script is to be repeated.
        """
        self._script = tuple(script)
        self._repeats = at_end == "repeat"
        self._mode: Mode = mode
        self.readings: list[Reading] = []
        if self._repeats and not self._script:
            raise ValueError("an empty script has no last entry to repeat")

    @property
    def unused(self) -> int:
        """Number of entries that no compression has reached."""
        return max(0, len(self._script) - len(self.readings))

    def __call__(self, reading: Reading) -> Proposal:
        """Return the next entry of the script, or raise it if it is an exception."""
        place = len(self.readings)
        self.readings.append(reading)
        if place >= len(self._script) and not self._repeats:
            raise AssertionError(
                f"the script has {len(self._script)} entries, and this is call {place + 1}, "
                f"for turn {reading.number}"
            )
        entry = self._script[min(place, len(self._script) - 1)]
        if isinstance(entry, BaseException):
            raise entry
        if callable(entry):
            entry = entry(reading)
        if isinstance(entry, Proposal):
            return entry
        return read(entry, reading.policy.schema, mode=self._mode)


class FailingCompressor:
    """Always raises an error.

    Attributes:
        calls: Number of calls.
    """

    def __init__(self, error: BaseException | None = None) -> None:
        self._error = error or CompressionError("this compressor always fails")
        self.calls = 0

    def __call__(self, reading: Reading) -> Proposal:
        """Raise the error given at creation; a CompressionError by default."""
        self.calls += 1
        raise self._error


class FixedClock:
    """A clock that stands still, or advances by ``step`` on each reading."""

    def __init__(
        self, at: datetime = datetime(2026, 1, 1, tzinfo=UTC), step: timedelta = timedelta(0)
    ) -> None:
        self._start = self._at = _aware(at)
        self.step = step

    def now(self) -> datetime:
        """Return the current time, and advance the clock by ``step``."""
        found, self._at = self._at, self._at + self.step
        return found

    def seconds(self) -> float:
        """Return the seconds since the start time, and advance the clock by ``step``."""
        return (self.now() - self._start).total_seconds()

    def set(self, at: datetime) -> None:
        """Set the clock to ``at``."""
        self._at = _aware(at)

    def advance(self, by: timedelta) -> None:
        """Advance the clock by ``by``."""
        self._at += by


def _aware(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise ValueError("the clock needs a time zone: datetime(2026, 1, 1, tzinfo=UTC)")
    return at.astimezone(UTC)
