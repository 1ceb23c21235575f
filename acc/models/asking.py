"""How a model is asked: one generator decides each request and wait, two short loops act."""

from __future__ import annotations

import asyncio
import json
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator
from dataclasses import replace
from itertools import count
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from acc.clock import Clock, SystemClock
from acc.errors import ConfigurationError
from acc.models.failures import Failure, ReplyFailed, error_of, failure_of
from acc.models.protocol import Completion, Messages, Price, Schema, Usage

Format: TypeAlias = Literal["strict", "json_schema", "json_object", "text"]
"""How the endpoint learns the schema. It enforces the first two; in the last two the prompt states it."""

FORMATS: tuple[Format, ...] = get_args(Format)

FIRST_WAIT, LONGEST_WAIT = 0.5, 8.0


class Call(NamedTuple):
    """One request; ``seconds`` is how long it may wait for bytes."""

    messages: Messages
    schema: Schema
    format: Format
    max_tokens: int | None
    seconds: float = 0.0

    @property
    def response_format(self) -> dict[str, Any]:
        """The argument of OpenAI's API that asks for the format; empty for text."""
        if self.schema is None or self.format == "text":
            return {}
        if self.format == "json_object":
            return {"response_format": {"type": "json_object"}}
        named = {"name": "answer", "strict": self.format == "strict", "schema": self.schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}

    @property
    def prompt(self) -> list[dict[str, str]]:
        """The messages, with the schema in the system message where the format needs it there."""
        # UTF-8 cannot carry the halves of surrogate pairs
        said = [(m.role, m.content.encode("utf-8", "replace").decode()) for m in self.messages]
        if self.schema is not None and self.format in ("json_object", "text"):
            role, system = said.pop(0) if said and said[0][0] == "system" else ("system", "")
            fields = ", ".join(f'"{name}"' for name in self.schema.get("properties", ()))
            asked = (
                f"Answer with nothing but one JSON object with the fields {fields}. "
                f"Its JSON Schema: {json.dumps(self.schema, ensure_ascii=False)}"
            )
            said.insert(0, (role, f"{system}\n\n{asked}".strip()))
        return [{"role": role, "content": content} for role, content in said]


class AskedModel(ABC):
    """A `ChatModel` over `send` and `asend`, which make one request each.

    A request that fails for a while is made again: after the time that the endpoint asks for, or else after half
    a second and longer. A format that the endpoint refuses is left for the next one, and the one that worked is
    remembered. No request begins later than ``deadline`` seconds after the first one.
    """

    def __init__(
        self,
        name: str,
        *,
        price: Price | None = None,
        format: Format | None = None,
        timeout: float = 60.0,
        attempts: int = 3,
        deadline: float = 120.0,
        clock: Clock | None = None,
        sleep: Callable[[float], None] = time.sleep,
        asleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if not name or min(timeout, deadline, attempts) <= 0 or format not in (None, *FORMATS):
            raise ConfigurationError(
                f"the model {name!r} cannot be asked with timeout {timeout}, deadline {deadline}, "
                f"attempts {attempts}, format {format!r}",
                hint=f"name a model, give positive numbers, and a format of {', '.join(FORMATS)}",
            )
        self.name, self.price = name, price
        self._timeout, self._attempts, self._deadline = timeout, attempts, deadline
        self._clock, self._sleep, self._asleep = clock or SystemClock(), sleep, asleep
        # Threads share both. A lost update costs one more refused request.
        self._first, self._worked = FORMATS.index(format or "strict"), set[Format]()

    @property
    def where(self) -> str:
        """The model and its address, for errors."""
        return self.name

    @property
    def secret(self) -> str | None:
        """The key, which no error may show."""
        return None

    @abstractmethod
    def send(self, call: Call) -> Completion:
        """Make one request. Any exception means that it failed."""

    @abstractmethod
    async def asend(self, call: Call) -> Completion:
        """Asynchronous `send`."""

    def complete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer (`ChatModel.complete`)."""
        steps = self._steps(messages, schema, max_tokens)
        got: Completion | Exception | None = None
        while not isinstance(step := steps.send(got), Completion):
            try:
                got = self._sleep(step) if isinstance(step, float) else self.send(step)
            except Exception as error:
                got = error
        return step

    async def acomplete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer (`ChatModel.acomplete`)."""
        steps = self._steps(messages, schema, max_tokens)
        got: Completion | Exception | None = None
        while not isinstance(step := steps.send(got), Completion):
            try:
                got = await (self._asleep(step) if isinstance(step, float) else self.asend(step))
            except Exception as error:
                got = error
        return step

    def _steps(
        self, messages: Messages, schema: Schema, max_tokens: int | None
    ) -> Generator[Call | float | Completion, Any, None]:
        """Yield requests and waits in seconds, receive answers and exceptions; the answer is last."""
        until = self._clock.seconds() + self._deadline
        call, failed = Call(messages, schema, self._format_for(schema), max_tokens), 0
        for requests in count(1):
            left = max(0.01, until - self._clock.seconds())
            got = yield call._replace(seconds=min(self._timeout, left))
            if isinstance(got, Completion):
                self._learn(call)
                yield replace(got, usage=replace(got.usage, requests=requests))
            if isinstance(got, ConfigurationError):
                raise got
            failure, failed = failure_of(got, self._clock.now()), failed + 1
            wait = failure.wait
            if wait is None:
                wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0**failed) * random.uniform(0.5, 1.0)
            late = self._clock.seconds() + wait >= until
            if failure.passing and failed < self._attempts and not late:
                yield wait
            elif self._clock.seconds() < until and (below := self._below(call, failure)):
                call, failed = call._replace(format=below), 0
            else:
                usage = replace(getattr(got, "usage", Usage()), requests=requests)
                raise error_of(failure, self.where, self.secret, usage) from got

    def _format_for(self, schema: Schema) -> Format:
        """The first format to ask for. Strict output demands that each property is required."""
        schema = schema or {}
        is_loose = set(schema.get("required", ())) != set(schema.get("properties", ()))
        return FORMATS[max(self._first, int(is_loose))]

    def _below(self, call: Call, failure: Failure) -> Format | None:
        """The next format down, if a refusal may be about this one; None if it is not.

        A format that has worked goes only if the endpoint complains about it, a new one at any bad request.
        """
        unproven = failure.outcome == "bad_request" and call.format not in self._worked
        if not call.response_format or not (failure.names_format or unproven):
            return None
        return FORMATS[FORMATS.index(call.format) + 1]

    def _learn(self, call: Call) -> None:
        if call.schema is not None:
            self._worked.add(call.format)
            if call.format != self._format_for(call.schema):
                self._first = max(self._first, FORMATS.index(call.format))


def judged(text: str, finish: str, refusal: str, usage: Usage, model: str) -> Completion:
    """Return the completion of an answer; raise `ReplyFailed` if the model gave none.

    ``finish`` is the provider's reason why the answer ends.
    """
    cut_off = finish in ("length", "max_tokens")
    if refusal or finish == "refusal":
        raise ReplyFailed("refusal", refusal, usage)
    if finish in ("content_filter", "safety"):
        raise ReplyFailed("content_filter", "the provider's filter withholds the answer", usage)
    if not text.strip() and not cut_off:
        raise ReplyFailed("empty", "the answer has no text", usage)
    return Completion(text, usage, model, cut_off)
