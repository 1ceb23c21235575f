"""`acc replay`: what it tells, what it leaves, and that it goes on where it stopped."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conversation_files import agent, as_json, as_lines, operations, user
from helpers_cli import ACC, Capsys, MonkeyPatch, one_line, printed, started, told, until_turn

from acc.cli import run
from acc.journal import Journal
from acc.turn.conversations import read_conversation

KEYS = {
    "turn", "state", "rendered", "tokens", "reads", "transcript_tokens", "notes", "no_room", "outcome", "failure",
    "usage",
}  # fmt: skip
COLUMNS = ["turn", "reads", "state", "tail", "transcript", "in", "out", "evicted", "outcome"]


def lines_of(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_json_on_stdout_is_all_there_is(tmp_path: Path, capsys: Capsys) -> None:
    file = as_json(tmp_path / "nodes.json", operations(3))
    assert run(["replay", str(file), "--json", "--turns", "2"]) == 0
    objects = lines_of(capsys.readouterr().out)
    assert len(objects) == 2
    read = read_conversation(file)
    for index, each in enumerate(objects):
        assert set(each) == KEYS
        assert each["tokens"] == -(-len(each["rendered"].encode()) // 4)
        assert each["tokens"] < each["reads"]
        assert each["transcript_tokens"] == sum(
            -(-len(text.encode()) // 4) for texts in read.texts[: index + 1] for text in texts
        )
    assert [note["reason"] for note in objects[0]["notes"]].count("added") >= 1
    rules = [rule["words"]["text"] for rule in objects[1]["state"]["constraints"]]
    assert rules == ["Never restart db-1 before noon.", "Never restart db-2 before noon."]


def test_the_screen_tells_rows_state_tail_and_summary(
    conversation: Path, tmp_path: Path, capsys: Capsys, monkeypatch: MonkeyPatch
) -> None:
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    lines = printed(capsys, "replay", conversation, "--turns", "3").splitlines()
    assert COLUMNS in [line.split() for line in lines]
    rows = [line.split() for line in lines if re.match(r"\s+\d+(\s+[\d,]+){7}\s+compressed$", line)]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert '- "Never restart db-3 before noon."' in lines
    assert any(line.startswith("[user] Never restart db-3") for line in lines)
    assert re.fullmatch(
        r"3 turns in [\d.]+ s: memory [\d,]+ tokens, transcript [\d,]+ tokens, ratio [\d.]+",
        lines[-1],
    )
    assert all(len(line) <= 80 for line in lines if line.startswith(" "))
    assert list(temporary.iterdir()) == []


def test_a_replay_goes_on_and_tells_the_earlier_turns_too(
    conversation: Path, tmp_path: Path, capsys: Capsys
) -> None:
    memory = tmp_path / "memory"
    command = ["replay", conversation, "--memory", memory]
    first = lines_of(printed(capsys, *command, "--turns", "3", "--json"))
    assert "has 3 turns: continuing at turn 4" in printed(capsys, *command, "--turns", "5")
    rows = lines_of(printed(capsys, *command, "--turns", "5", "--json"))
    assert [row["turn"] for row in rows] == [1, 2, 3, 4, 5]
    own = ("state", "reads", "notes", "transcript_tokens")
    assert [[r[k] for k in own] for r in rows[:3]] == [[r[k] for k in own] for r in first]
    states = [row["state"] for row in rows]
    assert all(after["parent"] == before["hash"] for before, after in pairwise(states))
    assert "is complete (5 turns): nothing to replay" in printed(capsys, *command, "--turns", "5")
    assert told(capsys, "verify", "--memory", memory)["is_clean"]


def test_a_retired_rule_stays_retired_when_the_replay_goes_on(
    conversation: Path, tmp_path: Path, capsys: Capsys
) -> None:
    memory = tmp_path / "memory"
    printed(capsys, "replay", conversation, "--memory", memory, "--turns", "2")
    rules = told(capsys, "show", "--memory", memory)["state"]["constraints"]
    printed(capsys, "retire", rules[0]["id"], "--memory", memory, "--reason", "moved")
    printed(capsys, "replay", conversation, "--memory", memory, "--turns", "4")
    held = [
        each["words"]["text"]
        for each in told(capsys, "show", "--memory", memory)["state"]["constraints"]
    ]
    assert held == [f"Never restart db-{n} before noon." for n in (2, 3, 4)]
    assert told(capsys, "threads", "--memory", memory)[0]["branches"] == []


def test_another_conversation_is_not_mixed_in(
    conversation: Path, tmp_path: Path, capsys: Capsys
) -> None:
    arguments = ["--memory", str(tmp_path / "memory"), "--thread", "one"]
    printed(capsys, "replay", conversation, "--turns", "2", *arguments)
    other = as_lines(tmp_path / "other.jsonl", [user("hello"), agent("hi")])
    assert run(["replay", str(other), *arguments]) == 1
    assert "holds another conversation" in one_line(capsys.readouterr().err)
    later = [*operations(1), user("Something else."), agent("Yes.")]
    assert run(["replay", str(as_lines(tmp_path / "l.jsonl", later)), *arguments]) == 1
    assert "turn 2 of " in one_line(capsys.readouterr().err)
    with Journal.open(tmp_path / "memory") as journal:
        assert [head.branch for head in journal.heads()] == ["main"]


def test_rules_that_find_no_room_are_told_and_the_replay_goes_on(
    tmp_path: Path, capsys: Capsys
) -> None:
    said = [
        part
        for n in range(30)
        for part in (user(f"Never restart the service-{n} at night."), agent("Noted."))
    ]
    file = as_lines(tmp_path / "rules.jsonl", said)
    out = printed(capsys, "replay", file, "--max-tokens", "200")
    assert "no_room u" in out
    assert re.search(r"30 turns in .* \d+ turns without room for a rule", out)


@pytest.mark.slow
def test_a_replay_that_is_stopped_in_any_way_ends_as_if_nothing_had_happened(
    tmp_path: Path,
) -> None:
    conversation = as_lines(tmp_path / "nodes.jsonl", operations(120))
    memory, whole = tmp_path / "memory", tmp_path / "whole"
    command = ["replay", conversation, "--memory", memory]

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

    process = started(command)
    until_turn(process, 9)
    process.kill()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL

    ended = subprocess.run(
        [*ACC, *map(str, command)], capture_output=True, text=True, check=False, timeout=120
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert re.search(r"has \d+ turns: continuing at turn \d+", ended.stdout)
    assert "\x1b" not in ended.stdout

    rows = re.findall(r"^ +(\d+) .* (?:compressed|kept)$", ended.stdout, re.MULTILINE)
    assert [int(row) for row in rows] == list(range(1, 121))
    assert run(["verify", "--memory", str(memory)]) == 0
    assert run(["replay", str(conversation), "--memory", str(whole)]) == 0
    texts = []
    for folder in (memory, whole):
        with Journal.open(folder) as journal:
            texts.append(
                [
                    (m.seq, m.message.ref, m.message.text)
                    for m in journal.messages("nodes", also_open=True)
                ]
            )
    assert texts[0] == texts[1]
