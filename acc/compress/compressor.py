"""Compressors and judges that ask a model, and the compressor that ACC has for one.

A step is a generator. It yields a `Call` wherever it needs a model, and gets a `Completion` back. A synchronous and an
asynchronous driver of a few lines execute the calls (`acc.driving`), so that everything else is written once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from acc.compress.prompt import VERSION, prompt, repair
from acc.driving import Io
from acc.errors import CompressionError, ConfigurationError
from acc.models.endpoints import as_model
from acc.models.protocol import AnswerError, ChatModel, Completion, PromptMessage, object_in
from acc.state.proposal import Mode, Proposal, read, wire_schema
from acc.state.reading import Claim, Compressor, Judgement, Reading
from acc.state.reasons import Note
from acc.turn.observations import SPEECH

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


Asking = Generator[Call | Io, Any, T]
"""A computation that asks a model, or reads, on its way to a ``T``."""


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


Prompt = Callable[[Reading, Mode, str], tuple[PromptMessage, PromptMessage]]

_FORM = """\
This is no answer: {problem}. Reply with the one JSON object and nothing else."""


class ModelCompressor:
    """Asks a model what changes.

    An answer that is no JSON object gets one repair. An answer whose quotes commit refuses gets another, by the step.

    Attributes:
        mode: ``revise``, or ``rewrite`` as the paper's compressor.
        version: The prompt's version, with a hash of ``guidance`` if there is any.
    """

    def __init__(
        self,
        model: Any,
        *,
        mode: Mode = "revise",
        guidance: str = "",
        prompt: Prompt = prompt,
    ) -> None:
        """Create a compressor.

        Args:
            model: A model or how to reach one (`acc.models.endpoints.as_model`).
            mode: How the model writes.
            guidance: The deployer's additional instructions, in the system message.
            prompt: Makes the messages of a request; by default ACC's own prompt.

        Raises:
            ConfigurationError: The model cannot be reached with this configuration.
        """
        self.model = as_model(model)
        self.mode: Mode = mode
        self._guidance = guidance.strip()
        self._prompt = prompt
        mark = hashlib.sha256(self._guidance.encode()).hexdigest()[:8] if self._guidance else ""
        self.version = f"acc/{VERSION}" + (f"+{mark}" if mark else "")

    def proposing(self, reading: Reading) -> Asking[Proposal]:
        """Return the proposal (`AskingCompressor`)."""
        messages = self._prompt(reading, self.mode, self._guidance)
        return (yield from self._asked(reading, messages, "compress"))

    def repairing(self, reading: Reading, notes: Sequence[Note]) -> Asking[Proposal]:
        """Ask once more for what commit refused for its form (`AskingCompressor`).

        The request holds what people and the agent said: quotes come from nowhere else.
        """
        speech = tuple(m for m in reading.messages if m.channel in SPEECH)
        reading = replace(reading, messages=speech, evidence=())
        stable, shown = self._prompt(reading, self.mode, self._guidance)
        asked = PromptMessage("user", f"{shown.content}\n\n{repair(notes)}")
        return (yield from self._asked(reading, (stable, asked), "repair"))

    def schema(self, reading: Reading) -> dict[str, Any]:
        """Return the JSON Schema of an answer."""
        return wire_schema(reading.policy.schema)

    def read(self, found: Mapping[str, Any], reading: Reading) -> Proposal:
        """Return the proposal in an answer's JSON object."""
        return read(found, reading.policy.schema, mode=self.mode)

    def _asked(
        self, reading: Reading, messages: tuple[PromptMessage, ...], purpose: Purpose
    ) -> Asking[Proposal]:
        schema = self.schema(reading)
        problem = ""
        for _ in range(2):
            done = yield Call(self.model, purpose, messages, schema)
            try:
                found = object_in(done.text, schema["properties"])
            except AnswerError as error:
                problem = str(error)
            else:
                if not done.cut_off:
                    return self.read(found, reading)
                problem = "it ends in the middle"
            again = PromptMessage("user", _FORM.format(problem=problem))
            messages = (*messages, PromptMessage("assistant", done.text), again)
        raise CompressionError(
            f"the model's answer cannot be read: {problem}",
            where=self.model.name,
            hint="use a model that follows a JSON Schema, or allow longer answers",
            outcome="unreadable",
        )


def as_compressor(given: Any) -> Compressor | AskingCompressor:
    """Return the compressor that ``given`` stands for.

    Args:
        given: A compressor: an object with `proposing` and `repairing` (`AskingCompressor`), or a function of a
            `Reading` that returns a `Proposal`. Or a model or how to reach one (`acc.models.endpoints.as_model`), which
            is asked with ACC's own prompt.

    Raises:
        ConfigurationError: It stands for none. The hint lists the forms.
    """
    if isinstance(given, AskingCompressor):
        return given
    is_model = hasattr(given, "complete")
    if callable(given) and not is_model and not isinstance(given, type):
        compressor: Compressor = given
        return compressor
    return ModelCompressor(given)
