"""Memories and logs that the inspector's tests look at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from acc import InMemoryStore, MemoryController, Settings, Thread, Turn
from acc.audit.folder import FolderLogs
from acc.audit.record import digested
from acc.cli.inspect import reader_of
from acc.inspector.logs import Logs
from acc.inspector.server import Inspector

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> "
    "\u202e\u2066txet\u2069 \x1b]0;x\x07 \x00 \ud800"
)
SAID = (
    "Never restart db-1. What is the state of node-7?",
    "The limit is 40 pods. Is node-7 ready?",
    "You may restart db-1 now.",
)
HOME = "http://127.0.0.1:8765"


def remembered(
    audit: Path, said: Sequence[str] = SAID, thread: Thread | str = "ops", memory: Any = None
) -> MemoryController:
    """A memory whose thread went through these turns, with its log in ``audit``."""
    memory = memory or MemoryController(InMemoryStore(), settings=Settings(audit=audit))
    state = None
    for words in said:
        state = memory.step(state, Turn.said(words), thread=thread).state
    return memory


def only_log(folder: Path) -> str:
    (name,) = FolderLogs(folder).names()
    return name


def looking_at(folder: Path | str, **more: Any) -> Inspector:
    async def pause() -> None:
        raise AssertionError("nothing waits here")

    return Inspector(Logs(folder), reader_of(None), more.pop("pause", pause), **more)


def many_turns(lines: Sequence[bytes], turns: int) -> Iterator[bytes]:
    """A log of so many turns with the contents of ``lines``, whole and chained."""
    previous, before = "", ""
    for number in range(1, turns + 1):
        record = json.loads(lines[(number - 1) % len(lines)])
        record["prior"] = before or record["prior"]
        record["state"] |= {"turn": number, "hash": f"{number:064x}"}
        line, previous = digested({**record, "previous": previous})
        before = record["state"]["hash"]
        yield line.encode("utf-8", "surrogatepass")
