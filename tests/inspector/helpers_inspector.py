"""Memories that the inspector's tests look at."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from acc.controller.controller import MemoryController
from acc.evidence.evidence import Evidence
from acc.evidence.target import Target
from acc.inspector.threads import Threads
from acc.journal import Journal, ThreadKey
from acc.journal.opened import FILE
from acc.turn.turn import Turn

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> "
    "\u202e\u2066txet\u2069 \x1b]0;x\x07 \ud800"
)
SAID = (
    "Never restart db-1. What is the state of node-7?",
    "The limit is 40 pods. Is node-7 ready?",
    "You may restart db-1 now.",
)
HOME = "http://127.0.0.1:8765"
OPS = "thread=ops"


def memory_in(folder: Path, **settings: Any) -> MemoryController[Any]:
    return MemoryController.open(folder, **{"store": "none", **settings})


def remembered(
    folder: Path,
    said: Sequence[str] = SAID,
    thread: ThreadKey | str = "ops",
    **settings: Any,
) -> Path:
    """A memory whose thread went through these turns."""
    with memory_in(folder, **settings) as memory:
        for words in said:
            memory.step(None, Turn.said(words), thread=thread)
    return folder


def erased(folder: Path, *refs: str) -> None:
    """Erase messages of the thread."""
    with memory_in(folder) as memory:
        Evidence(memory).erase(Target(thread="ops", refs=refs))


def forked(folder: Path) -> str:
    """A thread with a branch that went on from its first turn; returns the branch's name."""
    with memory_in(folder) as memory:
        first = memory.step(None, Turn.said(SAID[0]), thread="ops").state
        memory.step(first, Turn.said("The limit is 40 pods."), thread="ops")
        made = memory.step(first, Turn.said("The limit is 50 pods."), thread="ops")
    return str(made.state.branch)


def threads_of(folder: Path) -> Threads:
    return Threads(Journal.open(folder, reads_only=True))


def altered(folder: Path, version: int, change: Callable[[dict[str, Any]], None] | None) -> None:
    """Change the stored state of a commit behind the journal's back; without ``change`` break its bytes."""
    with closing(sqlite3.connect(folder / FILE)) as database:
        row = "SELECT state FROM commits WHERE version = ?"
        (data,) = database.execute(row, (version,)).fetchone()
        data = data[:-20] + b"\x00" * 20
        if change is not None:
            with threads_of(folder).journal as journal:
                commit = next(journal.commits("ops", after=version - 1))
            state = json.loads(json.dumps(commit.state))
            change(state)
            data = zlib.compress(json.dumps(state).encode())
        database.execute("UPDATE commits SET state = ? WHERE version = ?", (data, version))
        database.commit()
