"""Compressors and a clock that do what a test tells them to.

compressor = ScriptedCompressor([Proposal(...), TimeoutError("slow"), lambda t, s, e: ...])
memory = MemoryController(InMemoryStore(), compressor, clock=FixedClock())
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
"""What a compressor may hand in: a proposal, or the object a model writes on the wire."""

Line: TypeAlias = (
    Written
    | BaseException
    | Callable[[Turn, CompressedCognitiveState, Sequence[Evidence]], Written]
)
"""One turn of a script."""

Read: TypeAlias = tuple[Turn, CompressedCognitiveState, tuple[Evidence, ...]]
"""What a compressor was given to read in one call."""


class ScriptedCompressor:
    """Proposes what its script says, one entry a turn.

    An entry is a `Proposal`, a wire object, an exception to raise, or a function of turn,
    state and evidence that returns one of the former two.

    Attributes:
        calls: What it was given to read, call by call.
    """

    def __init__(
        self,
        script: Iterable[Line],
        *,
        at_end: Literal["fail", "repeat"] = "fail",
        mode: Mode = "revise",
        author: str = "scripted",
    ) -> None:
        """Take a script.

        Args:
            script: The entries, in the order of the turns.
            at_end: What to do after the last entry: ``fail`` with an AssertionError that the
                library treats as a failed compression, or ``repeat`` the last one.
            mode: Mode that wire objects are read in.
            author: Author of what wire objects become.

        Raises:
            ValueError: An empty script that should be repeated.
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
        """Entries that no turn has reached."""
        return max(0, len(self._script) - len(self.calls))

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        """The next entry of the script.

        Raises:
            AssertionError: The script is at its end.
            BaseException: The entry is one.
        """
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
    """Never proposes anything.

    Attributes:
        calls: Times it was asked.
    """

    def __init__(self, error: BaseException | None = None) -> None:
        self._error = error or CompressionError("this compressor always fails")
        self.calls = 0

    def __call__(
        self,
        turn: Turn,
        state: CompressedCognitiveState,
        evidence: Sequence[Evidence],
    ) -> Proposal:
        """Fail.

        Raises:
            BaseException: What it was made with; a CompressionError by default.
        """
        self.calls += 1
        raise self._error


class FixedClock:
    """A clock that stands still, or moves by ``step`` each time it is read.

    Attributes:
        step: How far each reading moves it.
    """

    def __init__(
        self,
        at: datetime = datetime(2026, 1, 1, tzinfo=UTC),
        step: timedelta = timedelta(0),
    ) -> None:
        self._start = self._at = _aware(at)
        self.step = step

    def now(self) -> datetime:
        """The time of day; moves the clock on by a step."""
        read, self._at = self._at, self._at + self.step
        return read

    def seconds(self) -> float:
        """Seconds since the time it was made with; moves the clock on by a step."""
        return (self.now() - self._start).total_seconds()

    def set(self, at: datetime) -> None:
        """Put the clock to ``at``."""
        self._at = _aware(at)

    def advance(self, by: timedelta) -> None:
        """Move the clock on by ``by``."""
        self._at += by


def _aware(at: datetime) -> datetime:
    if at.tzinfo is None:
        raise ValueError("give the clock an aware datetime: datetime(2026, 1, 1, tzinfo=UTC)")
    return at.astimezone(UTC)
