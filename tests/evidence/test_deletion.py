"""Deletion policies: the paper's formulas by the letter, composed; and its bound, put right."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc.errors import ConfigurationError
from acc.evidence.addition import Addition
from acc.evidence.deletion import (
    PRESETS,
    Capacity,
    Deletion,
    History,
    Keep,
    Period,
    bounded,
    combined,
    preset,
)
from acc.evidence.experience import ExperienceMemory, Retrieval
from acc.evidence.usage import Usage
from acc.stores.directory import namespace
from acc.stores.in_memory import InMemoryStore


def usage(key: str, **given: Any) -> Usage:
    return Usage(**{"key": key, "ref": key, "kind": "experience", "added": 0, **given})


usages_drawn = st.lists(
    st.builds(
        lambda added, times, worths: {
            "added": added,
            "retrieved": sorted(added + t for t in times),
            "utilities": worths[: len(times)],
        },
        st.integers(0, 30),
        st.lists(st.integers(1, 30), max_size=9),
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=9),
    ),
    max_size=12,
).map(lambda drawn: [usage(f"k{n}", order=n, **each) for n, each in enumerate(drawn)])


@given(usages_drawn, st.integers(0, 70), st.integers(1, 40), st.integers(0, 3))
def test_period_is_the_papers_formula(usages: list[Usage], t: int, p: int, alpha: int) -> None:
    doomed = Period(p, alpha, newcomers="judge")(usages, t)
    for each in usages:
        freq_t = len([at for at in each.retrieved if at <= t])
        freq_before = len([at for at in each.retrieved if at <= t - p])
        assert (each.key in doomed) == (t >= p and freq_t - freq_before <= alpha)


@given(usages_drawn, st.integers(0, 8), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
def test_history_is_the_papers_formula(usages: list[Usage], n: int, beta: float) -> None:
    doomed = History(n, beta)(usages, 99)
    for each in usages:
        worths = each.utilities
        assert (each.key in doomed) == (len(worths) > n and sum(worths) / len(worths) <= beta)


@given(usages_drawn, st.integers(0, 70))
def test_the_two_readings_of_combined(usages: list[Usage], t: int) -> None:
    period, history = Period(20, 0), History(2, 0.5)
    one, other = set(period(usages, t)), set(history(usages, t))
    assert set(combined(period, history)(usages, t)) == one | other
    assert set(combined(period, history, "intersection")(usages, t)) == one & other
    assert set((~period)(usages, t)) == {u.key for u in usages} - one
    assert set(period.then(history)(usages, t)) == one | other


@given(usages_drawn, st.integers(0, 14))
def test_capacity_takes_no_more_than_it_must_and_the_least_useful(
    usages: list[Usage], limit: int
) -> None:
    doomed = Capacity(limit)(usages, 99)
    assert len(usages) - len(doomed) == min(limit, len(usages))
    worth = {u.key: u.mean_utility or 0.0 for u in usages}
    kept = [worth[k] for k in worth if k not in doomed]
    assert all(worth[key] <= least for key in doomed for least in kept)


def test_capacity_goes_by_what_the_evaluator_said_where_nobody_else_did() -> None:
    usages = [usage("good", prior=0.9), usage("bad", prior=0.1), usage("used", utilities=[0.5])]
    assert set(Capacity(2)(usages, 9)) == {"bad"}
    assert set(Capacity(1)(usages, 9)) == {"bad", "used"}


def test_newcomers_are_spared_unless_the_formula_is_taken_by_the_letter() -> None:
    usages = [usage("old", added=1), usage("new", added=190)]
    assert set(Period(100, 0)(usages, 200)) == {"old"}
    assert set(Period(100, 0, newcomers="judge")(usages, 200)) == {"old", "new"}


def test_by_itself_each_runs_when_it_is_due() -> None:
    never_read = [usage("never")]
    useless = [usage("useless", retrieved=[199, 200], utilities=[0.0, 0.0])]
    policy = combined(Period(100, 0), History(1, 0.5))
    assert set(policy.run(never_read + useless, 250)) == {"useless"}
    assert set(policy.run(never_read + useless, 200)) == {"never", "useless"}
    assert set(policy(never_read + useless, 250)) == {"never", "useless"}
    assert not Keep().run(never_read, 200)


@given(
    k=st.integers(1, 4), period=st.integers(2, 12), alpha=st.integers(0, 2),
    choices=st.lists(st.integers(0, 10**6), min_size=40, max_size=60),
)  # fmt: skip
def test_the_bound_on_memory_holds_and_the_papers_does_not(
    k: int, period: int, alpha: int, choices: list[int]
) -> None:
    """An adversary picks what is retrieved; a record comes with each execution."""
    policy = Period(period, alpha, newcomers="judge")
    alive: dict[str, list[int]] = {}
    added: dict[str, int] = {}
    for t, choice in enumerate(choices, 1):
        for name in sorted(alive)[choice % (len(alive) or 1) :][:k]:
            alive[name].append(t)
        alive[f"r{t:04d}"] = []
        added[f"r{t:04d}"] = t
        if policy.due(t):
            usages = [usage(n, added=added[n], retrieved=at) for n, at in alive.items()]
            for name in policy(usages, t):
                del alive[name]
            assert len(alive) <= policy.bound(k)
        assert len(alive) <= policy.bound(k) + period


def test_the_bound_is_reached_for_alpha_zero_where_the_papers_says_none_survive() -> None:
    k, period = 3, 10
    usages = [usage(f"{t}.{i}", retrieved=[10 + t]) for t in range(1, period + 1) for i in range(k)]
    policy = Period(period, 0, newcomers="judge")
    assert len(usages) - len(policy(usages, 20)) == policy.bound(k) == k * period
    assert 0 * period * k == 0 < policy.bound(k)


@pytest.mark.parametrize(
    ("agent", "k", "period", "alpha", "n", "betas"),
    [
        ("ehragent", 4, 200, 0, 5, (0.3, 0.7)),
        ("agentdriver", 1, 300, 1, 5, (-5.0, -5.0)),
        ("cic-iot", 3, 300, 1, 5, (0.5, 0.5)),
    ],
)
def test_presets_are_the_papers(
    agent: str, k: int, period: int, alpha: int, n: int, betas: tuple[float, float]
) -> None:
    found = preset(agent)
    assert (found.k, found.period) == (k, Period(period, alpha))
    assert found.history == {"coarse": History(n, betas[0]), "strict": History(n, betas[1])}
    fires = found.yes_or_no("coarse").history["coarse"]
    assert fires.beta == (0.5 if betas[0] < 0 else betas[0])
    assert fires([usage("a", utilities=[0.0] * 6)], 9).keys() == {"a"}
    assert found.yes_or_no("coarse").history["strict"] == found.history["strict"]
    with pytest.raises(ConfigurationError, match="no deletion policy"):
        found.deletion("everything")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Period(0),
        lambda: Period(5, -1),
        lambda: Capacity(-1),
        lambda: History(-1),
        lambda: History(5, float("nan")),
    ],
)
def test_a_policy_that_makes_no_sense_is_an_error(make: Any) -> None:
    with pytest.raises(ConfigurationError):
        make()


def test_no_agent_without_a_preset() -> None:
    with pytest.raises(ConfigurationError, match="ehragent"):
        preset("nobody")
    assert set(PRESETS) == {"ehragent", "agentdriver", "cic-iot"}


def experiences(store: InMemoryStore, deletion: Deletion | None = None) -> ExperienceMemory:
    ticks = itertools.count()
    return ExperienceMemory(
        store, namespace(user="ana"), lambda: f"t{next(ticks):06d}",
        addition=Addition("strict", lambda _, execution: "right" in execution),
        deletion=deletion, retrieval=Retrieval(k=2),
    )  # fmt: skip


def test_a_bounded_memory_stays_within_its_limit_after_each_execution() -> None:
    memory = experiences(InMemoryStore(), bounded(5, Period(50, 0)))
    for n in range(60):
        shown = memory.retrieve(f"count lamps in room {n % 9}")
        memory.finish(f"count lamps in room {n % 9}", f"right {n}", shown)
        assert len(memory) <= 5
