"""docs/operations.md names every kind of line, and every metric that it names is written."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from helpers_telemetry import Exported

from acc.controller.controller import MemoryController
from acc.turn.turn import Turn

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
PAGE = (ROOT / "docs" / "operations.md").read_text("utf-8")
BY_ARGUMENT = {"conflict", "cancelled", "failed"}
"""Kinds that `acc.controller.watching` chooses."""


def first_column(head: str) -> set[str]:
    """The names in the first column of the table that begins with ``head``."""
    rows = PAGE.partition(f"| {head} |")[2].partition("\n\n")[0].splitlines()[2:]
    assert rows
    return {name for row in rows for name in re.findall(r"`([a-z_.]+)`", row.split("|")[1])}


def written() -> Iterator[str]:
    """The kinds of lines that the code names where it writes them."""
    for path in (ROOT / "acc").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text("utf-8")))
        calls = (
            n for n in nodes if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "log_event"
        )
        events = (call.args[2] for call in calls)
        yield from (str(event.value) for event in events if isinstance(event, ast.Constant))


def test_the_table_of_lines_has_each_kind_that_the_code_writes() -> None:
    found = set(written())
    assert len(found) > 8
    assert first_column("`event`") == found | BY_ARGUMENT


def test_the_metrics_that_are_documented_are_written(exported: Exported, tmp_path: Path) -> None:
    settings = {"store": "none", "telemetry": exported.telemetry()}
    with MemoryController.open(tmp_path, **settings) as memory:
        memory.step(None, Turn.said("Never restart nginx."), thread="t")
    named = {name for name in first_column("name") if name.startswith("acc.")}
    without = {name for name in named if not exported.points(name)} - {"acc.outcome"}
    assert len(named) > 8
    # None of these in a turn that refuses, evicts and asks nothing.
    assert without == {
        "acc.refusals", "acc.evictions", "acc.compression.failures", "acc.compression.tokens",
        "acc.compression.duration",
    }  # fmt: skip
