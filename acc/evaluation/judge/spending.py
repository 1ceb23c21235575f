"""What a live evaluation may cost, and what it has cost so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from acc.errors import ConfigurationError, EvaluationError
from acc.price import Price


class BudgetReached(EvaluationError):
    """The next call could exceed the budget. What was done stands in the log."""


@dataclass(frozen=True)
class Budget:
    """The most that may be spent, on calls of earlier runs of the same log too.

    Attributes:
        tokens: Tokens read and written, by all models; None for no bound.
        money: In the currency of the prices; None for no bound.
        prices: Price of the model of each role.
    """

    tokens: int | None = None
    money: float | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)

    def check(self, roles: set[str]) -> None:
        """Refuse a bound on money where a role has no price.

        Raises:
            ConfigurationError: One has none.
        """
        unpriced = sorted(roles - set(self.prices))
        if self.money is not None and unpriced:
            raise ConfigurationError(
                f"a budget in money, and no price of the model for {', '.join(unpriced)}",
                where="--budget-money",
                mend=f"give --price {unpriced[0]}=INPUT,OUTPUT per million tokens",
            )

    def money_of(self, role: str, usage: Mapping[str, int]) -> float:
        """Money for ``usage``; 0 where the role has no price."""
        price = self.prices.get(role)
        return price.of(usage) if price is not None else 0.0


class Spending:
    """Counts what is spent, and holds it to a budget. Safe for threads.

    A call reserves the most that it can cost before it is made, so that calls under way at the
    same time cannot exceed the budget together. Input is estimated: UTF-8 bytes / 4 and a tenth
    of that on top.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._mutex = Lock()
        self._reserved_tokens = 0
        self._reserved_money = 0.0
        self.usage: Counter[str] = Counter()
        self.money = 0.0
        self.calls: Counter[str] = Counter()
        self._met: Counter[str] = Counter()
        self._met_money = 0.0

    @property
    def tokens(self) -> int:
        """Tokens spent, read and written."""
        return self.usage["input"] + self.usage["output"]

    @contextmanager
    def reserved(self, role: str, usage: Mapping[str, int]) -> Iterator[None]:
        """Hold ``usage`` back while a call is under way.

        Raises:
            BudgetReached: It is not left.
        """
        tokens = usage["input"] + usage["output"]
        money = self.budget.money_of(role, usage)
        with self._mutex:
            self._check(tokens, money)
            self._reserved_tokens += tokens
            self._reserved_money += money
        try:
            yield
        finally:
            with self._mutex:
                self._reserved_tokens -= tokens
                self._reserved_money -= money

    def spent(self, role: str, usage: Mapping[str, int]) -> None:
        """Count a call that was paid."""
        with self._mutex:
            self.usage.update(usage)
            self.money += self.budget.money_of(role, usage)
            self.calls[role] += 1

    def met(self, role: str, usage: Mapping[str, int]) -> None:
        """Count a call that the turns so far needed, whether it was paid now or by an earlier run."""
        with self._mutex:
            self._met.update(usage)
            self._met_money += self.budget.money_of(role, usage)

    def expected(self, share: float) -> tuple[int, float]:
        """Tokens and money of the whole, where the turns so far are ``share`` of it; at the least
        what is spent already."""
        with self._mutex:
            tokens = round((self._met["input"] + self._met["output"]) / share)
            return max(self.tokens, tokens), max(self.money, self._met_money / share)

    def _check(self, tokens: int, money: float) -> None:
        bounds = self.budget
        left = (
            None if bounds.tokens is None else bounds.tokens - self.tokens - self._reserved_tokens
        )
        if left is not None and tokens > left:
            what = f"the next call could take {tokens:,} tokens, and {max(0, left):,} are left"
            raise _reached(what, f"{bounds.tokens:,} tokens")
        rest = None if bounds.money is None else bounds.money - self.money - self._reserved_money
        if rest is not None and money > rest:
            what = f"the next call could cost {money:.4g}, and {max(0.0, rest):.4g} is left"
            raise _reached(what, f"{bounds.money:g}")


def _reached(what: str, budget: str) -> BudgetReached:
    mend = "the same command with a larger budget goes on from here"
    return BudgetReached(what, where=f"budget of {budget}", mend=mend)
