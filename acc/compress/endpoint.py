"""The retry layer around a model. The SDK's own retries are off, so the two do not multiply."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Lock, Thread
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from acc.clock import Clock, SystemClock
from acc.logs import log_event
from acc.state.proposal import WORTH_REPAIRING, WORTH_RETRYING, Account, Outcome

_LOG = logging.getLogger(__name__)


class Message(NamedTuple):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    text: str


class Ask(NamedTuple):
    """A request to a model: the messages (the first is the stable part), the answer's schema and token limit."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    limit: int


class Call(NamedTuple):
    """One request to an endpoint.

    ``rung`` says how the endpoint enforces the schema (`acc.compress.openai_calls.OutputMode`). ``optional`` names
    the arguments that the request may carry and can do without: names of the answer's limit, of which the first
    is used, and of sampling.
    """

    ask: Ask
    rung: str
    optional: tuple[str, ...] = ()


class Reply(NamedTuple):
    """A model's answer.

    Attributes:
        text: Its words, normally JSON.
        usage: Tokens by kind (input, output, cached); None if the endpoint reports none.
        outcome: OK, or REFUSAL, CONTENT_FILTER or TRUNCATED as reported by the endpoint.
        detail: The endpoint's explanation.
    """

    text: str
    usage: Mapping[str, int] | None
    outcome: Outcome = Outcome.OK
    detail: str = ""


class CallFailed(Exception):
    """A call without an answer. Never leaves the compressors.

    Attributes:
        outcome: The kind of failure.
        detail: The message of the endpoint or the SDK.
        status: The HTTP status, or 0.
        headers: The response's headers, names in lower case.
        retry: Whether the same request may succeed a moment later.
        said: The model's output, if the endpoint reports that its answer is unusable.
    """

    def __init__(
        self,
        outcome: Outcome,
        detail: str,
        *,
        status: int = 0,
        headers: Mapping[str, str] | None = None,
        retry: bool | None = None,
        said: str = "",
    ) -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.detail = detail
        self.status = status
        self.said = said
        self.headers = {k.lower(): v for k, v in (headers or {}).items()}
        self.retry = outcome in WORTH_RETRYING if retry is None else retry


class Endpoint(Protocol):
    """A model that can be asked."""

    @property
    def model(self) -> str:
        """The model's name, for the record."""
        ...

    @property
    def retries_itself(self) -> bool:
        """Whether the underlying client retries failed calls. If so, nothing else retries."""
        ...

    def steps(self, ask: Ask) -> Generator[Call, Reply, Reply]:
        """Yield the calls that lead to a reply; receives each call's `Reply` or `CallFailed`."""
        ...

    def send(self, call: Call, seconds: float) -> Reply:
        """Make a call.

        Args:
            call: The call.
            seconds: How long it may wait for the next byte.

        Raises:
            CallFailed: There is no answer.
            ConfigurationError: No call can succeed with this configuration.
        """
        ...

    async def asend(self, call: Call, seconds: float) -> Reply:
        """Asynchronous `send`."""
        ...


@dataclass
class Ledger:
    """The calls and tokens of one compression in progress.

    ``unmetered`` counts answers without usage; ``left_out`` holds the characters of each source, by ref, that
    the model does not read.
    """

    calls: list[Outcome] = field(default_factory=list)
    usage: Counter[str] = field(default_factory=Counter)
    unmetered: int = 0
    rung: str = ""
    left_out: dict[str, int] = field(default_factory=dict)

    def answered(self, reply: Reply) -> Reply:
        """Count a reply."""
        self.calls.append(reply.outcome)
        self.unmetered += reply.usage is None
        self.usage.update(reply.usage or {})
        return reply

    def failed(self, failure: CallFailed) -> None:
        """Count a call without a reply. If the model answered, the call is paid but its usage is unknown."""
        self.calls.append(failure.outcome)
        self.unmetered += failure.outcome in WORTH_REPAIRING

    def judged(self, outcome: Outcome) -> None:
        """Replace the outcome of the last reply, which turned out to be unusable."""
        self.calls[-1] = outcome

    def account(self, outcome: Outcome, *, model: str, prompt: str) -> Account:
        """Return the account of the compression."""
        return Account(
            outcome=outcome, calls=tuple(self.calls), unmetered=self.unmetered, model=model,
            prompt=prompt, rung=self.rung, left_out=self.left_out,
        )  # fmt: skip


FIRST_WAIT, LONGEST_WAIT = 0.5, 8.0
"""Seconds before the second attempt; doubles up to the longest. A wait requested by the server wins."""


@dataclass(frozen=True)
class Retries:
    """How often and after how long a failed call is retried.

    A wait requested by the server (``Retry-After`` in seconds or as a date, or ``retry-after-ms``) is
    honored. If it ends after the deadline, the attempts end at once.

    Attributes:
        attempts: Maximum number of calls, including the first.
        clock: Measures durations and provides the current time.
        sleep: Waits, in seconds.
        asleep: Waits asynchronously.
        jitter: Returns a number from 0 to 1. Waits not requested by the server grow by a quarter of it.
    """

    attempts: int = 3
    clock: Clock = field(default_factory=SystemClock)
    sleep: Callable[[float], None] = time.sleep
    asleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random

    def call(self, send: Callable[[], Reply], until: float, attempts: int = 0) -> Reply:
        """Call ``send`` until it answers; no attempt begins after the clock time ``until``.

        ``attempts`` overrides ``self.attempts`` if not 0.

        Raises:
            CallFailed: The last attempt failed.
        """
        from tenacity import Retrying

        return Retrying(sleep=self.sleep, **self._rules(until, attempts))(send)

    async def acall(
        self, send: Callable[[], Awaitable[Reply]], until: float, attempts: int = 0
    ) -> Reply:
        """Asynchronous `call`."""
        from tenacity import AsyncRetrying

        return await AsyncRetrying(sleep=self.asleep, **self._rules(until, attempts))(send)

    def _rules(self, until: float, attempts: int) -> dict[str, Any]:
        most = attempts or self.attempts

        def is_over(state: Any) -> bool:
            ends = self.clock.seconds() + state.upcoming_sleep
            return bool(state.attempt_number >= most or ends >= until)

        return {
            "retry": _may_retry, "wait": self._wait, "stop": is_over, "reraise": True,
            "before_sleep": _tell_retry,
        }  # fmt: skip

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


def _tell_retry(state: Any) -> None:
    log_event(
        _LOG, logging.INFO, "model_retry", "a call of a model failed and is made again",
        outcome=state.outcome.exception().outcome, attempt=state.attempt_number,
        wait=round(state.upcoming_sleep, 2),
    )  # fmt: skip


def _may_retry(state: Any) -> bool:
    error = state.outcome.exception()
    return isinstance(error, CallFailed) and error.retry


def asked_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the wait in seconds that a server's headers request (names in lower case), or None."""
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
    except (ValueError, TypeError, OverflowError):  # the header may contain anything
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max(0.0, (at - now).total_seconds())


T = TypeVar("T")

LATER = 1.0
"""Seconds between the deadline and a socket's own time-out, so the deadline always ends the call first."""


class _Abandoned(SystemExit):
    """Ends the thread of a call that nobody waits for any more; `threading` reports no SystemExit."""


class _CallThread(Generic[T]):
    """Runs a call on its own thread, with the caller's context.

    Attributes:
        result: The call's result or error.
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self.result: Future[T] = Future()
        self.result.set_running_or_notify_cancel()  # a cancellation then leaves the future to the thread
        self._call = call
        self._is_over = False
        self._guard = Lock()
        context = copy_context()
        self._thread = Thread(
            target=context.run, args=(self._run,), daemon=True, name="acc-model-call"
        )
        self._thread.start()

    def abandon(self) -> None:
        """End the call, which closes its connection, at its next Python instruction.

        A server that sends byte by byte would keep it for ever: each byte restarts the socket's time-out. A
        call that waits in the socket ends with the next byte, or with that time-out.
        """
        with self._guard:  # a thread that is over may have left its id to another one
            if not (self._is_over or self.result.done()):
                ident = ctypes.c_ulong(self._thread.ident or 0)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(_Abandoned))

    def _run(self) -> None:
        try:
            result = self._call()
        except BaseException as error:
            self.result.set_exception(error)
        else:
            self.result.set_result(result)
        finally:
            with self._guard:
                self._is_over = True


def within(seconds: float, call: Callable[[], T]) -> T:
    """Run ``call`` on its own thread, with the caller's context, and return its result.

    Raises:
        CallFailed: The time is up (`Outcome.DEADLINE`); the call is abandoned.
    """
    running = _CallThread(call)
    try:
        return running.result.result(max(0.0, seconds))
    except TimeoutError:
        if running.result.done():  # the call ended just now, or raised a TimeoutError itself
            return running.result.result()
        raise up() from None
    finally:
        running.abandon()


async def in_thread(call: Callable[[], T]) -> T:
    """Run ``call`` on its own thread and await its result; a cancellation abandons the call."""
    running = _CallThread(call)
    try:
        return await asyncio.wrap_future(running.result)
    finally:
        running.abandon()


async def awithin(seconds: float, call: Callable[[], Awaitable[T]]) -> T:
    """Asynchronous `within`; it cancels an abandoned call."""
    try:
        async with asyncio.timeout(max(0.0, seconds)) as scope:
            return await call()
    except TimeoutError:
        if not scope.expired():
            raise
        raise up() from None


def up() -> CallFailed:
    """Return the failure of a compression past its deadline."""
    return CallFailed(Outcome.DEADLINE, "the time for the compression is up")
