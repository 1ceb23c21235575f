"""Runs: sizes add up, seeds decide, errors cost, bounds hold; and the page and the figures."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest

from acc.evidence.policies import RecordUse
from benchmarks.experience.__main__ import main
from benchmarks.experience.conditions import FAMILIES, Condition, deletion_of
from benchmarks.experience.orderings import Ordering
from benchmarks.experience.paper_figures import ADDITION, DELETION
from benchmarks.experience.presets import PRESETS
from benchmarks.experience.running import Scale, Trace, run
from benchmarks.experience.shift import in_clusters
from benchmarks.experience.study import Interval, conditions, gain, interval, studied
from benchmarks.experience.tables import addition_rows, bound_rows

pytestmark = pytest.mark.slow

SMALL = Scale(tasks=60, initial=40)
NAMES = list(FAMILIES)


def same(one: Trace, other: Trace) -> bool:
    pairs = [(getattr(one, f.name), getattr(other, f.name)) for f in fields(Trace)]
    return all(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f") for a, b in pairs)


@pytest.mark.parametrize("name", NAMES)
def test_sizes_add_up(name: str) -> None:
    by = {a: run(Condition(name, a), 1, SMALL) for a in ("fixed", "all", "coarse", "strict")}  # type: ignore[arg-type]
    assert (by["fixed"].size == 40).all()
    assert by["all"].size[-1] == 100
    assert by["strict"].size[-1] == 40 + by["strict"].success.sum()
    assert 40 < by["coarse"].size[-1] < 100


def test_a_seed_decides_everything_and_another_decides_otherwise() -> None:
    condition = Condition("ehragent", "strict", "combined")
    assert same(run(condition, 1, SMALL), run(condition, 1, SMALL))
    assert not same(run(condition, 1, SMALL), run(condition, 2, SMALL))


def test_processes_change_nothing() -> None:
    wanted = [Condition("cic-iot", "strict"), Condition("cic-iot", "all")]
    alone = studied(wanted, [1, 2], SMALL)
    together = studied(wanted, [1, 2], SMALL, workers=2)
    assert all(same(a, b) for c in wanted for a, b in zip(alone[c], together[c], strict=True))
    assert all(len(traces) == 2 for traces in alone.values())


@pytest.mark.parametrize("name", NAMES)
def test_the_error_free_variant_differs_only_where_memory_errs(name: str) -> None:
    clean = run(Condition(name, "fixed"), 1, SMALL)
    assert np.array_equal(clean.success, clean.error_free)
    noisy = run(Condition(name, "fixed", noisy=True), 1, SMALL)
    assert noisy.error_free.sum() > noisy.success.sum()
    assert np.array_equal(noisy.error_free, clean.success)


@pytest.mark.parametrize("evaluator", ["coarse", "strict"])
def test_a_capacity_holds_after_every_execution(evaluator: str) -> None:
    condition = Condition("agentdriver", evaluator, capacity=25)  # type: ignore[arg-type]
    trace = run(condition, 1, SMALL)
    assert trace.size.max() == 25
    assert not np.array_equal(
        trace.success, run(Condition("agentdriver", "fixed"), 1, SMALL).success
    )


def test_deleted_and_retained_are_told_apart() -> None:
    trace = run(Condition("ehragent", "strict", "history"), 1, Scale(tasks=150, initial=40))
    assert 0 < trace.deleted.sum() < len(trace.deleted)
    assert (trace.best_out[~np.isnan(trace.best_out)] <= 1.0).all()
    kept = run(Condition("ehragent", "strict"), 1, SMALL)
    assert not kept.deleted.any()


def test_a_shift_reorders_and_loses_nothing() -> None:
    family = FAMILIES["agentdriver"](1)
    stream = family.workload(0, 90).stream
    ordered, bounds = in_clusters(stream, family.retrieval(1).vector, 1)
    assert sorted(t.text for t in ordered) == sorted(t.text for t in stream)
    assert [t.text for t in ordered] != [t.text for t in stream]
    assert 0 < bounds[0] < bounds[1] < 90


@pytest.mark.parametrize("name", NAMES)
def test_policies_are_the_papers(name: str) -> None:
    """What was never of use goes by history, under either evaluator's own scale of utility."""
    for evaluator, bad in (("coarse", 0.0), ("strict", -50.0)):
        usage = RecordUse("k", 0, range(1, 8), [bad] * 7)
        history = deletion_of(Condition(name, evaluator, "history"))  # type: ignore[arg-type]
        assert set(history([usage], 10)) == {"k"}
    assert not deletion_of(Condition(name, "strict"))([usage], 10)


def test_every_figure_of_the_paper_has_its_run() -> None:
    wanted = conditions()
    assert len(wanted) == len(set(wanted))
    assert {Condition(f, a) for f, a in ADDITION} <= set(wanted)  # type: ignore[arg-type]
    assert {Condition(f, e, d) for f, e, d in DELETION} <= set(wanted)  # type: ignore[arg-type]
    assert {c.family for c in wanted if c.shifted} == {"ehragent", "agentdriver"}


def test_intervals_and_verdicts() -> None:
    found = interval([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.half == pytest.approx(4.30 / math.sqrt(3))
    assert math.isnan(interval([1.0]).half)
    assert not interval([1.0]).sure
    assert Ordering("", 1.0, Interval(2.0, 1.0)).verdict == "as the paper"
    assert Ordering("", -1.0, Interval(2.0, 1.0)).verdict == "the other way round"
    assert Ordering("", 1.0, Interval(2.0, 3.0)).verdict == "undecided"
    assert Ordering("", None, Interval(-2.0, 1.0)).verdict == "the other way round"
    assert Ordering("", 0.0, Interval(-8.5, 0.7)).verdict == "a tie only in the paper"


def test_gains_are_paired_by_seed() -> None:
    one = [run(Condition("cic-iot", "strict"), seed, SMALL) for seed in (1, 2)]
    assert gain(one, one) == Interval(0.0, 0.0)


def test_the_tables_show_what_was_run() -> None:
    study = studied([Condition("cic-iot", a) for a in ("fixed", "all", "coarse", "strict")], [1], SMALL)  # type: ignore[arg-type]  # fmt: skip
    rows = addition_rows(study)
    fixed = 100 * study[Condition("cic-iot", "fixed")][0].success.mean()
    assert rows[2].startswith(f"| fixed | {fixed:.1f} | 60.25 |")
    assert len({row.count("|") for row in rows}) == 1


def test_the_derived_bound_is_positive_where_the_printed_one_is_not() -> None:
    assert PRESETS["ehragent"].bound == 800
    assert all("| 0 |" in row or "| -" in row for row in bound_rows()[2:])


def test_the_small_study_runs_from_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--quick", "--family", "cic-iot", "--workers", "1"]) == 0
    page = capsys.readouterr().out
    assert "python -m benchmarks.experience --quick --family cic-iot\n" in page
    for part in ("## Table 1", "## Table 2", "## Ordering by ordering", "CIC-IoT"):
        assert part in page
    assert "nan" not in page


def test_the_whole_study_at_a_small_scale(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick"]) == 0
    page = capsys.readouterr().out
    assert all(f"## {part}" in page for part in ("Shift", "Capacity", "Noisy start"))
