"""Whatever is malformed ends in one line that says what, where and how to fix it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from conversation_files import as_json, as_lines, operations, user
from helpers_cli import ACC, Capsys, MonkeyPatch, failing, files_of, one_line

from acc.cli import COMMANDS, app, run


def line(**message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


HELLO = line(role="user", content="hello")

# name of the file, its bytes, what is said of it, where
MALFORMED: list[tuple[str, bytes, str, str]] = [
    ("a.json", b"", "the file is empty", "a.json"),
    ("a.json", b"hello", "not JSON", "a.json, line 1"),
    ("a.json", b'[{"role": "user",\n\n"content": }]', "not JSON", "a.json, line 3"),
    ("a.jsonl", HELLO + b"\n{broken\n", "not JSON", "a.jsonl, line 3"),
    ("a.jsonl", HELLO + HELLO.strip() + b" " + HELLO, "not JSON: extra data", "a.jsonl, line 2"),
    ("a.json", b"[]\n[]", "not JSON: extra data", "a.json, line 2"),
    ("a.json", b"42", "the messages are int", "a.json"),
    ("a.json", b'{"id": 1}', "neither 'messages' nor 'turns'", "a.json"),
    ("a.json", b"[]", "no user message", "a.json"),
    ("a.jsonl", line(role="system", content="x"), "no user message", "a.jsonl"),
    ("a.jsonl", HELLO + line(role="wizard", content="x"), "unknown role 'wizard'", "line 2"),
    ("a.jsonl", HELLO + b"5\n", "int, not an object", "a.jsonl, line 2"),
    ("a.jsonl", HELLO + line(role="assistant", tool_calls=5), "tool_calls is not a list", "line 2"),
    ("a.jsonl", HELLO + b'{"role": "user", "content": "\xff"}', "not UTF-8", "a.jsonl, line 2"),
    ("a.json", b"[" * 200_000, "nested too deeply", "a.json, line 1"),
    ("a.json", b"[" + b"9" * 5_000 + b"]", "not JSON", "a.json, line 1"),
    ("s.json", b'{"turns": [5]}', "'user' is missing", "s.json, turn 1"),
    ("s.json", b'{"turns": [{"user": "x"}, {"user": 5}]}', "'user' is int", "s.json, turn 2"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "what", "where"), MALFORMED)
def test_a_malformed_file_is_refused_and_makes_no_memory(
    tmp_path: Path, capsys: Capsys, name: str, content: bytes, what: str, where: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    said = failing(capsys, "replay", file, "--memory", tmp_path / "memory")
    assert what in said
    assert f"{where})" in said
    assert "To fix: " in said
    assert not (tmp_path / "memory").exists()


def test_what_is_no_file_is_refused(tmp_path: Path, capsys: Capsys) -> None:
    assert "no such file" in failing(capsys, "replay", tmp_path / "none.json")
    assert "a folder, not a file" in failing(capsys, "replay", tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        ["reply"], ["replay"], ["replay", "f", "--max-tokens", "8"], ["replay", "f", "--turns", "-1"],
        ["replay", "f", "--compress-over", "-1"], ["retire"], ["diff", "one", "two"],
        ["show", "--turn", "0"],
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense(capsys: Capsys, arguments: list[str]) -> None:
    failing(capsys, *arguments, code=2)


def test_a_usage_error_names_the_command_whose_help_helps(capsys: Capsys) -> None:
    assert "see acc show --help" in failing(capsys, "show", "--no", code=2)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--record", "answers.jsonl"], "this option needs a model (--record)"),
        (["--model", "gpt-x", "--compress-over", "0"], "set OPENAI_API_KEY"),
        (["--model", "nowhere:x"], "LangChain makes no chat model of 'nowhere:x'"),
        (["--model", "recorded:none.jsonl"], "the record cannot be read"),
        (["--schema", "nothing"], "no schema is published as 'nothing'"),
    ],
)
def test_what_cannot_work_ends_in_one_line_with_the_fix(
    tmp_path: Path, capsys: Capsys, options: list[str], what: str, monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = as_lines(tmp_path / "a.jsonl", operations(1))
    assert run(["replay", str(file), *options]) == 1
    error = capsys.readouterr().err
    assert what in error
    assert error.count("\n") == 1
    assert "To fix: " in error


def test_a_path_that_cannot_be_written(tmp_path: Path, capsys: Capsys) -> None:
    file = as_lines(tmp_path / "a.jsonl", operations(1))
    # Below a file, and in /proc, even root cannot make a folder.
    said = failing(capsys, "replay", file, "--memory", file / "memory")
    assert f"{file}/memory" in said
    if sys.platform == "linux":
        failing(capsys, "replay", file, "--memory", "/proc/memory")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.slow
def test_a_full_disk_under_the_json(tmp_path: Path) -> None:
    file = as_lines(tmp_path / "a.jsonl", operations(1))
    command = [*ACC, "replay", str(file), "--json"]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert "No space left on device" in one_line(ended.stderr)


def test_no_output_takes_the_place_of_a_file_of_a_memory(
    tmp_path: Path, folder: Path, capsys: Capsys
) -> None:
    file = as_lines(tmp_path / "a.jsonl", operations(1))
    before, journal = files_of(folder), folder / "journal.sqlite3"
    arguments = ["replay", file, "--model", "m@http://localhost:1", "--record", journal]
    assert "the output would overwrite a file of a memory" in failing(capsys, *arguments)
    assert files_of(folder) == before


COMMANDS_OF_A_MEMORY = [
    ["show"], ["diff"], ["threads"], ["verify"], ["heads"], ["retire", "c1"], ["inspect"],
    ["search", "x"], ["hold"], ["hold", "u1", "--thread", "t", "--reason", "legal"],
    ["export", "out.jsonl"], ["backup", "copy"], ["reindex"], ["erase", "--thread", "t"],
    ["prune", "--policy", "period"],
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS_OF_A_MEMORY, ids=" ".join)
@pytest.mark.parametrize("kind", ["missing", "empty", "file", "empty journal"])
def test_what_is_no_memory_is_told_in_one_line_and_left_as_it_is(
    command: list[str], kind: str, tmp_path: Path, capsys: Capsys, monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "place"
    if kind == "file":
        place.write_text("mine")
    elif kind != "missing":
        place.mkdir()
    if kind == "empty journal":
        (place / "journal.sqlite3").touch()
    assert str(place) in failing(capsys, *command, "--memory", place)
    assert run(["doctor", "--memory", str(place)]) == (kind in ("file", "empty journal"))
    left = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*"))
    assert left == {
        "missing": [], "empty journal": ["place", "place/journal.sqlite3"],
    }.get(kind, ["place"])  # fmt: skip
    assert kind != "file" or place.read_text() == "mine"


@pytest.mark.slow
def test_nothing_but_one_line_comes_out_of_a_process(tmp_path: Path) -> None:
    file = as_json(tmp_path / "a.json", [user("x"), {"role": "nobody", "content": "y"}])
    ended = subprocess.run([*ACC, "replay", str(file)], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("acc: ")
    assert "message 2" in ended.stderr


def commands(command: Any, *names: str) -> Iterator[tuple[str, Any]]:
    """Yield each command that does something."""
    if not hasattr(command, "commands"):
        yield " ".join(names), command
        return
    for name in command.list_commands(None):
        if names or name in COMMANDS:
            yield from commands(command.get_command(None, name), *names, name)


def options_of(command: Any) -> list[str]:
    return [name for given in command.params for name in given.opts if name.startswith("--")]


def test_the_help_fits_a_screen_and_says_what_the_help_of_each_says(capsys: Capsys) -> None:
    assert run(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 36
    assert max(map(len, lines)) <= 80
    group: Any = typer.main.get_command(app)
    for name, (_, summary) in COMMANDS.items():
        assert group.get_command(None, name).help.splitlines()[0] == summary
        assert len(summary.split()) <= 11, name


SHARED = {"--memory", "--thread", "--scope", "--model", "--yes", "--json", "--help"}


def test_twenty_commands_have_90_options_each_explained_and_at_most_eight_of_its_own() -> None:
    found = dict(commands(typer.main.get_command(app)))
    assert len(found) <= 20
    assert sum(len(options_of(command)) for command in found.values()) <= 90
    for name, command in found.items():
        assert len(set(options_of(command)) - SHARED) <= 8, name
        assert all(getattr(given, "help", "x") for given in command.params), name


def test_every_command_can_tell_it_in_json() -> None:
    without = [n for n, c in commands(typer.main.get_command(app)) if "--json" not in options_of(c)]
    assert sorted(without) == [
        "heads",
        "inspect",
        "mcp",
    ]  # JSON lines by itself; and two that serve


def test_the_list_of_commands_loads_none_of_them() -> None:
    code = "import sys; from acc.cli import run; run(['--help']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1]
    assert not [
        m
        for m in ("acc.journal", "acc.step.result", "numpy", "rich", "sqlalchemy")
        if f"'{m}'" in loaded
    ]
