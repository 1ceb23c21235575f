"""Ending a call when its time is up, whatever the other side does.

A socket's own time-out starts anew with every byte, so that a server which drips holds a
caller for ever. Here the caller is let go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

from acc.compressors.endpoint import CallFailed
from acc.compressors.outcomes import Outcome

T = TypeVar("T")

LATER = 1.0
"""Seconds by which a socket's own time-out lies behind the deadline: where both would end a call
at once, it is the deadline that ends it, every time."""


def within(seconds: float, call: Callable[[], T]) -> T:
    """The result of ``call``, made on a thread of its own with the caller's context.

    A call that is given up ends with its socket's time-out, and nobody waits for it.

    Raises:
        CallFailed: Time is up (`Outcome.DEADLINE`).
    """
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(call())
        except BaseException as error:
            result.set_exception(error)

    Thread(target=copy_context().run, args=(run,), daemon=True, name="acc-model-call").start()
    try:
        return result.result(max(0.0, seconds))
    except TimeoutError:
        if result.done():  # at the last moment, or a TimeoutError of the call's own
            return result.result()
        raise up() from None


async def awithin(seconds: float, call: Callable[[], Awaitable[T]]) -> T:
    """As `within`: a call that is given up is cancelled."""
    try:
        async with asyncio.timeout(max(0.0, seconds)) as scope:
            return await call()
    except TimeoutError:
        if not scope.expired():
            raise
        raise up() from None


def up() -> CallFailed:
    """The failure of a compression whose time is up."""
    return CallFailed(Outcome.DEADLINE, "the time for the compression is up")
