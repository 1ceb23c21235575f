"""Conversations as files, memories of a few turns, and the command line as a process."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from acc.cli import run
from acc.controller.controller import MemoryController
from acc.journal import ThreadKey
from acc.turn.turn import Turn

ACC = [sys.executable, "-c", "from acc.cli import main; main()"]

Message = dict[str, Any]
Capsys, MonkeyPatch = pytest.CaptureFixture[str], pytest.MonkeyPatch


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def agent(text: str) -> Message:
    return {"role": "assistant", "content": text}


def call(call_id: str, name: str, arguments: str = "{}") -> Message:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def result(call_id: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def operations(turns: int) -> list[Message]:
    """A conversation with tool calls, and twice the same tool result in a turn; rules at first."""
    messages = [{"role": "system", "content": "You are the operations agent."}]
    for turn in range(1, turns + 1):
        first = f"Never restart db-{turn} before noon." if turn <= 9 else f"db-{turn} is slow."
        messages += [
            user(f"{first} What is the state of node-{turn}?"),
            call(f"c{turn}", "get_node", json.dumps({"node": turn})),
            call(f"d{turn}", "get_node", json.dumps({"node": turn})),
            result(f"c{turn}", f"node-{turn} Ready cpu={turn}% pods={turn * 3}"),
            result(f"d{turn}", f"node-{turn} Ready cpu={turn}% pods={turn * 3}"),
            agent(f"node-{turn} is ready with {turn * 3} pods; db-{turn} stays up until noon."),
        ]
    return messages


def as_lines(path: Path, messages: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(m) + "\n" for m in messages), encoding="utf-8")
    return path


def as_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def taken(memory: Path, thread: ThreadKey | str, *said: str) -> None:
    """Step a thread of a memory in a folder, a turn for each text of the user."""
    with MemoryController.open(memory, index="none") as controller:
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
