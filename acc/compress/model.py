"""Compresses with a language model behind any `Endpoint`.

`ModelCompressor` asks an `Endpoint`, judges the reply, asks once more with the fault, and gives up at a
deadline with a named outcome. Then the controller's fallback takes over. `acc.compress.compression` builds
the requests and evaluates the replies. This module has the loops that make the calls, one sync and one async.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Self, TypedDict, TypeVar, Unpack, get_args

from acc.compress.compression import Compression, is_idle
from acc.compress.endpoint import (
    LATER,
    Call,
    CallFailed,
    Endpoint,
    Ledger,
    Reply,
    Retries,
    awithin,
    up,
    within,
)
from acc.compress.prompt import CompressorPrompt, Prompt, Reading
from acc.compress.protocol import Compressor, Price
from acc.errors import ConfigurationError
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Account, Mode, Outcome, Proposal
from acc.turn.observations import Evidence
from acc.turn.turn import Turn

LEAST_OUTPUT = 1_024
"""Tokens of an answer for a schema full of empty lists, plus some reasoning."""

OUTPUT_OF = {"revise": 2, "rewrite": 4}
"""Tokens of an answer per token of the state's limit: ids, cites, quotes and field names are not rendered."""


class ModelOptions(TypedDict, total=False):
    """The fields of `ModelSettings` as keyword arguments, for editors and type checkers."""

    mode: Mode
    guidance: str
    prompt: Prompt | None
    price: Price | None
    skip_idle: bool
    strict: bool
    deadline: float
    timeout: float
    max_output_tokens: int | None
    input_chars: int
    retries: Retries


@dataclass(frozen=True)
class ModelSettings:
    """How to ask a model for a compression.

    Attributes:
        mode: ``revise`` (only changes) or ``rewrite`` (the whole next state).
        guidance: The deployer's additional instructions, in the stable part of the prompt.
        prompt: A callable of a `Reading` that replaces the whole prompt.
        price: Token prices; None counts no money.
        skip_idle: Whether turns with only courtesies skip the model (`acc.compress.compression`).
        strict: Whether to request strict structured output, which OpenAI enforces token by token. The model then
            writes every list and field, empty ones too. Otherwise it may leave them out, and writes less; most
            other servers enforce that schema as well.
        deadline: Seconds for the whole compression: calls, waits, retries and the repair.
        timeout: Seconds that one call may wait for the next byte.
        max_output_tokens: Limit of an answer; the default derives from the state's limit (`output_bound`). A
            model with long reasoning needs more.
        input_chars: Maximum characters of turn, evidence and unread sources that the model reads.
        retries: Retry policy; also holds the clock.

    Raises:
        ConfigurationError: A value is invalid.
    """

    mode: Mode = "revise"
    guidance: str = ""
    prompt: Prompt | None = None
    price: Price | None = None
    skip_idle: bool = False
    strict: bool = False
    deadline: float = 120.0
    timeout: float = 60.0
    max_output_tokens: int | None = None
    input_chars: int = 24_000
    retries: Retries = field(default_factory=Retries)

    def __post_init__(self) -> None:
        wrong = {
            f"mode {self.mode!r}": self.mode not in get_args(Mode),
            f"a deadline of {self.deadline!r}": not _is_time(self.deadline),
            f"a timeout of {self.timeout!r}": not _is_time(self.timeout),
            f"an output of {self.max_output_tokens!r}": self.max_output_tokens is not None
            and not _is_count(self.max_output_tokens),
            f"an input of {self.input_chars!r}": not _is_count(self.input_chars),
            f"the guidance {self.guidance!r}": not isinstance(self.guidance, str),
            "guidance beside a prompt of your own": bool(self.guidance and self.prompt),
            "a prompt that cannot be called": not (self.prompt is None or callable(self.prompt)),
            f"the price {self.price!r}": not isinstance(self.price, Price | None),
            f"the retries {self.retries!r}": not isinstance(self.retries, Retries),
            f"skip_idle {self.skip_idle!r}": not isinstance(self.skip_idle, bool),
            f"strict {self.strict!r}": not isinstance(self.strict, bool),
        }
        if said := [what for what, is_wrong in wrong.items() if is_wrong]:
            raise ConfigurationError(
                f"the model cannot be asked with {said[0]}",
                where="ModelSettings",
                hint='use mode "revise" or "rewrite", positive numbers, Price(...), Retries(...), '
                "and either guidance or a prompt",
            )

    @classmethod
    def of(cls, changed: Mapping[str, Any]) -> Self:
        """Return settings with ``changed`` values, by name, and defaults for the rest.

        Raises:
            ConfigurationError: A setting is unknown or its value is invalid.
        """
        if unknown := set(changed) - set(ModelOptions.__annotations__):
            raise ConfigurationError(
                f"no setting is named {', '.join(sorted(map(repr, unknown)))}",
                where="ModelSettings",
                hint=f"known settings: {', '.join(ModelOptions.__annotations__)}; "
                "pass other arguments of a request as request={...} to OpenAICompressor",
            )
        return cls(**changed)


LONGEST_WAIT = 86_400.0
"""Maximum deadline or time-out in seconds: one day."""


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and 0 < value <= LONGEST_WAIT


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def output_bound(policy: Policy, mode: Mode) -> int:
    """Return the maximum tokens of an answer under ``policy``."""
    return OUTPUT_OF[mode] * policy.max_tokens + LEAST_OUTPUT


class ModelCompressor:
    """Proposes by asking a model; a `Compressor`, sync and async.

    Attributes:
        endpoint: The model.
        settings: How it asks.
        price: Token prices.
    """

    def __init__(self, endpoint: Endpoint, **options: Unpack[ModelOptions]) -> None:
        """Create a compressor.

        Args:
            endpoint: The model.
            options: Fields of `ModelSettings`.

        Raises:
            ConfigurationError: A setting is unknown or its value is invalid.
        """
        self.endpoint = endpoint
        self.settings = ModelSettings.of(options)
        self.price = self.settings.price
        self._prompt = self.settings.prompt or CompressorPrompt(self.settings.guidance)
        self._policy: Policy | None = None

    @property
    def name(self) -> str:
        """Author of its proposals: the model's name."""
        return self.endpoint.model

    def under(self, policy: Policy) -> Self:
        """Return a copy that knows the limits that commit applies to its proposals."""
        bound = copy(self)
        bound._policy = policy
        return bound

    def guided(self, guidance: str) -> Self:
        """Return a copy with further instructions; with a prompt of its own, the same compressor."""
        if not isinstance(self._prompt, CompressorPrompt) or not guidance.strip():
            return self
        bound = copy(self)
        bound._prompt = CompressorPrompt("\n".join((self._prompt.guidance, guidance)))
        return bound

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        """Ask for a proposal.

        Raises:
            CompressionError: No usable proposal came out; carries the outcome and the usage.
            ConfigurationError: The key, the model or the address cannot work.
        """
        return self._begin(turn, state, evidence).finish()

    async def acompress(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        """Asynchronous `__call__`."""
        return await self._begin(turn, state, evidence).afinish()

    def _begin(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Run[Proposal]:
        settings = self.settings
        patience = Patience(settings.deadline, settings.timeout, settings.retries)
        if settings.skip_idle and is_idle(turn):
            skipped = Account(outcome=Outcome.SKIPPED, model=self.name)
            steps = _at_once(Proposal(author=self.name, account=skipped))
            return Run(self.endpoint, steps, Ledger(), patience)
        policy = self._policy or Policy(schema=type(state))
        reading = Reading(turn, state, tuple(evidence), policy, settings.mode)
        limit = settings.max_output_tokens or output_bound(policy, settings.mode)
        limits = limit, settings.input_chars
        work = Compression(self.endpoint, reading, self._prompt, limits, settings.strict)
        return Run(self.endpoint, work.steps(), work.ledger, patience)


@dataclass(frozen=True)
class Patience:
    """How long to wait for a model.

    Attributes:
        deadline: Seconds for an answer, including retries.
        timeout: Seconds that one call may wait for the next byte.
        retries: Retry policy; also holds the clock.
    """

    deadline: float = 300.0
    timeout: float = 120.0
    retries: Retries = field(default_factory=Retries)


R = TypeVar("R")


class Run(Generic[R]):
    """Makes the calls that ``steps`` yields, with retries and under a deadline, and counts them in a ledger."""

    def __init__(
        self, endpoint: Endpoint, steps: Generator[Call, Reply, R], ledger: Ledger, wait: Patience
    ) -> None:
        self._endpoint = endpoint
        self._steps = steps
        self._ledger = ledger
        self._timeout = wait.timeout
        self._retries = wait.retries
        self._until = wait.retries.clock.seconds() + wait.deadline
        self._attempts = 1 if endpoint.retries_itself else 0
        self._result: R

    def finish(self) -> R:
        """Make all calls and return the result of the steps."""
        call = self._advance(None)
        while call is not None:
            answer: Reply | CallFailed | ConfigurationError
            try:
                answer = self._retries.call(
                    partial(self._attempt, call), self._until, self._attempts
                )
            except (CallFailed, ConfigurationError) as failure:
                answer = failure
            call = self._advance(answer)
        return self._result

    async def afinish(self) -> R:
        """Asynchronous `finish`."""
        call = self._advance(None)
        while call is not None:
            answer: Reply | CallFailed | ConfigurationError
            try:
                answer = await self._retries.acall(
                    partial(self._aattempt, call), self._until, self._attempts
                )
            except (CallFailed, ConfigurationError) as failure:
                answer = failure
            call = self._advance(answer)
        return self._result

    def _advance(self, answer: Reply | CallFailed | ConfigurationError | None) -> Call | None:
        """Return the next call; None at the end, when the result is set."""
        try:
            if answer is None:
                return next(self._steps)
            if isinstance(answer, CallFailed | ConfigurationError):
                return self._steps.throw(answer)
            return self._steps.send(answer)
        except StopIteration as end:
            self._result = end.value
            return None

    def _attempt(self, call: Call) -> Reply:
        with self._counted(call) as left:
            made = partial(self._endpoint.send, call, self._wait(left))
            return self._ledger.answered(within(left, made))

    async def _aattempt(self, call: Call) -> Reply:
        with self._counted(call) as left:
            made = partial(self._endpoint.asend, call, self._wait(left))
            return self._ledger.answered(await awithin(left, made))

    @contextmanager
    def _counted(self, call: Call) -> Iterator[float]:
        """Yield the remaining seconds; count a call that fails."""
        self._ledger.rung = call.rung
        try:
            left = self._until - self._retries.clock.seconds()
            if left <= 0:
                raise up()
            yield left
        except CallFailed as failure:
            self._ledger.failed(failure)
            raise

    def _wait(self, left: float) -> float:
        return self._timeout if self._timeout < left else left + LATER


def _at_once(proposal: Proposal) -> Generator[Call, Reply, Proposal]:
    return proposal
    yield


def chosen(compressor: Compressor | None, model: Any) -> Compressor | None:
    """Return the compressor, or one that asks ``model``; None for the keyless rules.

    Raises:
        ConfigurationError: Both are set, or the model cannot be asked.
    """
    if model is None:
        return compressor
    if compressor is not None:
        raise ConfigurationError(
            "both a compressor and a model are set",
            where="compressor, model",
            hint="set one of them; as_compressor(model, ...) makes a compressor from a model",
        )
    return as_compressor(model)


def as_compressor(model: Any, **options: Unpack[ModelOptions]) -> Compressor:
    """Return a compressor that asks ``model``.

    Args:
        model: A name: ``openai:NAME`` or NAME, at OPENAI_BASE_URL with OPENAI_API_KEY;
            ``PROVIDER:NAME`` through LangChain. Or a LangChain chat model. Or OpenAI clients and
            a name, as ``(client, "name")`` or ``(client, async_client, "name")``.
        options: Fields of `ModelSettings`.

    Raises:
        ConfigurationError: ``model`` is none of these, or a key or package is missing.
    """
    from acc.compress.langchain import LangChainCompressor, is_chat_model

    if isinstance(model, ModelCompressor) and not options:
        return model
    if isinstance(model, str) and model:
        provider, colon, name = model.partition(":")
        if colon and provider != "openai":
            return LangChainCompressor(model, **options)
        from acc.compress.openai import OpenAICompressor

        compressor = OpenAICompressor(name if colon else model, **options)
        compressor.endpoint.ready()
        return compressor
    if isinstance(model, tuple) and 2 <= len(model) <= 3 and isinstance(model[-1], str):
        from acc.compress.openai import OpenAICompressor

        clients = dict(zip(("client", "async_client"), model[:-1], strict=False))
        return OpenAICompressor(model[-1], **clients, **options)
    if is_chat_model(model):
        return LangChainCompressor(model, **options)
    raise ConfigurationError(
        f"the model is {type(model).__name__}, which is not supported",
        where="model",
        hint='pass "gpt-x", "openai:gpt-x", "anthropic:claude-x", a LangChain chat model or (client, "gpt-x")',
    )
