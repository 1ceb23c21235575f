"""The paper's formulas and the statistics, against cases worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from acc.errors import ConfigurationError
from acc.models.protocol import Usage
from acc_eval.judge import METRICS, Audit
from acc_eval.judge_calls import Budget, BudgetReached, Spending
from acc_eval.judge_measures import (
    WITH_TOOLS,
    RunOutcome,
    TurnOutcome,
    bootstrap,
    permutation_test,
)
from acc_eval.price import Price


def audit(
    query: int = 0, notes: int = 0, tools: int = 0, none: int = 0, v: int = 0, o: int = 0
) -> Audit:
    return Audit({"query": query, "notes": notes, "tools": tools, "none": none}, v, o)


def outcome(turn: int, found: Audit | None, constraints: int = 0, mark: float = 5.0) -> TurnOutcome:
    return TurnOutcome(turn, 100 * turn, constraints, dict.fromkeys(METRICS, mark), found)


def test_hallucination_is_the_share_of_unsupported_claims() -> None:
    found = outcome(1, audit(query=1, notes=2, tools=3, none=4))
    assert found.hallucination() == pytest.approx(7 / 10)
    assert found.hallucination(WITH_TOOLS) == pytest.approx(4 / 10)
    assert outcome(1, audit()).hallucination() == 0.0
    assert outcome(1, None).hallucination() is None


def test_drift_is_normalised_by_the_active_constraints() -> None:
    assert outcome(2, audit(v=1, o=2), constraints=4).drift() == 0.75
    assert outcome(2, audit(v=1, o=2), constraints=0).drift() == 3.0
    assert outcome(2, None, constraints=4).drift() is None


def test_drift_leaves_out_the_first_turn() -> None:
    turns = [outcome(1, audit(v=9), 1), outcome(2, audit(v=1), 2), outcome(3, audit(), 2)]
    run = RunOutcome("s", "d", 1, {"acc": turns})
    assert turns[0].drift() is None
    assert run.means("acc")["drift"] == 0.25
    assert run.means("acc")["memory_tokens"] == 200.0
    assert run.means("acc")["memory_tokens_last"] == 300.0


def test_what_was_not_judged_takes_no_part_in_a_mean() -> None:
    unjudged = TurnOutcome(2, 0, 0, None, None)
    run = RunOutcome("s", "d", 1, {"acc": [outcome(1, audit(none=1), mark=4.0), unjudged]})
    means = run.means("acc")
    assert (means["relevance"], means["hallucination"], means["drift"]) == (4.0, 1.0, None)


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], 2 / 8),
        ([1.0, 2.0], [0.0, 0.0], 2 / 4),
        ([0.5, 0.5], [0.5, 0.5], 1.0),
        ([1.0, 0.0], [0.0, 1.0], 1.0),
        # Of the 8 assignments of 3, 2 and -1 the sums are 6, 4, 2, 0 with either sign, each once;
        # observed is 4.
        ([3.0, 2.0, 0.0], [0.0, 0.0, 1.0], 4 / 8),
        ([2.0], [1.0], 1.0),
    ],
)  # fmt: skip
def test_the_permutation_test_counts_assignments(
    first: list[float], second: list[float], p: float
) -> None:
    found = permutation_test(first, second, seed=1)
    assert found is not None
    assert found.p == pytest.approx(p)
    assert found.pairs == len(first)
    assert found.mean == pytest.approx((sum(first) - sum(second)) / len(first))


def test_many_pairs_are_sampled_and_agree_with_the_exact_test() -> None:
    differences = [0.3, -0.1, 0.2, 0.4, -0.2, 0.1, 0.25, 0.05] * 2
    zeros = [0.0] * 16
    exact = permutation_test(differences, zeros, seed=1)
    sampled = permutation_test([*differences, 0.0], [*zeros, 0.0], seed=1, samples=4_000)
    assert exact is not None
    assert sampled is not None
    assert sampled.p == pytest.approx(exact.p, abs=0.02)
    assert sampled == permutation_test([*differences, 0.0], [*zeros, 0.0], seed=1, samples=4_000)
    assert permutation_test([], [], seed=1) is None
    with pytest.raises(ValueError, match="cannot be paired"):
        permutation_test([1.0], [], seed=1)


def test_the_bootstrap_resamples_scenarios_then_seeds() -> None:
    assert bootstrap({"a": [2.0, 2.0], "b": [2.0]}, seed=1) == (2.0, 2.0, 2.0)
    assert bootstrap({"a": []}, seed=1) is None
    # One run of each of two scenarios: a resample is 0, 1/2 or 1, the ends a quarter each.
    found = bootstrap({"a": [0.0], "b": [1.0]}, seed=1)
    assert found == (0.5, 0.0, 1.0)
    narrow = bootstrap({"a": [0.0], "b": [1.0]}, seed=1, level=0.4)
    assert narrow == (0.5, 0.5, 0.5)
    # Scenarios count the same, however many runs they have.
    assert bootstrap({"a": [0.0] * 9, "b": [1.0]}, seed=1) == (0.5, 0.0, 1.0)


@pytest.mark.slow
def test_a_bootstrap_covers_the_mean_as_often_as_it_should() -> None:
    """Of 30 normal values, P(|t| <= 1.96 sqrt(29/30)) with 29 degrees of freedom: 0.936.

    The share among 1,000 trials has a standard error of 0.008; three of them, and a hundredth
    for the resamples being few.
    """
    random = np.random.default_rng(7)
    hits = 0
    for trial in range(1_000):
        sample = {str(n): [value] for n, value in enumerate(random.normal(size=30))}
        found = bootstrap(sample, seed=trial, samples=200)
        assert found is not None
        hits += found.low <= 0.0 <= found.high
    assert 0.90 <= hits / 1_000 <= 0.96


def test_spending_holds_back_what_calls_under_way_may_take() -> None:
    spending = Spending(Budget(tokens=100))
    call = {"input": 30, "output": 20}
    with spending.reserved("agent", call), spending.reserved("agent", call):
        with pytest.raises(BudgetReached, match="could take 50 tokens, and 0 are left"):
            spending.reserved("agent", call).__enter__()
        spending.spent("agent", {"input": 30, "output": 5, "cached": 9})
    assert (spending.tokens, spending.calls["agent"]) == (35, 1)
    with spending.reserved("judge", call):
        pass


def test_a_budget_in_money_needs_a_price_for_every_role() -> None:
    budget = Budget(money=1.0, prices={"agent": Price(1_000_000, 0)})
    with pytest.raises(ConfigurationError, match="the model for judge has no price"):
        budget.check({"agent", "judge"})
    spending = Spending(budget)
    spending.spent("agent", {"input": 1, "output": 5})
    assert spending.money == 1.0
    with pytest.raises(BudgetReached, match="could cost 1, and 0 is left"):
        spending.reserved("agent", {"input": 1, "output": 0}).__enter__()


def test_a_price_counts_cached_tokens_apart() -> None:
    used = Usage(1, 1000, 10, 400)
    assert Price(2, 8, 1).of(used) == pytest.approx((600 * 2 + 400 * 1 + 10 * 8) / 1e6)
    with pytest.raises(ConfigurationError):
        Price(1, -1)
