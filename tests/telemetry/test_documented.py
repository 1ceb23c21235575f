"""docs/operations.md names every reason code, every kind of line, and every metric."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from exporting import Exported

from acc import InMemoryStore, MemoryController, Settings, Turn
from acc.errors import CompressionError
from acc.state.reasons import Reason
from acc.testing.scripted import FailingCompressor

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "operations.md").read_text("utf-8")


def first_column(heading: str) -> list[str]:
    """The codes in the first column of the first table below a heading."""
    table = re.search(rf"^### {heading}\n.*?\n((?:\|[^\n]*\n)+)", PAGE, re.M | re.S)
    assert table
    return [
        code for row in table[1].splitlines() for code in re.findall(r"`([\w.]+)`", row.split("|")[1])
    ]  # fmt: skip


def test_the_table_of_reasons_has_each_code_once() -> None:
    assert sorted(first_column("Reason codes")) == sorted([*Reason])


def test_the_table_of_lines_has_each_kind_that_the_code_writes() -> None:
    written = {
        event
        for path in (ROOT / "acc").rglob("*.py")
        for event in re.findall(
            r"log_event\(\s*_LOG,\s*(?:logging\.\w+|level),\s*\"(\w+)\"", path.read_text("utf-8")
        )
    }
    assert len(written) > 20
    by_reason = {"refused", "evicted", "noted"}  # `acc.telemetry.step_log._told` returns these
    at_debug = {"step", "unloaded"}
    assert set(first_column("The log")) - {"event"} == (written | by_reason) - at_debug


@pytest.mark.parametrize("heading", ["OpenTelemetry"])
def test_the_metrics_that_are_documented_are_written(heading: str, exported: Exported) -> None:
    named = set(re.findall(r"^\| (`acc\.[^|]*`)", PAGE.partition(f"### {heading}\n")[2], re.M))
    metrics = {name for row in named for name in re.findall(r"`(acc\.\w+\.?\w*)`", row)}
    metrics -= {
        "acc.qualify",
        "acc.compress",
        "acc.commit",
        "acc.persist",
        "acc.reason",
        "acc.outcome",
    }
    failing = FailingCompressor(CompressionError("no", outcome="timeout"))
    settings = Settings(telemetry=exported.telemetry())
    MemoryController(InMemoryStore(), failing, settings).step(None, Turn.said("Hello."), thread="t")
    written = {name for name in metrics if exported.points(name)}
    assert metrics - written == {"acc.refusals", "acc.evictions", "acc.compression.tokens"}
