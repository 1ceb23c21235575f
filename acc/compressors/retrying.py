"""The one retry layer around a model: the SDK's own is switched off, so that they do not multiply."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from acc.clock import Clock, SystemClock
from acc.compressors.endpoint import CallFailed, Reply

FIRST_WAIT, LONGEST_WAIT = 0.5, 8.0
"""Seconds before the second attempt, doubling up to the longest, where the server names no time."""


@dataclass(frozen=True)
class Retries:
    """How often a failed call is repeated, and after how long.

    A time that the server asks for (``Retry-After``, in seconds or as a date, or
    ``retry-after-ms``) is honoured. One that ends beyond the deadline ends the attempts at once.

    Attributes:
        attempts: Calls at the most, the first included.
        clock: Measures, and tells the time of day for dates.
        sleep: Waits, in seconds.
        asleep: The same, awaited.
        jitter: A number from 0 to 1; a quarter of it is added to waits that nobody asked for.
    """

    attempts: int = 3
    clock: Clock = field(default_factory=SystemClock)
    sleep: Callable[[float], None] = time.sleep
    asleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random

    def call(self, send: Callable[[], Reply], until: float, attempts: int = 0) -> Reply:
        """Call ``send`` until it answers.

        Args:
            send: Makes the call.
            until: Seconds of the clock after which nothing is begun.
            attempts: In place of the retries' own.

        Raises:
            CallFailed: The last attempt's.
        """
        from tenacity import Retrying

        return Retrying(sleep=self.sleep, **self._rules(until, attempts))(send)

    async def acall(
        self, send: Callable[[], Awaitable[Reply]], until: float, attempts: int = 0
    ) -> Reply:
        """As `call`."""
        from tenacity import AsyncRetrying

        return await AsyncRetrying(sleep=self.asleep, **self._rules(until, attempts))(send)

    def _rules(self, until: float, attempts: int) -> dict[str, Any]:
        most = attempts or self.attempts

        def is_over(state: Any) -> bool:
            ends = self.clock.seconds() + state.upcoming_sleep
            return bool(state.attempt_number >= most or ends >= until)

        return {"retry": _may_retry, "wait": self._wait, "stop": is_over, "reraise": True}

    def _wait(self, state: Any) -> float:
        error = state.outcome.exception()
        asked = (
            asked_wait(error.headers, self.clock.now()) if isinstance(error, CallFailed) else None
        )
        if asked is not None:
            return asked
        number: int = state.attempt_number
        wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (number - 1))
        return wait * (1 + self.jitter() / 4)


def _may_retry(state: Any) -> bool:
    error = state.outcome.exception()
    return isinstance(error, CallFailed) and error.retry


def asked_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that a server asks to wait, by its headers (names in lower case); None if it does not."""
    for name, unit in (("retry-after-ms", 1_000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        if seconds >= 0:
            return seconds
    return _until_date(headers.get("retry-after", ""), now)


def _until_date(value: str, now: datetime) -> float | None:
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):  # as the field has it, anything
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - now).total_seconds())
