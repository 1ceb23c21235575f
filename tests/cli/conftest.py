"""What the tests of the command line share."""

from __future__ import annotations

import functools
import shutil
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from conversation_files import as_lines, operations
from helpers_cli import taken

from acc import cli

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


@pytest.fixture(scope="session")
def four_turns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with one thread of four turns, ``inc``, to copy."""
    place = tmp_path_factory.mktemp("four") / "memory"
    taken(place, "inc", *RULES)
    return place


@pytest.fixture
def folder(four_turns: Path, tmp_path: Path) -> Path:
    """A copy of that memory, of the test alone."""
    return Path(shutil.copytree(four_turns, tmp_path / "memory"))


INSTALLED = functools.cache(entry_points)


@pytest.fixture(autouse=True)
def packages_are_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is installed stays the same; to list it takes as long as many a command."""
    monkeypatch.setattr(cli, "entry_points", INSTALLED)


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
