"""Time: the clock that the library is given, and how it writes a time."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time of day, and measures."""

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        ...

    def seconds(self) -> float:
        """Seconds of a clock that only runs forward."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> datetime:
        """The machine's time of day in UTC."""
        return datetime.now(UTC)

    def seconds(self) -> float:
        """The machine's performance counter."""
        return time.perf_counter()


def stamp(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now_line(clock: Clock) -> str:
    """Return the time of ``clock`` as a line for an agent: ``Now: Wednesday 2026-03-04 10:12 UTC``."""
    return f"Now: {clock.now():%A %Y-%m-%d %H:%M %Z}"


def moment(text: str) -> datetime | None:
    """Return the aware time of ``text`` in ISO 8601, in UTC if it has no zone; None if it is no time."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
