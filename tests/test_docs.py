"""Every Python block of the README and the docs runs; every example runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def _blocks() -> list[tuple[str, str]]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [
        (f"{page.name}:{number}", code)
        for page in pages
        for number, code in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8")), 1)
    ]


def _ran(arguments: list[str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


BLOCKS = [
    pytest.param(code, id=name, marks=[] if name.startswith("README") else [pytest.mark.slow])
    for name, code in _blocks()
]
"""Each block is a process of its own that starts with the vendors' imports, so most are slow."""


@pytest.mark.parametrize("code", BLOCKS)
def test_a_documented_block_runs(code: str, tmp_path: Path) -> None:
    assert _ran(["-c", code], tmp_path).strip()


def test_the_readme_shows_the_rule_that_it_promises(tmp_path: Path) -> None:
    code = next(code for name, code in _blocks() if name == "README.md:1")
    shown = _ran(["-c", code], tmp_path)
    assert "Never restart nginx during business hours" in shown
    assert len(code.strip().splitlines()) <= 12


FAST = ("01_update_state",)
"""The one that needs no store and no graph: the others start with the vendors' imports."""

EXAMPLES = [
    pytest.param(path, id=path.stem, marks=[] if path.stem in FAST else [pytest.mark.slow])
    for path in sorted((ROOT / "examples").glob("0*.py"))
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs(example: Path, tmp_path: Path) -> None:
    assert _ran([str(example)], tmp_path).strip()


def test_the_documents_name_no_path_or_host_of_a_machine() -> None:
    for page in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"/(?:home|root|work|tmp)/|https?://(?:pypi|[\w.]*mirror)", text), (
            page.name
        )
