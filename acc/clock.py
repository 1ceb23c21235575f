"""Time: the clock that the library is given, and how it writes and reads a time."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol


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
    return _aware(found)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


_FIRST, _LAST = 946_684_800, 4_102_444_800
"""Seconds of the years 2000 to 2099: with them, a number can be in one unit only."""

_UNITS = (1, 1_000, 1_000_000, 1_000_000_000)


def time_of(given: Any) -> datetime | None:
    """Return the aware time that ``given`` tells; None if it is no time.

    Read are a datetime; seconds, milliseconds, microseconds or nanoseconds since 1970, as a number or as text; ISO
    8601; RFC 2822 ("Wed, 25 Nov 2026 10:00:00 +0000"); and JavaScript's ``Date.toString`` ("Wed Nov 25 2026 10:00:00
    GMT+0100 (CET)"). A time without a zone is in UTC. Nothing else is: a day and a month in digits are read one way in
    London and another way in New York.
    """
    if isinstance(given, datetime):
        return _aware(given)
    with suppress(TypeError, ValueError, OverflowError):
        number = float(given)
        for unit in _UNITS:
            if _FIRST <= number / unit < _LAST:
                return datetime.fromtimestamp(number / unit, UTC)
    if not isinstance(given, str):
        return None
    text = given.strip()
    if found := moment(text):
        return found
    with suppress(ValueError, OverflowError):
        # RFC 2822 has no "GMT" before an offset, and JavaScript has nothing else that it lacks.
        return _aware(parsedate_to_datetime(text.replace("GMT+", "+").replace("GMT-", "-")))
    return None
