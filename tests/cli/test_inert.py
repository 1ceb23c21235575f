"""Whatever a tool, a document or a caller wrote: what is printed moves no cursor and forges no line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from helpers_cli import Capsys, told

from acc.cli import run
from acc.controller.controller import MemoryController
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

ESCAPES = "\x1b]0;PWNED\x07\x1b[2J\x9b31m\u202efdp.exe\u2066\x08"
NAME = f"t\x1b[31m{ESCAPES}\nforged: 9 commits recomputed, all equal\r=cmd|'/c calc'!A0"
ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

COMMANDS = [
    ["search", "nginx"], ["search", "nginx", "--json"], ["search", f"none{ESCAPES}"], ["threads"],
    ["threads", "--json"], ["verify"], ["verify", "--json"], ["heads"], ["show"], ["show", "--json"],
    ["show", "--provenance"], ["diff", "0"], ["diff", "--json"], ["show", "--thread", NAME],
    ["show", "--thread", f"no{ESCAPES}"], ["verify", "--head", ESCAPES], [f"no{ESCAPES}"],
    ["show", f"--no{ESCAPES}"], ["retire", f"c9{ESCAPES}"], ["doctor"],
    ["erase", "--thread", NAME], ["erase", "--scope", f"user={ESCAPES}"],
    ["hold", "--thread", NAME, "--reason", ESCAPES], ["prune", "--policy", "history"],
    ["prune", "--policy", ESCAPES], ["hold", "--thread", NAME, "--release"],
    ["export", "{tmp}/out\x1b[2J.jsonl"], ["export", "-"], ["import", f"{{tmp}}/{ESCAPES}"],
    ["retire", "c1", "--thread", NAME],
]  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory in which every name and every text is hostile."""
    folder = tmp_path_factory.mktemp("hostile") / "m"
    with MemoryController.open(folder, index="none") as memory:
        for said in ("Never restart nginx.", "What of nginx?"):
            tool = {"channel": Channel.TOOL, "name": NAME, "call_id": "c"}
            turn = Turn(
                observations=(
                    Observation(channel=Channel.USER, text=f"{said}{ESCAPES}"),
                    Observation(**tool, text=f"nginx {ESCAPES} down"),
                    Observation(channel=Channel.AGENT, text=f"ok{ESCAPES}"),
                )
            )
            memory.step(None, turn, thread=NAME)
    return folder


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: ascii(" ".join(c))[:40])
def test_no_command_prints_a_control_character(
    command: list[str], hostile: Path, tmp_path: Path, capsys: Capsys
) -> None:
    arguments = [argument.replace("{tmp}", str(tmp_path)) for argument in command]
    run([*arguments, "--memory", str(hostile)])
    for printed in (told := capsys.readouterr()):
        assert not ACTIVE.search(printed)
        assert not any(line.startswith("forged:") for line in printed.splitlines())
    assert "a defect in acc" not in told.err


def test_a_replay_is_inert(tmp_path: Path, capsys: Capsys) -> None:
    said = tmp_path / "in.json"
    said.write_text(json.dumps([{"role": "user", "content": f"Never restart nginx.{ESCAPES}"}]))
    assert run(["replay", str(said), "--repair", "--thread", NAME]) == 0
    printed = capsys.readouterr()
    assert not ACTIVE.search(printed.out + printed.err)


def test_json_keeps_its_values(hostile: Path, capsys: Capsys) -> None:
    assert [entry["thread"] for entry in told(capsys, "threads", "--memory", hostile)] == [NAME]
