"""The guide to schemas does what it says; the reference names the slots and bounds of the schemas that ship."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from acc.cli.schema import own_slots
from acc.schema import published, schema_named

DOCS = Path(__file__).parent.parent / "docs"
GUIDE, REFERENCE = DOCS / "schemas.md", DOCS / "schema-reference.md"
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.M | re.S)


def _blocks() -> list[tuple[str, str, str]]:
    return _BLOCK.findall(GUIDE.read_text(encoding="utf-8"))


def _ran(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-eu", "-c", command], cwd=folder, env={**os.environ, "PATH": path},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


@pytest.mark.slow
def test_the_guide_does_what_it_says(tmp_path: Path) -> None:
    printed = ""
    for kind, file, text in _blocks():
        if file:
            (tmp_path / file).write_text(text, encoding="utf-8")
        elif kind == "sh":
            assert not printed, f"no output told before: {text}"
            printed = _ran(text, tmp_path)
        elif kind == "text":
            assert _lines(printed) == _lines(text)
            printed = ""
    assert not printed


def test_every_block_of_the_guide_is_run_or_read() -> None:
    kinds = [(kind, bool(file)) for kind, file, _ in _blocks()]
    assert set(kinds) == {("sh", False), ("text", False), ("python", True), ("toml", False)}
    (entries,) = [text for kind, _, text in _blocks() if kind == "toml"]
    assert "acc.schemas" in tomllib.loads(entries)["project"]["entry-points"]


def _rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading of the reference, without its head."""
    section = REFERENCE.read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in row] for row in rows[2:]]


@pytest.mark.parametrize("name", sorted(published()))
def test_the_reference_has_the_slots_and_the_bound_of_each_schema(name: str) -> None:
    schema = schema_named(name)
    slots = [(slot.name, str(slot.rules.places)) for slot in own_slots(schema)]
    if name == "generic":
        assert [(row[0], row[2]) for row in _rows("The generic state")] == slots
        return
    (row,) = [row for row in _rows("The domains") if row[0] == name]
    assert row[1] == f"{schema.max_tokens:,}"
    assert re.findall(r"`?(\w+)`? \((\d+)", row[2]) == slots
