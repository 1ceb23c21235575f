"""Memories of a few turns, and the command line as a process."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from acc.cli import run
from acc.controller.controller import MemoryController
from acc.journal import ThreadKey
from acc.turn.turn import Turn

ACC = [sys.executable, "-c", "from acc.cli import main; main()"]

Capsys, MonkeyPatch = pytest.CaptureFixture[str], pytest.MonkeyPatch


def taken(memory: Path, thread: ThreadKey | str, *said: str) -> None:
    """Step a thread of a memory in a folder, a turn for each text of the user."""
    with MemoryController.open(memory, store="none") as controller:
        for words in said:
            controller.step(None, Turn.said(words), thread=thread)


def one_line(text: str) -> str:
    """Return an error, which has to be one line."""
    assert text.startswith("acc: ")
    assert text.count("\n") == 1
    assert "a defect" not in text
    return text


def failing(capsys: Capsys, *arguments: object, code: int = 1) -> str:
    """Return the one line on stderr of a command that fails and prints nothing else."""
    assert run([str(argument) for argument in arguments]) == code
    told = capsys.readouterr()
    assert told.out == ""
    return one_line(told.err)


def printed(capsys: Capsys, *arguments: object) -> str:
    """Return what a command that succeeds prints."""
    capsys.readouterr()
    assert run([str(argument) for argument in arguments]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def told(capsys: Capsys, *arguments: object) -> Any:
    """Return what a command prints as JSON."""
    return json.loads(printed(capsys, *arguments, "--json"))


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder with their bytes, without SQLite's own bookkeeping beside the journal."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in files
        if not path.name.endswith(("-wal", "-shm"))
    }


def started(arguments: Sequence[object]) -> subprocess.Popen[str]:
    """Start ``acc`` with ``arguments`` as a process.

    Its pipe holds some rows: it waits for who reads them, and cannot end before. A Ctrl-C reaches it even if the tests
    run in the background of a shell, which lets its children ignore one.
    """
    return subprocess.Popen(
        [*ACC, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        pipesize=4096, preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def until_turn(process: subprocess.Popen[str], turn: int) -> None:
    """Read the rows of ``process`` until that of ``turn``: this many turns are committed."""
    assert process.stdout is not None
    for line in process.stdout:
        if re.match(rf"\s+{turn}\s", line):
            return
    raise AssertionError(f"ended before turn {turn}")
