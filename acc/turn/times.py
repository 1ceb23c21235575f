"""Times that come with messages: `time_in`.

It reads a datetime; seconds, milliseconds, microseconds or nanoseconds since 1970, as a number or as text; ISO 8601;
RFC 2822 ("Wed, 25 Nov 2026 10:00:00 +0000"); and JavaScript's ``Date.toString`` ("Wed Nov 25 2026 10:00:00 GMT+0100
(CET)"). A time without a zone is in UTC. Everything else is refused: a day and a month in digits are read one way in
London and another way in New York.
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from acc.clock import moment
from acc.errors import InputError

_FIRST, _LAST = 946_684_800, 4_102_444_800
"""Seconds of the years 2000 to 2099: with them, a number can be in one unit only."""

_UNITS = (1, 1_000, 1_000_000, 1_000_000_000)


def time_in(given: Any, where: str) -> str:
    """Return the time in ISO 8601; empty for None and an empty text.

    Raises:
        InputError: It is no time in a form that is read; the error names ``where``.
    """
    if given is None or given == "":
        return ""
    found = _time_of(given)
    if found is None:
        raise InputError(
            f"{str(given)[:80]!r} is no time",
            where=where,
            hint='write it in ISO 8601, such as "2026-11-25T10:00:00+01:00", or as seconds since 1970',
        )
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).isoformat()


def _time_of(given: Any) -> datetime | None:
    if isinstance(given, datetime):
        return given
    try:
        number = float(given) if not isinstance(given, bool) else 0.0
    except (TypeError, ValueError, OverflowError):
        return _in_words(given.strip()) if isinstance(given, str) else None
    unit = next((unit for unit in _UNITS if _FIRST <= number / unit < _LAST), None)
    if unit is not None:
        return datetime.fromtimestamp(number / unit, UTC)
    return moment(given) if isinstance(given, str) else None  # digits alone: a day in ISO 8601


def _in_words(text: str) -> datetime | None:
    if found := moment(text):
        return found
    try:  # RFC 2822 has no "GMT" before an offset, and JavaScript has nothing else that it lacks
        return parsedate_to_datetime(text.replace("GMT+", "+").replace("GMT-", "-"))
    except (ValueError, OverflowError):
        return None
