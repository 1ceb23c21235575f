"""A compressor and a judge that ask a model, and how a step asks without knowing of threads or event loops.

A step is a generator. It yields a `Call` wherever it needs a model, and gets a `Completion` back. A synchronous and an
asynchronous driver of a few lines execute the calls (`acc.driving`), so that everything else is written once.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from acc.errors import CompressionError, ConfigurationError
from acc.models.protocol import ChatModel, Completion, PromptMessage
from acc.state.proposal import Mode, Proposal
from acc.state.reading import Claim, Judgement, Reading
from acc.state.reasons import Note

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


@runtime_checkable
class AskingJudge(Protocol):
    """A second reading that asks a model."""

    def judging(self, claims: Sequence[Claim]) -> Asking[Sequence[Judgement]]:
        """Return a judgement for each claim. Without an answer there is none, and the rule stays."""
        ...
