"""Law 9: asks a compressor and handles its failure."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from typing import Any, Literal, NamedTuple

from acc.commit.draft import pending_is_full
from acc.compress.protocol import Compressor, Price
from acc.errors import CompressionError, ConfigurationError, raise_interrupt
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Account, Outcome, Proposal
from acc.turn.observations import Evidence, storable
from acc.turn.turn import Turn

Fallback = Compressor | Literal["items", "rules"] | None
"""What to use after a failure: the last good ``items``, the keyless ``rules``, or another compressor."""


class CompressionRequest(NamedTuple):
    """A compressor, its input, and the fallback if it fails.

    ``compressor=None`` means the keyless rules, which ``keyless`` creates; ``fallback=None`` keeps the last
    good items, like "items".
    """

    compressor: Compressor | None
    turn: Turn
    state: CompressedCognitiveState
    evidence: Sequence[Evidence]
    policy: Policy
    fallback: Fallback
    keyless: Callable[[], Compressor]


class CompressionResult(NamedTuple):
    """The result of a compression request.

    Attributes:
        proposal: The proposal; None if nothing usable came out, so the last good items stay.
        failure: Why the proposal is not the first compressor's; empty if it is.
        outcome: The first compressor's outcome (`acc.state.proposal.Outcome`).
        usage: Tokens by kind, including failed calls and the fallback.
        money: Their price, if a compressor has one.
        account: The account of the first compressor's model, if it has one.
    """

    proposal: Proposal | None
    failure: str = ""
    outcome: str = Outcome.OK
    usage: dict[str, int] = {}  # noqa: RUF012
    money: float | None = None
    account: Account | None = None


def compressed(asked: CompressionRequest) -> CompressionResult:
    """Ask for a proposal. A failing compressor does not stop the step (law 9).

    Raises:
        ConfigurationError: The compressor cannot work with this configuration.
    """
    asking = _asking(asked)
    answer: Proposal | Exception | None = None
    while True:
        try:
            compressor = asking.send(answer)
        except StopIteration as end:
            return _result(end)
        try:
            answer = _bound(compressor, asked.policy)(asked.turn, asked.state, asked.evidence)
        except Exception as error:
            raise_interrupt(error)
            answer = error


async def acompressed(asked: CompressionRequest) -> CompressionResult:
    """Asynchronous `compressed`; awaits ``acompress`` if the compressor has it."""
    asking = _asking(asked)
    answer: Proposal | Exception | None = None
    while True:
        try:
            compressor = asking.send(answer)
        except StopIteration as end:
            return _result(end)
        try:
            bound = _bound(compressor, asked.policy)
            ask = getattr(bound, "acompress", bound)
            proposal = ask(asked.turn, asked.state, asked.evidence)
            answer = await proposal if inspect.isawaitable(proposal) else proposal
        except Exception as error:
            raise_interrupt(error)
            answer = error


def check_compressor(compressor: Any) -> None:
    """Raise `ConfigurationError` unless ``compressor`` is callable or None (the keyless rules)."""
    if compressor is not None and not callable(compressor):
        raise ConfigurationError(
            f"the compressor is {type(compressor).__name__}, not a callable",
            where="compressor",
            hint="pass a function of (turn, state, evidence) that returns a Proposal",
        )


def check_fallback(fallback: Any) -> None:
    """Raise `ConfigurationError` unless ``fallback`` is None, "items", "rules" or a compressor."""
    if not (fallback in (None, "items", "rules") or callable(fallback)):
        raise ConfigurationError(
            f"unknown fallback {fallback!r}",
            where="fallback",
            hint='use "items" (keep the last items), "rules" (the keyless rules) or a compressor',
        )


def _asking(asked: CompressionRequest) -> Generator[Compressor, Any, CompressionResult]:
    """Yield the compressor to ask; receive its proposal or its error."""
    check_fallback(asked.fallback)
    first = asked.compressor or asked.keyless()
    answer = _checked((yield first))
    bill = _Bill()
    bill.add(first, answer)
    account = answer.account if isinstance(answer, Proposal | CompressionError) else None
    if isinstance(answer, Proposal):
        outcome = account.outcome if account is not None else Outcome.OK
        return CompressionResult(answer, "", outcome, bill.usage, bill.money, account)
    failure = _error_text(answer)
    named = answer.outcome if isinstance(answer, CompressionError) else Outcome.ERROR.value
    second = _second(asked)
    proposal = None
    if second is not None:
        answer = _checked((yield second))
        bill.add(second, answer)
        if isinstance(answer, Proposal):
            proposal = _leaving_unread(answer)
        else:
            failure = f"{failure}; fallback: {_error_text(answer)}"
    return CompressionResult(proposal, failure, named, bill.usage, bill.money, account)


def _leaving_unread(proposal: Proposal) -> Proposal:
    """Keep what a fallback could not read for the first compressor, which may read it after it recovers."""
    foreign = {r.ref: None for r in proposal.remarks if r.code == "language_not_read"}
    unread = tuple(dict.fromkeys((*proposal.unread, *foreign)))
    return proposal.model_copy(update={"unread": unread}) if unread else proposal


def _result(end: StopIteration) -> CompressionResult:
    result: CompressionResult = end.value
    return result


def _second(asked: CompressionRequest) -> Compressor | None:
    fallback = asked.fallback
    full = fallback in (None, "items") and pending_is_full(asked.turn, asked.policy)
    if fallback == "rules" or full:
        return asked.keyless()
    if fallback is None or isinstance(fallback, str):
        return None
    return fallback


def _bound(compressor: Compressor, policy: Policy) -> Compressor:
    """Pass the policy to a compressor that has ``under``."""
    under = getattr(compressor, "under", None)
    bound: Compressor = under(policy) if callable(under) else compressor
    return bound


class _Bill:
    """Tokens and money of all compressors asked."""

    def __init__(self) -> None:
        self._usage: Counter[str] = Counter()
        self.money: float | None = None

    def add(self, compressor: Compressor, answer: Proposal | Exception) -> None:
        """Add the cost of ``compressor`` for ``answer``."""
        usage = answer.usage if isinstance(answer, Proposal | CompressionError) else {}
        price = getattr(compressor, "price", None)
        if isinstance(price, Price):
            self.money = round((self.money or 0.0) + price.of(usage), 9)
        self._usage.update(usage)

    @property
    def usage(self) -> dict[str, int]:
        """Tokens by kind."""
        return dict(self._usage)


def _error_text(error: Exception) -> str:
    try:
        return storable(f"{type(error).__name__}: {error}"[:2_000])
    except Exception:  # the error's own __str__ fails
        return type(error).__name__


def _checked(answer: Any) -> Proposal | Exception:
    """Validate a proposal again, because it may have been built without validation.

    An error passes through; a `ConfigurationError` is raised.
    """
    if isinstance(answer, ConfigurationError):
        raise answer
    if isinstance(answer, Exception):
        return answer
    if not isinstance(answer, Proposal):
        return CompressionError(f"the compressor returned {type(answer).__name__}, not a Proposal")
    try:
        checked = Proposal.model_validate(answer.model_dump())
    except Exception as error:
        return error
    if checked.mode == "rewrite" and not checked.items:
        paid, account = checked.usage, checked.account
        return CompressionError(
            "the rewrite is empty", outcome=Outcome.EMPTY, usage=paid, account=account
        )
    return checked
