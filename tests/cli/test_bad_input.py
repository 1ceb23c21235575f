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
from conversation_files import agent, as_json, as_lines, operations, result, user

from acc.cli import COMMANDS, app, run


def failing(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 1) -> str:
    """The one line on stderr of a command that fails."""
    assert run([str(argument) for argument in arguments]) == code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("acc: ")
    assert told.err.count("\n") == 1
    assert "Traceback" not in told.err
    return told.err


def line(**message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


HELLO = line(role="user", content="hello")

# name of the file, its bytes, what is said of it, where
MALFORMED: list[tuple[str, bytes, str, str]] = [
    ("a.json", b"", "the file is empty", "a.json"),
    ("a.json", b" \n\t\n", "the file is empty", "a.json"),
    ("a.json", b"hello", "not JSON", "a.json, line 1"),
    ("a.json", b'[{"role": "user",\n\n"content": }]', "not JSON", "a.json, line 3"),
    ("a.jsonl", HELLO + b"\n{broken\n", "not JSON", "a.jsonl, line 3"),
    ("a.jsonl", HELLO + HELLO.strip() + b" " + HELLO, "the line has two values", "a.jsonl, line 2"),
    ("a.json", b"[]\n[]", "text after the JSON", "a.json, line 2"),
    ("a.json", b"42", "the messages are int", "a.json"),
    ("a.json", b'{"messages": "hi"}', "the messages are str", "a.json"),
    ("a.json", b'{"id": 1}', "neither 'messages' nor 'turns'", "a.json"),
    ("a.jsonl", b'{"messages": []}\n{"messages": []}', "text after the JSON", "a.jsonl, line 2"),
    ("a.json", b"[]", "no user message", "a.json"),
    ("a.json", b'{"messages": []}', "no user message", "a.json"),
    ("a.json", b'{"turns": []}', "no user message", "a.json"),
    ("a.jsonl", line(role="system", content="x"), "no user message", "a.jsonl"),
    ("a.jsonl", HELLO + line(role="wizard", content="x"), "unknown role 'wizard'", "line 2"),
    ("a.jsonl", HELLO + line(content="x"), "unknown role None", "a.jsonl, line 2"),
    ("a.jsonl", HELLO + line(role=["user"], content="x"), "role is list", "a.jsonl, line 2"),
    ("a.jsonl", HELLO + b"5\n", "int, not an object", "a.jsonl, line 2"),
    ("a.jsonl", HELLO + line(role="user", content=5), "content is int", "a.jsonl, line 2"),
    ("a.jsonl", HELLO + line(role="user", content=[5]), "part of the content", "line 2"),
    ("a.jsonl", HELLO + line(role="assistant", tool_calls=5), "the tool calls are malformed", "line 2"),
    ("a.jsonl", HELLO + line(role="assistant", tool_calls=[{"id": "c"}]), "tool calls", "line 2"),
    ("a.jsonl", HELLO + line(role="tool", tool_call_id=[], content="x"), "is list", "line 2"),
    ("a.jsonl", HELLO + line(role="tool", tool_call_id="c9", content="x"),
     "the tool result 'c9' has no tool call", "a.jsonl, line 2"),
    ("a.jsonl", HELLO + line(role="tool", content="x"), "has no tool call", "line 2"),
    ("a.jsonl", HELLO + line(role="user", content="a\ud800b"), "a lone surrogate", "line 2"),
    ("a.jsonl", HELLO + line(role="user", content="a\x00b"), "a NUL byte", "a.jsonl, line 2"),
    ("a.jsonl", HELLO + line(role="user", content="x", name="\ud800"), "surrogate", "line 2"),
    ("a.jsonl", HELLO + b'{"role": "user", "content": "\xff"}', "not UTF-8", "a.jsonl, line 2"),
    ("a.json", "[]".encode("utf-16"), "not UTF-8", "a.json, line 1"),
    ("a.json", b"[" * 200_000, "nested too deeply", "a.json, line 1"),
    ("a.json", b'{"a":' * 200_000, "nested too deeply", "a.json, line 1"),
    ("a.jsonl", HELLO + b'{"role":' + b"[" * 200_000 + b"\n", "nested too deeply", "line 2"),
    ("a.json", b"[" + b"9" * 5_000 + b"]", "not JSON", "a.json, line 1"),
    ("s.json", b'{"turns": 5}', "'turns' is int, not list", "s.json"),
    ("s.json", b'{"turns": [5]}', "'user' is missing", "s.json, turn 1"),
    ("s.json", b'{"role": 5, "turns": []}', "'role' is int", "s.json"),
    ("s.json", b'{"turns": [{"user": "x"}, {"user": 5}]}', "'user' is int", "s.json, turn 2"),
    ("s.json", b'{"turns": [{"user": "x", "assistant": null}]}', "'assistant' is None", "turn 1"),
    ("s.json", b'{"turns": [{"user": "x", "tool_outputs": [{"tool": "t"}]}]}',
     "'content' is missing", "s.json, turn 1"),
    ("s.json", b'{"turns": [{"user": "\\ud800"}]}', "a lone surrogate", "s.json, turn 1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "what", "where"), MALFORMED)
def test_a_malformed_file_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: bytes,
    what: str,
    where: str,
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    said = failing(capsys, "replay", file, "--memory", tmp_path / "memory")
    assert what in said
    assert f"{where})" in said
    assert "To fix: " in said
    assert not (tmp_path / "memory").exists()


def test_what_is_no_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such file" in failing(capsys, "replay", tmp_path / "none.json")
    assert "a folder, not a file" in failing(capsys, "replay", tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        ["reply"],
        ["replay"],
        ["replay", "f", "--max-tokens", "8"],
        ["replay", "f", "--style", "prose"],
        ["replay", "f", "--server", "localhost"],
        ["replay", "f", "--server", "localhost:0"],
        ["replay", "f", "--channel", "search"],
        ["replay", "f", "--channel", "search=operator"],
        ["retire"],
        ["diff", "one", "two"],
    ],
)
def test_arguments_that_make_no_sense(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    failing(capsys, *arguments, code=2)


def test_a_usage_error_names_the_command_whose_help_helps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "see acc schema check --help" in failing(capsys, "schema", "check", "--no", code=2)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--channel", "serch=document"], "no tool 'serch' in the conversation (--channel)"),
        (["--mode", "rewrite"], "this option needs a model (--mode)"),
        (["--price", "1,2"], "this option needs a model (--price)"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], what: str
) -> None:
    file = as_lines(tmp_path / "a.jsonl", operations(1))
    assert what in failing(capsys, "replay", file, *options)
    assert "name one of " in failing(capsys, "replay", file, "--channel", "x=document")


def test_the_folder_of_an_output_is_made(tmp_path: Path) -> None:
    file = as_lines(tmp_path / "a.jsonl", operations(1))
    out = tmp_path / "not" / "yet" / "turns.jsonl"
    assert run(["replay", str(file), "--quiet", "--json", str(out)]) == 0
    assert out.read_text(encoding="utf-8").count("\n") == 1


def test_a_path_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = as_lines(tmp_path / "a.jsonl", operations(1))
    # Below a file, and in /proc, even root cannot make a folder.
    said = failing(capsys, "replay", file, "--memory", file / "memory")
    assert f"{file}/memory" in said
    if sys.platform == "linux":
        failing(capsys, "replay", file, "--memory", "/proc/memory")
        failing(capsys, "replay", file, "--json", "/proc/out.jsonl")


def test_a_full_disk_under_the_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    file = as_lines(tmp_path / "a.jsonl", operations(1))
    said = failing(capsys, "replay", file, "--quiet", "--json", "/dev/full")
    assert "No space left on device (/dev/full)" in said


def test_the_input_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = as_lines(tmp_path / "a.jsonl", operations(1))
    before = file.read_bytes()
    assert "would overwrite" in failing(capsys, "replay", file, "--json", file)
    assert file.read_bytes() == before


def test_a_server_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = as_lines(tmp_path / "a.jsonl", operations(1))
    said = failing(capsys, "replay", file, "--server", "127.0.0.1:1")
    assert "127.0.0.1:1" in said


def test_a_folder_without_a_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["show"], ["diff"], ["verify"], ["retire", "c1"], ["threads"]):
        assert "no memory" in failing(capsys, *command, "--memory", tmp_path)
    (tmp_path / "audit").mkdir()
    assert "no thread with a commit" in failing(capsys, "show", "--memory", tmp_path)


@pytest.mark.slow
def test_nothing_but_one_line_comes_out_of_a_process(tmp_path: Path) -> None:
    file = as_json(tmp_path / "a.json", [user("x"), agent("y"), result("c1", "z")])
    ended = subprocess.run(
        [sys.executable, "-m", "acc", "replay", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("acc: the tool result 'c1' has no tool call")
    assert "message 3)" in ended.stderr


def _commands(command: Any, *names: str) -> Iterator[tuple[str, Any]]:
    """Each command that does something."""
    if not hasattr(command, "commands"):
        yield " ".join(names), command
        return
    for name in command.list_commands(None):
        yield from _commands(command.get_command(None, name), *names, name)


def test_the_list_of_commands_says_what_the_help_of_each_says() -> None:
    group: Any = typer.main.get_command(app)
    for name, (_, summary) in COMMANDS.items():
        assert group.get_command(None, name).help.splitlines()[0] == summary


def test_the_first_line_of_each_help_is_short() -> None:
    for name, command in _commands(typer.main.get_command(app)):
        assert len(command.help.splitlines()[0].split()) <= 10, name
        assert all(getattr(given, "help", "x") for given in command.params), name


def test_the_list_of_commands_loads_none_of_them() -> None:
    code = "import sys; from acc.cli import run; run(['--help']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1]
    assert not [m for m in ("acc.cli.show", "acc.state", "numpy", "rich") if f"'{m}'" in loaded]


def test_every_command_can_tell_it_in_json() -> None:
    commands = {
        name: [option for given in command.params for option in given.opts]
        for name, command in _commands(typer.main.get_command(app))
    }
    assert {"replay", "verify", "schema list", "eval probe"} <= commands.keys()
    without = [name for name, options in commands.items() if "--json" not in options]
    # Two serve, and one has --as.
    assert sorted(without) == ["inspect", "mcp", "schema export"]
    assert "--as" in commands["schema export"]
