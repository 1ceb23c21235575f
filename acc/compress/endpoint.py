"""The one retry layer around a model: the SDK's own is switched off, so that they do not multiply."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Thread
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from acc.clock import Clock, SystemClock
from acc.state.proposal import WORTH_REPAIRING, WORTH_RETRYING, Account, Outcome


class Message(NamedTuple):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    text: str


class Ask(NamedTuple):
    """What a model is asked.

    Attributes:
        messages: The prompt; the first is the stable part.
        schema: JSON Schema of the answer.
        limit: Tokens of the answer at the most.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    limit: int


class Call(NamedTuple):
    """One request to an endpoint.

    Attributes:
        ask: What the model is asked.
        rung: How it is held to the schema (`acc.compress.openai_calls.Rung`).
        room: Name of the parameter that bounds the answer; endpoints have two.
    """

    ask: Ask
    rung: str
    room: str = ""


class Reply(NamedTuple):
    """What a model answered.

    Attributes:
        text: Its words: JSON, if all is well.
        usage: Tokens by kind (input, output, cached); None where the endpoint does not say.
        outcome: OK, or REFUSAL, CONTENT_FILTER, TRUNCATED as the endpoint says.
        detail: What it says about that.
    """

    text: str
    usage: Mapping[str, int] | None
    outcome: Outcome = Outcome.OK
    detail: str = ""


class CallFailed(Exception):
    """A call that brought no answer. Never leaves the compressors.

    Attributes:
        outcome: Its name.
        detail: What the endpoint or the SDK says.
        status: The HTTP status, or 0.
        headers: The response's headers, in lower case.
        retry: Whether the same request may fare better a moment later.
        said: What the model wrote, where the endpoint reports that its answer is of no use.
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
        """Whether what stands behind it repeats failed calls already: then nobody else does."""
        ...

    def steps(self, ask: Ask) -> Generator[Call, Reply, Reply]:
        """The calls that lead to a reply: sent each call's `Reply`, or thrown its `CallFailed`."""
        ...

    def send(self, call: Call, seconds: float) -> Reply:
        """Make a call; ``seconds`` is how long it may wait for the next byte.

        Raises:
            CallFailed: No answer.
            ConfigurationError: There never will be one as things are set up.
        """
        ...

    async def asend(self, call: Call, seconds: float) -> Reply:
        """As `send`."""
        ...


@dataclass
class Ledger:
    """What is spent on one compression while it is under way.

    Attributes:
        calls: The outcome of each call.
        usage: Tokens by kind.
        unmetered: Answers without usage.
        rung: That of the last call.
        left_out: Characters of each source that the model does not read.
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
        """Count a call without a reply; one that the model answered is paid, and nobody says what."""
        self.calls.append(failure.outcome)
        self.unmetered += failure.outcome in WORTH_REPAIRING

    def judged(self, outcome: Outcome) -> None:
        """The last reply turned out to be of no use."""
        self.calls[-1] = outcome

    def account(self, outcome: Outcome, *, model: str, prompt: str) -> Account:
        """The account of the whole."""
        return Account(
            outcome=outcome, calls=tuple(self.calls), unmetered=self.unmetered, model=model,
            prompt=prompt, rung=self.rung, left_out=self.left_out,
        )  # fmt: skip


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
