"""What a compressor and a judge are, and how a step asks a model without knowing of threads or event loops.

A step is a generator. It yields a `Call` wherever it needs a model, and gets a `Completion` back. A synchronous and an
asynchronous driver of a few lines execute the calls (`acc.driving`), so that everything else is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from acc.commit.endings import Judgement
from acc.errors import CompressionError, ConfigurationError
from acc.models.protocol import ChatModel, Completion, PromptMessage
from acc.state.items import Pinned
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Mode, Proposal
from acc.state.reasons import Note
from acc.state.tail import Message
from acc.turn.observations import Evidence

Purpose = Literal["compress", "repair", "judge"]
T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """A request to a model that a step waits for."""

    model: ChatModel
    purpose: Purpose
    messages: tuple[PromptMessage, ...]
    schema: Mapping[str, Any]

    def complete(self) -> Completion:
        """Ask the model.

        Raises:
            CompressionError: It failed, however it says so: a model may be anybody's class.
        """
        with named_failure("model"):
            return _completion(self.model.complete(self.messages, self.schema))

    async def acomplete(self) -> Completion:
        """Ask the model without blocking the event loop; else as `complete`."""
        with named_failure("model"):
            return _completion(await self.model.acomplete(self.messages, self.schema))


@contextmanager
def named_failure(what: str) -> Iterator[None]:
    """Raise a `CompressionError` for whatever a compressor, judge or model raises, which may be anybody's."""
    try:
        yield
    except (CompressionError, ConfigurationError):
        raise
    except Exception as error:
        said = f"the {what} failed: {type(error).__name__}: {error}"
        raise CompressionError(said[:500], outcome="raised") from error


def _completion(answer: object) -> Completion:
    if isinstance(answer, Completion):
        return answer
    raise CompressionError(
        f"the model answered with {type(answer).__name__}",
        where="complete",
        hint="return an acc.models.protocol.Completion",
        outcome="malformed",
    )


Asking = Generator[Call, Completion, T]
"""A computation that asks a model on its way to a ``T``."""


@dataclass(frozen=True)
class Reading:
    """The input of a compressor.

    Attributes:
        messages: The messages to read, oldest first. Those of status ``"read"`` are in the state already.
        state: CCS_t-1.
        evidence: What the gate admitted.
        policy: Schema and bounds.
        number: Number of the turn.
        at: When the turn happened, in ISO 8601; empty if unknown.
    """

    messages: tuple[Message, ...]
    state: CompressedCognitiveState
    evidence: tuple[Evidence, ...]
    policy: Policy
    number: int
    at: str = ""


Compressor = Callable[[Reading], Proposal]
"""Reads, and proposes what changes. Whatever it raises is a failed compression: the tail carries the agent (law 9)."""


@runtime_checkable
class AskingCompressor(Protocol):
    """A compressor that asks a model.

    Attributes:
        mode: ``revise``: it writes what changes. ``rewrite``: it writes all records again, as the paper's does.
    """

    mode: Mode

    def proposing(self, reading: Reading) -> Asking[Proposal]:
        """Return the proposal."""
        ...

    def repairing(self, reading: Reading, notes: Sequence[Note]) -> Asking[Proposal]:
        """Ask once more for what commit refused for its form. The proposal holds only the corrections."""
        ...


@dataclass(frozen=True)
class Claim:
    """A claim that a rule ended, as a second reading gets it.

    Attributes:
        item: The rule with later words and ending.
        messages: The message that holds the words in question, with the agent's message before it, as far as the
            step has their texts.
        today: When the turn happens, in ISO 8601; empty if unknown.
    """

    item: Pinned
    messages: tuple[Message, ...] = ()
    today: str = ""


Judge = Callable[[Sequence[Claim]], Sequence[Judgement]]
"""A second reading without a model. It returns a judgement for each claim that it can decide."""


@runtime_checkable
class AskingJudge(Protocol):
    """A second reading that asks a model."""

    def judging(self, claims: Sequence[Claim]) -> Asking[Sequence[Judgement]]:
        """Return a judgement for each claim. Without an answer there is none, and the rule stays."""
        ...
