"""An endpoint whose every call is in the log, and is answered from it where it is there."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from acc.compressors.endpoint import Ask, Call, CallFailed, Endpoint, Reply
from acc.compressors.outcomes import Outcome
from acc.evaluation.judge.calls import CallLog, Record
from acc.evaluation.judge.spending import BudgetReached, Spending
from acc.state import canonical_json
from acc.tokens import utf8_quarter


class Place(NamedTuple):
    """Where in an evaluation calls are made.

    Attributes:
        run: Scenario and seed.
        role: ``agent``, ``compressor`` or ``judge``.
        agent: Label of the memory that it is done for; empty for the judge's own.
    """

    run: str
    role: str
    agent: str = ""


class LoggedEndpoint:
    """An `Endpoint` in front of another. Calls of one of them follow one another.

    A call is known by its place, its content, and how many equal ones went before it there.
    Calls that failed are logged where whoever made them survived that (`confirm`): a run that
    is resumed has to meet them again. Others are made anew.

    Attributes:
        stopped: Why the budget refused a call, where it did. A memory survives a compressor
            that fails; whoever runs it has to look here.
    """

    def __init__(self, endpoint: Endpoint, log: CallLog, spending: Spending, place: Place) -> None:
        self._endpoint = endpoint
        self._log = log
        self._spending = spending
        self._place = place
        self._asked: Counter[str] = Counter()
        self._failed: list[tuple[str, Ask, CallFailed]] = []
        self.model = endpoint.model
        self.retries_itself = endpoint.retries_itself
        self.stopped: BudgetReached | None = None

    def steps(self, ask: Ask) -> Generator[Call, Reply, Reply]:
        """The logged reply, or the calls that lead to one.

        Raises:
            CallFailed: There is no answer, now or in the log.
            BudgetReached: It could exceed the budget.
        """
        key = self._key(ask)
        logged = self._log.find(key)
        if logged is not None:
            self._spending.met(self._place.role, logged["usage"])
            return _replayed(logged)
        try:
            with self._spending.reserved(self._place.role, estimate(ask)):
                reply = yield from self._endpoint.steps(ask)
                self._keep(key, ask, reply)
        except BudgetReached as reached:
            self.stopped = reached
            raise
        except CallFailed as failure:
            self._failed.append((key, ask, failure))
            raise
        return reply

    def confirm(self) -> None:
        """Log the failed calls so far: they were survived."""
        for key, ask, failure in self._failed:
            reply = {"failed": str(failure.outcome), "detail": failure.detail}
            self._record(key, ask, reply, {})
        self._failed.clear()

    def send(self, call: Call, seconds: float) -> Reply:
        """Make a call."""
        return self._endpoint.send(call, seconds)

    async def asend(self, call: Call, seconds: float) -> Reply:
        """As `send`."""
        return await self._endpoint.asend(call, seconds)

    def _key(self, ask: Ask) -> str:
        content = [[list(m) for m in ask.messages], dict(ask.schema), ask.limit, self.model]
        content_hash = hashlib.sha256(canonical_json(content).encode("utf-8", "surrogatepass"))
        number = self._asked[content_hash.hexdigest()]
        self._asked[content_hash.hexdigest()] += 1
        where = canonical_json([*self._place, content_hash.hexdigest(), number])
        return hashlib.sha256(where.encode()).hexdigest()

    def _keep(self, key: str, ask: Ask, reply: Reply) -> None:
        usage = reply.usage
        if usage is None:
            usage = {**estimate(ask), "output": utf8_quarter(reply.text)}
        said = {"text": reply.text, "outcome": str(reply.outcome), "detail": reply.detail}
        self._record(key, ask, {**said, "metered": reply.usage is not None}, usage)
        self._spending.spent(self._place.role, usage)
        self._spending.met(self._place.role, usage)

    def _record(self, key: str, ask: Ask, reply: Record, usage: Mapping[str, int]) -> None:
        record = {
            **self._place._asdict(),
            "model": self.model,
            "messages": [message._asdict() for message in ask.messages],
            "limit": ask.limit,
            "reply": reply,
            "usage": dict(usage),
        }
        self._log.add_call(key, record, ask.schema)


def estimate(ask: Ask) -> dict[str, int]:
    """The most that a call can be expected to take."""
    read = sum(utf8_quarter(message.text) for message in ask.messages)
    read += utf8_quarter(canonical_json(dict(ask.schema)))
    return {"input": read + read // 10, "output": ask.limit}


def count_logged(log: CallLog, spending: Spending) -> None:
    """Count what earlier runs of a log have spent."""
    for record in log.calls():
        if "failed" not in record["reply"]:
            spending.spent(record["role"], record["usage"])


def _replayed(record: Mapping[str, Any]) -> Reply:
    reply = record["reply"]
    if "failed" in reply:
        raise CallFailed(Outcome(reply["failed"]), reply["detail"], retry=False)
    outcome = Outcome.OK
    with suppress(ValueError):
        outcome = Outcome(reply["outcome"])
    return Reply(reply["text"], record["usage"], outcome, reply["detail"])
