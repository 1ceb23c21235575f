"""What the tests of the command line share."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers_cli import as_lines, operations, taken

RULES = (
    "The gateway has 4 replicas.",
    "Never call patient Ottilie Quandt.",
    "Why is checkout slow?",
    "On Sundays you may call her.",
)


@pytest.fixture
def conversation(tmp_path: Path) -> Path:
    """A conversation of twelve turns, in a file."""
    return as_lines(tmp_path / "nodes.jsonl", operations(12))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A memory with one thread of four turns, ``inc``."""
    taken(tmp_path / "memory", "inc", *RULES)
    return tmp_path / "memory"


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """No command of a test uses a model, a schema or a key of the environment."""
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "ACC_SCHEMA",
        "ACC_STATE_KEY",
        "ACC_DIGEST_KEY",
    ):
        monkeypatch.delenv(name, raising=False)
