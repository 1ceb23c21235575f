"""`acc replay` as a process: what it tells, what it leaves, and that it goes on where it stopped."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conversation_files import agent, as_json, as_lines, operations, user

from acc.audit import AuditLog
from acc.cli import run
from acc.conversations import read_conversation
from acc.log import ThreadLog
from acc.memory import whose
from acc.store import Artifact, ArtifactStore
from acc.stores.chroma import ChromaArtifactStore
from acc.stores.memory import MemoryArtifactStore

TURNS = 12
KEYS = {
    "turn", "state", "rendered", "tokens", "transcript_tokens", "verdicts", "refused", "evicted", "ms",
}  # fmt: skip
ACC = [sys.executable, "-m", "acc"]


@pytest.fixture
def conversation(tmp_path: Path) -> Path:
    return as_lines(tmp_path / "nodes.jsonl", operations(TURNS))


def started(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*ACC, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
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


def evidence(store: ArtifactStore, thread: str) -> list[Artifact]:
    return ThreadLog(store, whose(thread), str).branch("main").artifacts


def uninterrupted(file: Path) -> list[Artifact]:
    """The evidence of a replay that nothing happened to."""
    from acc.controller import MemoryController

    store = MemoryArtifactStore()
    memory, state = MemoryController(store), None
    for turn in read_conversation(file).turns:
        state = memory.step(state, turn, thread="nodes").state
    with memory.lock:
        memory.log_of(whose("nodes")).flush()
    return evidence(store, "nodes")


def facts(artifacts: list[Artifact]) -> list[tuple[Any, ...]]:
    return [(a.id, a.seq, a.turn, a.kind, a.ref, a.part, a.identity, a.text) for a in artifacts]


def test_a_killed_replay_goes_on_with_exactly_the_same_evidence(
    conversation: Path, tmp_path: Path
) -> None:
    memory, out = tmp_path / "memory", tmp_path / "out.jsonl"
    command = ("replay", conversation, "--memory", memory, "--json", out)

    process = started(*command)  # its reader goes away
    until_turn(process, 1)
    process.stdout.close()  # type: ignore[union-attr]
    assert process.wait(60) == 141
    one_line(process.stderr.read())  # type: ignore[union-attr]

    process = started(*command)  # Ctrl-C
    until_turn(process, 5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on after them" in one_line(said)

    for turn in (7, 9):
        process = started(*command)
        until_turn(process, turn)
        process.kill()
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL

    ended = subprocess.run([*ACC, *map(str, command)], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert re.search(r"has \d+ turns: going on at turn \d+", ended.stdout)
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
    assert facts(stored) == facts(uninterrupted(conversation))
    assert records_in_chroma(memory) == len(stored)


def records_in_chroma(memory: Path) -> int:
    """Every record of the store, counted by SQLite: nothing is there twice under another id."""
    import sqlite3

    with sqlite3.connect(memory / "chroma.sqlite3") as database:
        count: int = database.execute("select count(*) from embeddings").fetchone()[0]
    return count


def test_set_aside_items_of_a_killed_last_turn_are_written_without_another_turn(
    conversation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from acc.controller import MemoryController

    memory = MemoryController.open(tmp_path / "memory")
    state = None
    for turn in read_conversation(conversation).turns:
        state = memory.step(state, turn, thread="nodes").state
    memory.artifacts.close()  # without Memory.close, as a kill leaves it
    assert run(["replay", str(conversation), "--memory", str(tmp_path / "memory")]) == 0
    assert "has all 12 turns: nothing to replay" in capsys.readouterr().out
    with closing(ChromaArtifactStore.embedded(tmp_path / "memory")) as store:
        assert facts(evidence(store, "nodes")) == facts(uninterrupted(conversation))


def test_json_on_stdout_is_all_there_is(
    conversation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = as_json(tmp_path / "nodes.json", operations(3))
    assert run(["replay", str(file), "--json", "-", "--turns", "2"]) == 0
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(objects) == 2
    read = read_conversation(file)
    for index, each in enumerate(objects):
        assert set(each) == KEYS
        assert each["tokens"] == -(-len(each["rendered"].encode()) // 4)
        assert each["transcript_tokens"] == sum(
            -(-len(text.encode()) // 4) for texts in read.texts[: index + 1] for text in texts
        )
        assert {"store", "recall", "qualify", "compress", "commit", "keep"} == set(each["ms"])


def test_the_screen_tells_rows_state_chart_and_summary(
    conversation: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set(Path(os.environ.get("TMPDIR", "/tmp")).glob("acc-*"))
    assert run(["replay", str(conversation), "--turns", "3", "--style", "predicates"]) == 0
    lines = capsys.readouterr().out.splitlines()
    columns = "turn state transcript candidates admitted committed evicted ms".split()
    assert columns in [line.split() for line in lines]
    rows = [line.split() for line in lines if re.match(r"\s+\d+(\s+[\d,]+){7}$", line)]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert any("transcript replayed" in line for line in lines)
    assert any(line.startswith("constraints:") for line in lines)
    assert re.fullmatch(
        r"3 turns in [\d.]+ s: state [\d,]+ tokens, transcript [\d,]+ tokens, ratio [\d.]+"
        r", peak memory [\d,]+ MB",
        lines[-1],
    )
    assert all(len(line) <= 80 for line in lines if line.startswith(" "))
    assert set(Path(os.environ.get("TMPDIR", "/tmp")).glob("acc-*")) <= before


def test_quiet_tells_the_last_line_alone(
    conversation: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["replay", str(conversation), "--turns", "1", "--quiet"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_another_conversation_is_not_mixed_in(
    conversation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--memory", str(tmp_path / "memory"), "--thread", "one", "--quiet"]
    assert run(["replay", str(conversation), "--turns", "2", *arguments]) == 0
    other = as_lines(tmp_path / "other.jsonl", [user("hello"), agent("hi")])
    assert run(["replay", str(other), *arguments]) == 1
    assert "holds another conversation" in one_line(capsys.readouterr().err)


def test_a_second_process_on_the_path_is_refused(conversation: Path, tmp_path: Path) -> None:
    with closing(ChromaArtifactStore.embedded(tmp_path / "memory")):
        process = started("replay", conversation, "--memory", tmp_path / "memory")
        out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert f"process {os.getpid()} holds the path" in one_line(said)


def terminal(arguments: list[str]) -> Iterator[bytes]:
    """What a command writes to a terminal."""
    import pty

    child, descriptor = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS="80")
        os.execv(sys.executable, [*ACC, *arguments])
    try:
        while written := os.read(descriptor, 4096):
            yield written
    except OSError:  # Linux: the other end is closed
        pass
    os.waitpid(child, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_terminal_gets_a_bar_and_colours(conversation: Path) -> None:
    written = b"".join(terminal(["replay", str(conversation), "--turns", "2"])).decode()
    assert "\x1b[38;5;" in written
    assert "/2" in written
    assert re.search(r"2 turns in", written)


def test_a_thread_keeps_its_bound_unless_another_is_named(
    conversation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = tmp_path / "memory"
    command = ["replay", str(conversation), "--memory", str(memory), "--quiet"]
    assert run([*command, "--turns", "1", "--max-tokens", "400", "--style", "predicates"]) == 0
    assert run([*command, "--turns", "2"]) == 0
    assert run([*command, "--turns", "3", "--max-tokens", "500"]) == 0
    capsys.readouterr()
    (log,) = (memory / "audit").glob("*.jsonl")
    policies = [record["policy"] for record in AuditLog(log).records()]
    assert [(p["max_tokens"], p["style"]) for p in policies] == [
        (400, "predicates"), (400, "predicates"), (500, "predicates"),
    ]  # fmt: skip
