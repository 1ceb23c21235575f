"""`acc replay`: what it tells, what it leaves, and that it goes on where it stopped."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from conversation_files import agent, as_json, as_lines, operations, user
from processes import ACC, one_line, started

from acc.audit.log import AuditLog
from acc.cli import run
from acc.stores.chroma.store import ChromaArtifactStore
from acc.turn.conversations import read_conversation

TURNS = 12
KEYS = {
    "turn", "state", "rendered", "tokens", "reads", "tail", "later", "transcript_tokens",
    "verdicts", "refused", "evicted", "ms", "outcome", "failure", "usage", "money",
}  # fmt: skip
COLUMNS = [
    "turn", "state", "transcript", "candidates", "admitted", "committed", "evicted", "ms",
]  # fmt: skip


@pytest.fixture
def conversation(tmp_path: Path) -> Path:
    return as_lines(tmp_path / "nodes.jsonl", operations(TURNS))


def test_json_on_stdout_is_all_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    conversation: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    assert run(["replay", str(conversation), "--turns", "3", "--style", "predicates"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert COLUMNS in [line.split() for line in lines]
    rows = [line.split() for line in lines if re.match(r"\s+\d+(\s+[\d,]+){7}$", line)]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert any("full transcript" in line for line in lines)
    assert any(line.startswith("constraints:") for line in lines)
    assert re.fullmatch(
        r"3 turns in [\d.]+ s: state [\d,]+ tokens, transcript [\d,]+ tokens, ratio [\d.]+"
        r", peak memory [\d,]+ MB",
        lines[-1],
    )
    assert all(len(line) <= 80 for line in lines if line.startswith(" "))
    assert list(temporary.iterdir()) == []


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
    capsys.readouterr()
    other = as_lines(tmp_path / "other.jsonl", [user("hello"), agent("hi")])
    (out := tmp_path / "out.jsonl").write_text("what was there\n")
    assert run(["replay", str(other), *arguments, "--json", str(out)]) == 1
    assert "holds another conversation" in one_line(capsys.readouterr().err)
    assert out.read_text() == "what was there\n"
    assert run(["replay", str(conversation), "--turns", "3", *arguments, "--json", str(out)]) == 0
    assert [json.loads(line)["turn"] for line in out.read_text().splitlines()] == [1, 2, 3]


@pytest.mark.slow
def test_a_second_process_on_the_path_is_refused(conversation: Path, tmp_path: Path) -> None:
    with closing(ChromaArtifactStore.embedded(tmp_path / "memory")):
        process = started(["replay", str(conversation), "--memory", str(tmp_path / "memory")])
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


@pytest.mark.slow
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
