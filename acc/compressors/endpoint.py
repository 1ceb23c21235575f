"""What stands between a compressor and a vendor's SDK: what is asked, and what comes back.

An endpoint does no loop of its own. `Endpoint.steps` is a generator that yields the calls to
make; whoever drives it makes each with `Endpoint.send` or awaits `Endpoint.asend`, so that
retries, deadlines and the choice of sync or async are outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from acc.compressors.outcomes import WORTH_REPAIRING, WORTH_RETRYING, Account, Outcome


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
        rung: How it is held to the schema (`acc.compressors.ladder.Rung`).
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
