"""Scripted compressors and a fixed clock for tests.

compressor = ScriptedCompressor([Proposal(...), TimeoutError("slow"), lambda t, s, e: ...])
memory = MemoryController(InMemoryStore(), compressor, Settings(clock=FixedClock()))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

from acc.errors import CompressionError
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Mode, Proposal
from acc.turn.observations import Evidence
from acc.turn.turn import Turn

Written: TypeAlias = Proposal | Mapping[str, Any]
"""A compressor's result: a proposal, or the wire object that a model writes."""

Line: TypeAlias = (
    Written
    | BaseException
    | Callable[[Turn, CompressedCognitiveState, Sequence[Evidence]], Written]
)
"""The entry of a script for one turn."""

Read: TypeAlias = tuple[Turn, CompressedCognitiveState, tuple[Evidence, ...]]
"""The arguments of one call of a compressor."""


class ScriptedCompressor:
    """Proposes the entries of a script, one per turn.

    An entry is a `Proposal`, a wire object, an exception to raise, or a function of turn, state and
    evidence that returns a proposal or a wire object.

    Attributes:
        calls: The arguments of each call.
    """

    def __init__(
        self,
        script: Iterable[Line],
        *,
        at_end: Literal["fail", "repeat"] = "fail",
        mode: Mode = "revise",
        author: str = "scripted",
    ) -> None:
        """Set the script.

        Args:
            script: The entries, in the order of the turns.
            at_end: After the last entry: ``fail`` with an AssertionError, which the library treats
                as a failed compression, or ``repeat`` the last entry.
            mode: Mode in which wire objects are read.
            author: Author of the proposals made from wire objects.
        """
        self._script = tuple(script)
        self._repeats = at_end == "repeat"
        self._mode: Mode = mode
        self._author = author
        self.calls: list[Read] = []
        if self._repeats and not self._script:
            raise ValueError("an empty script has no last entry to repeat")

    @property
    def unused(self) -> int:
        """Number of entries that no turn has reached."""
        return max(0, len(self._script) - len(self.calls))

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        """Return the next entry of the script, or raise it if it is an exception."""
        place = len(self.calls)
        self.calls.append((turn, state, tuple(evidence)))
        if place >= len(self._script) and not self._repeats:
            raise AssertionError(
                f"the script has {len(self._script)} entries, and this is call {place + 1}, "
                f"for turn {turn.number}"
            )
        entry = self._script[min(place, len(self._script) - 1)]
        if isinstance(entry, BaseException):
            raise entry
        if callable(entry):
            entry = entry(turn, state, evidence)
        if isinstance(entry, Proposal):
            return entry
        return Proposal.from_wire(entry, type(state), mode=self._mode, author=self._author)


class FailingCompressor:
    """Always raises an error.

    Attributes:
        calls: Number of calls.
    """

    def __init__(self, error: BaseException | None = None) -> None:
        self._error = error or CompressionError("this compressor always fails")
        self.calls = 0

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        """Raise the error passed at creation; a CompressionError by default."""
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
        """The current time. Advances the clock by ``step``."""
        read, self._at = self._at, self._at + self.step
        return read

    def seconds(self) -> float:
        """Seconds since the start time. Advances the clock by ``step``."""
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
