"""What survives a model that errs, and what it writes: the targets of the table in docs/models.md."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

pytestmark = pytest.mark.slow


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark's module; like any script it imports what lies beside it."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module("revise_vs_rewrite")
    for name in ("revise_vs_rewrite", "simulated_model", "idle_turns"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("mode", ["revise", "rewrite"])
def test_no_rule_is_lost_and_every_lifting_is_followed(mode: str, table: Any) -> None:
    found = table.survival(mode, 200, table.ERRS if mode == "rewrite" else 0.0, range(2))
    assert (found["pinned"], found["pinned_quoted"], found["lifted"]) == (1.0, 1.0, 1.0)
    if mode == "revise":
        assert found["rest"] >= 0.95


def test_a_revision_is_at_most_a_third_of_a_rewrite(table: Any) -> None:
    revise, rewrite = (table.costs(mode, 50) for mode in ("revise", "rewrite"))
    assert 3 * revise["output"] <= rewrite["output"]
    assert revise["evicted"] == rewrite["evicted"] == 0  # of the items that fit
    assert revise["cached_share"] > 0.5
