"""Several memories as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from acc.evaluation.memories.protocol import EvaluatedMemory, Reading
from acc.turn import Turn


class Joined:
    """Several memories read one after the other: the tutorial agent's summary and semantic memory."""

    def __init__(self, parts: Sequence[EvaluatedMemory]) -> None:
        self._parts = tuple(parts)

    @property
    def has_slots(self) -> bool:
        """Whether all of them have."""
        return all(part.has_slots for part in self._parts)

    def observe(self, turn: Turn) -> None:
        """Show each the turn."""
        for part in self._parts:
            part.observe(turn)

    def held(self) -> Reading:
        """What each holds."""
        return _joined(part.held() for part in self._parts)

    def read(self, question: str) -> Reading:
        """What would be read of each."""
        return _joined(part.read(question) for part in self._parts)

    def close(self) -> None:
        """Close each."""
        for part in self._parts:
            part.close()


def _joined(readings: Iterable[Reading]) -> Reading:
    each = tuple(readings)
    text = "\n\n".join(reading.text for reading in each if reading.text)
    return Reading(text, tuple(item for reading in each for item in reading.items))
