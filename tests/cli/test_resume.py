"""A replay that was stopped in any way goes on, and ends as if nothing had happened."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from conversation_files import as_lines, operations
from processes import ACC, evidence, facts, one_line, started, uninterrupted, until_turn

from acc.cli import run
from acc.controller import MemoryController
from acc.stores.chroma.store import ChromaArtifactStore
from acc.turn.conversations import read_conversation

TURNS = 40
"""Enough that a signal arrives long before the last turn."""


@pytest.fixture
def conversation(tmp_path: Path) -> Path:
    return as_lines(tmp_path / "nodes.jsonl", operations(TURNS))


def stop_in_every_way(command: list[str]) -> None:
    """Start ``command`` four times: its reader goes, Ctrl-C, and twice kill -9."""
    process = started(command)  # its reader goes away
    until_turn(process, 1)
    process.stdout.close()  # type: ignore[union-attr]
    assert process.wait(60) == 141
    one_line(process.stderr.read())  # type: ignore[union-attr]

    process = started(command)  # Ctrl-C
    until_turn(process, 5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "run the same command to continue" in one_line(said)

    for turn in (7, 9):
        process = started(command)
        until_turn(process, turn)
        process.kill()
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_a_killed_replay_goes_on_with_exactly_the_same_evidence(
    conversation: Path, tmp_path: Path
) -> None:
    memory, out = tmp_path / "memory", tmp_path / "out.jsonl"
    command = ["replay", str(conversation), "--memory", str(memory), "--json", str(out)]
    stop_in_every_way(command)

    ended = subprocess.run([*ACC, *command], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert re.search(r"has \d+ turns: continuing at turn \d+", ended.stdout)
    assert "\x1b" not in ended.stdout

    objects = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [o["turn"] for o in objects] == list(range(1, TURNS + 1))
    assert [o["state"]["turn"] for o in objects] == list(range(1, TURNS + 1))
    chain = [o["state"]["hash"] for o in objects]
    assert [o["state"]["parent"] for o in objects[1:]] == chain[:-1]
    assert run(["verify", "--memory", str(memory), "--head", chain[-1]]) == 0

    store = ChromaArtifactStore.embedded(memory)
    stored = evidence(store, "nodes")
    store.close()
    expected, records = uninterrupted(conversation)
    assert facts(stored) == facts(expected)
    assert records_in_chroma(memory) == records


def records_in_chroma(memory: Path) -> int:
    """Every record of the store, counted by SQLite: nothing is there twice under another id."""
    with sqlite3.connect(memory / "chroma.sqlite3") as database:
        count: int = database.execute("select count(*) from embeddings").fetchone()[0]
    return count


@pytest.mark.slow
def test_set_aside_items_of_a_killed_last_turn_are_written_without_another_turn(
    conversation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = MemoryController.open(tmp_path / "memory")
    state = None
    for turn in read_conversation(conversation).turns:
        state = memory.step(state, turn, thread="nodes").state
    memory.artifacts.close()  # without Memory.close, as a kill leaves it
    assert run(["replay", str(conversation), "--memory", str(tmp_path / "memory")]) == 0
    assert f"is complete ({TURNS} turns): nothing to replay" in capsys.readouterr().out
    with closing(ChromaArtifactStore.embedded(tmp_path / "memory")) as store:
        assert facts(evidence(store, "nodes")) == facts(uninterrupted(conversation)[0])
