"""Law 9: asking a compressor, and what happens when it fails."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from typing import Any, Literal, NamedTuple

from acc.commit.draft import pending_is_full
from acc.compress.protocol import Compressor, Price
from acc.errors import CompressionError, ConfigurationError
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Account, Outcome, Proposal
from acc.turn.observations import Evidence, storable
from acc.turn.turn import Turn

Fallback = Compressor | Literal["items", "rules"] | None
"""Whom to turn to: the last good ``items``, the keyless ``rules``, or another compressor."""


def _no_rules() -> Compressor:
    raise ConfigurationError(
        "no compressor", where="CompressionRequest", hint="name one, or give keyless=RuleCompressor"
    )


class CompressionRequest(NamedTuple):
    """A compressor, what it is asked to read, and whom to turn to if it fails.

    Attributes:
        compressor: None for the keyless rules.
        turn: x_t.
        state: CCS_t-1.
        evidence: A_t+.
        policy: Schema and bounds.
        fallback: CompressionRequest where the first fails; None holds the last good items, as "items" does.
        keyless: Makes the compressor that is asked where ``compressor`` is None, and for "rules".
    """

    compressor: Compressor | None
    turn: Turn
    state: CompressedCognitiveState
    evidence: Sequence[Evidence]
    policy: Policy
    fallback: Fallback = None
    keyless: Callable[[], Compressor] = _no_rules


class CompressionResult(NamedTuple):
    """What came of asking.

    Attributes:
        proposal: None where nothing usable came out, and the last good items stand.
        failure: Why the proposal is not the first compressor's own, if it is not.
        outcome: The name of how the first ended (`acc.state.proposal.Outcome`).
        usage: Tokens by kind that were paid, for failed calls and the fallback's too.
        money: Their price, where a compressor has one.
        account: What the first compressor's model was asked, if it has one.
    """

    proposal: Proposal | None
    failure: str = ""
    outcome: str = Outcome.OK
    usage: dict[str, int] = {}  # noqa: RUF012
    money: float | None = None
    account: Account | None = None


def compressed(asked: CompressionRequest) -> CompressionResult:
    """Ask for a proposal; a failing compressor stops nothing (law 9).

    Raises:
        ConfigurationError: The compressor can never work as it is set up.
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
            answer = error


async def acompressed(asked: CompressionRequest) -> CompressionResult:
    """As `compressed`, awaiting what is to be awaited."""
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
            answer = error


def check_compressor(compressor: Any) -> None:
    """Hold a compressor to what may be one; None is the keyless rules.

    Raises:
        ConfigurationError: Not callable.
    """
    if compressor is not None and not callable(compressor):
        raise ConfigurationError(
            f"a compressor is a callable, not {type(compressor).__name__}",
            where="compressor",
            hint="pass a function of (turn, state, evidence) that returns a Proposal",
        )


def check_fallback(fallback: Any) -> None:
    """Hold a fallback to what may be one.

    Raises:
        ConfigurationError: Neither a compressor nor one of the words.
    """
    if not (fallback in (None, "items", "rules") or callable(fallback)):
        raise ConfigurationError(
            f"no fallback {fallback!r}",
            where="fallback",
            hint='"items" holds the last good items, "rules" asks the keyless rules; or a compressor',
        )


def _asking(asked: CompressionRequest) -> Generator[Compressor, Any, CompressionResult]:
    """Yields whom to ask, and is sent the proposal or the error."""
    check_fallback(asked.fallback)
    first = asked.compressor or asked.keyless()
    answer = _checked((yield first))
    bill = _Bill()
    bill.add(first, answer)
    account = answer.account if isinstance(answer, Proposal | CompressionError) else None
    if isinstance(answer, Proposal):
        outcome = account.outcome if account is not None else Outcome.OK
        return CompressionResult(answer, "", outcome, bill.usage, bill.money, account)
    failure = _told(answer)
    named = answer.outcome if isinstance(answer, CompressionError) else Outcome.ERROR.value
    second = _second(asked)
    proposal = None
    if second is not None:
        answer = _checked((yield second))
        bill.add(second, answer)
        if isinstance(answer, Proposal):
            proposal = answer
        else:
            failure = f"{failure}; fallback: {_told(answer)}"
    return CompressionResult(proposal, failure, named, bill.usage, bill.money, account)


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
    """The compressor told of the policy, if it wants to know it."""
    under = getattr(compressor, "under", None)
    bound: Compressor = under(policy) if callable(under) else compressor
    return bound


class _Bill:
    """Tokens and money of all that was asked."""

    def __init__(self) -> None:
        self._usage: Counter[str] = Counter()
        self.money: float | None = None

    def add(self, compressor: Compressor, answer: Proposal | Exception) -> None:
        """What ``compressor`` was paid for ``answer``."""
        usage = answer.usage if isinstance(answer, Proposal | CompressionError) else {}
        price = getattr(compressor, "price", None)
        if isinstance(price, Price):
            self.money = round((self.money or 0.0) + price.of(usage), 9)
        self._usage.update(usage)

    @property
    def usage(self) -> dict[str, int]:
        """Tokens by kind."""
        return dict(self._usage)


def _told(error: Exception) -> str:
    try:
        return storable(f"{type(error).__name__}: {error}"[:2_000])
    except Exception:  # an error that cannot even say what it is
        return type(error).__name__


def _checked(answer: Any) -> Proposal | Exception:
    """A proposal that holds what its type says, even if it was made past its checks; or the error.

    Raises:
        ConfigurationError: It is one.
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
