"""What the tests of the stores share: records, and Python processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from store_processes import ROOT, Record, Spawn

from acc.stores.protocol import Artifact


@pytest.fixture
def record() -> Record:
    """Makes an artifact by number."""

    def make(seq: int, text: str = "", **fields: Any) -> Artifact:
        given = {"id": f"thread.main:{seq}", "thread": "thread", "branch": "main", "turn": seq}
        return Artifact(**{**given, "seq": seq, "text": text, **fields})

    return make


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Starts Python on a program with the library at hand; whatever runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str, *arguments: object, cwd: Path | None = None) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": ROOT},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def output(spawn: Spawn) -> Callable[..., str]:
    """Runs a program to its end and gives what it printed."""

    def run(program: str, *arguments: object, cwd: Path | None = None) -> str:
        process = spawn(program, *arguments, cwd=cwd)
        printed, complaint = process.communicate(timeout=60)
        assert process.returncode == 0, complaint
        return printed

    return run
