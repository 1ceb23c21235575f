"""The guide to schemas: its files are written, its commands run in order, and they print what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

GUIDE = Path(__file__).parent.parent / "docs" / "schemas.md"
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
    (published,) = [text for kind, _, text in _blocks() if kind == "toml"]
    assert "acc.schemas" in tomllib.loads(published)["project"]["entry-points"]


@pytest.mark.slow
def test_the_figures_of_the_keyless_slots_are_those_of_the_benchmark() -> None:
    score = GUIDE.parents[1] / "benchmarks" / "keyless" / "slots" / "score.py"
    told = _ran(f"python {score} held free open", score.parent)
    found = re.findall(r"^(\w+), all +(\d+) +([\d.]+) +([\d.]+) +(\d+ of \d+)$", told, re.M)
    row = r"^\| [^|]*\(`(\w+)`[^|]*\| (\d+) \| ([\d.]+) \| ([\d.]+) \| (\d+ of \d+) \|$"
    assert len(found) == 3
    assert re.findall(row, GUIDE.read_text(encoding="utf-8"), re.M) == found
