"""The command line as a process, and what a conversation's evidence must be."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acc.controller import MemoryController
from acc.memory import whose
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Artifact, ArtifactStore
from acc.thread.log import ThreadLog
from acc.turn.conversations import read_conversation

ACC = [sys.executable, "-m", "acc"]


def started(arguments: Sequence[str]) -> subprocess.Popen[str]:
    """``acc`` with ``arguments``, under way."""
    return subprocess.Popen(
        [*ACC, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def until_turn(process: subprocess.Popen[str], turn: int) -> None:
    """Read the rows of ``process`` until that of ``turn``: this many turns are committed."""
    assert process.stdout is not None
    for line in process.stdout:
        if re.match(rf"\s+{turn}\s", line):
            return
    raise AssertionError(f"ended before turn {turn}")


def one_line(text: str) -> str:
    assert text.startswith("acc: ")
    assert text.count("\n") == 1
    return text


class CountingStore(InMemoryStore):
    """A store in memory that knows which ids it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()

    def add(self, tenant: str, artifacts: Sequence[Artifact]) -> None:
        super().add(tenant, artifacts)
        self.ids |= {artifact.id for artifact in artifacts}


def evidence(store: ArtifactStore, thread: str) -> list[Artifact]:
    return ThreadLog(store, whose(thread), str).branch("main").artifacts


def uninterrupted(file: Path) -> tuple[list[Artifact], int]:
    """The evidence of a replay that nothing happened to, and the records of any kind."""
    store = CountingStore()
    memory, state = MemoryController(store), None
    for turn in read_conversation(file).turns:
        state = memory.step(state, turn, thread="nodes").state
    with memory._lock:
        memory._log_of(whose("nodes")).flush()
    return evidence(store, "nodes"), len(store.ids)


def facts(artifacts: list[Artifact]) -> list[tuple[Any, ...]]:
    return [(a.id, a.seq, a.turn, a.kind, a.ref, a.part, a.identity, a.text) for a in artifacts]
