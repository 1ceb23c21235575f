"""Compressing with a language model, whoever serves it.

`ModelCompressor` asks an `Endpoint`, judges what comes back, asks once more with what is wrong,
and gives up within a deadline with a named outcome: then the controller's fallback takes over.
What is asked and what is made of the answers is in `acc.compressors.compression`; the loops that
make the calls, one sync and one async, are here.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any, Self

from acc.compress import Proposal
from acc.compressors.compression import Compression
from acc.compressors.deadline import LATER, awithin, up, within
from acc.compressors.endpoint import Call, CallFailed, Endpoint, Ledger, Reply
from acc.compressors.idle import is_idle
from acc.compressors.model_settings import ModelSettings, output_bound
from acc.compressors.outcomes import Account, Outcome
from acc.compressors.prompt import CompressorPrompt, Reading
from acc.policy import Policy
from acc.state import CompressedCognitiveState
from acc.turn import Evidence, Turn


class ModelCompressor:
    """Proposes by asking a model; a `Compressor`, sync and async.

    Attributes:
        settings: How it asks.
        price: What its tokens cost.
    """

    def __init__(
        self, endpoint: Endpoint, settings: ModelSettings | None = None, **changed: Any
    ) -> None:
        """Take an endpoint, and settings as a whole or by name.

        Raises:
            ConfigurationError: An unknown setting, or one that makes no sense.
        """
        self.endpoint = endpoint
        self.settings = settings or ModelSettings.of(changed)
        self.price = self.settings.price
        self._prompt = self.settings.prompt or CompressorPrompt(self.settings.guidance)
        self._policy: Policy | None = None

    @property
    def name(self) -> str:
        """Author of its proposals: the model's name."""
        return self.endpoint.model

    def under(self, policy: Policy) -> Self:
        """The same compressor, told of the bounds that commit will hold its proposals to."""
        told = copy(self)
        told._policy = policy
        return told

    def __call__(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        """Ask for a proposal.

        Raises:
            CompressionError: Nothing usable came out; carries the outcome and the usage.
            ConfigurationError: The key, the model or the address cannot work.
        """
        run = self._begin(turn, state, evidence)
        call = run.advance(None)
        while call is not None:
            answer: Reply | CallFailed
            try:
                answer = self.settings.retries.call(
                    partial(run.attempt, call), run.until, run.attempts
                )
            except CallFailed as failure:
                answer = failure
            call = run.advance(answer)
        return run.proposal

    async def acompress(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> Proposal:
        """As calling it."""
        run = self._begin(turn, state, evidence)
        call = run.advance(None)
        while call is not None:
            answer: Reply | CallFailed
            try:
                answer = await self.settings.retries.acall(
                    partial(run.aattempt, call), run.until, run.attempts
                )
            except CallFailed as failure:
                answer = failure
            call = run.advance(answer)
        return run.proposal

    def _begin(
        self, turn: Turn, state: CompressedCognitiveState, evidence: Sequence[Evidence]
    ) -> _Run:
        settings = self.settings
        if settings.skip_idle and is_idle(turn):
            skipped = Account(outcome=Outcome.SKIPPED, model=self.name)
            return _Run(self, _at_once(Proposal(author=self.name, account=skipped)), Ledger())
        policy = self._policy or Policy(schema=type(state))
        reading = Reading(turn, state, tuple(evidence), policy, settings.mode)
        limit = settings.max_output_tokens or output_bound(policy, settings.mode)
        work = Compression(self.endpoint, reading, self._prompt, limit, settings.input_chars)
        return _Run(self, work.steps(), work.ledger)


Steps = Generator[Call, Reply, Proposal]


class _Run:
    """A compression under way: its steps, what it spends, and when its time is up."""

    def __init__(self, compressor: ModelCompressor, steps: Steps, ledger: Ledger) -> None:
        settings = compressor.settings
        self._endpoint = compressor.endpoint
        self._steps = steps
        self._ledger = ledger
        self._clock = settings.retries.clock
        self._timeout = settings.timeout
        self.until = self._clock.seconds() + settings.deadline
        self.attempts = 1 if self._endpoint.retries_itself else 0
        self.proposal: Proposal

    def advance(self, answer: Reply | CallFailed | None) -> Call | None:
        """The next call to make; None at the end, when there is a `proposal`."""
        try:
            if answer is None:
                return next(self._steps)
            if isinstance(answer, CallFailed):
                return self._steps.throw(answer)
            return self._steps.send(answer)
        except StopIteration as end:
            self.proposal = end.value
            return None

    def attempt(self, call: Call) -> Reply:
        """Make a call, within what is left of the time."""
        with self._counted(call) as left:
            made = partial(self._endpoint.send, call, self._wait(left))
            return self._ledger.answered(within(left, made))

    async def aattempt(self, call: Call) -> Reply:
        """As `attempt`."""
        with self._counted(call) as left:
            made = partial(self._endpoint.asend, call, self._wait(left))
            return self._ledger.answered(await awithin(left, made))

    @contextmanager
    def _counted(self, call: Call) -> Iterator[float]:
        """Seconds that are left; a call that fails is counted."""
        self._ledger.rung = call.rung
        try:
            left = self.until - self._clock.seconds()
            if left <= 0:
                raise up()
            yield left
        except CallFailed as failure:
            self._ledger.failed(failure)
            raise

    def _wait(self, left: float) -> float:
        return self._timeout if self._timeout < left else left + LATER


def _at_once(proposal: Proposal) -> Steps:
    return proposal
    yield
