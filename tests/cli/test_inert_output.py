"""Whatever a tool, a document or a caller wrote: what is printed moves no cursor and forges no line."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc import Channel, MemoryController, Observation, Turn
from acc.cli import run
from acc.evaluation.probe_results import write_csv
from acc.evidence.documents import Documents
from acc.report.page import document, write_page
from acc.stores.directory import namespace
from acc.text.lines import InertStream, inert, inert_line

ESCAPES = "\x1b]0;PWNED\x07\x1b[2J\x9b31m\x00\u202efdp.exe\u2066\x08"
NAME = f"t\x1b[31m{ESCAPES}\nforged: 9 commits recomputed, all equal\r=cmd|'/c calc'!A0"
ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

COMMANDS = [
    ["search", "nginx"], ["search", "nginx", "--json"], ["search", f"nginx{ESCAPES}"],
    ["threads"], ["threads", "--json"], ["verify"], ["verify", "--json"], ["show"], ["show", "--json"],
    ["show", "--provenance"], ["diff", "0"], ["diff", "--json"], ["show", "--thread", NAME],
    ["show", "--thread", f"no{ESCAPES}"], ["verify", "--head", ESCAPES], [f"no{ESCAPES}"],
    ["show", f"--no{ESCAPES}"], ["retire", f"c9{ESCAPES}"], ["doctor"], ["doctor", "--repair"],
    ["erase", "--thread", NAME, "--dry-run"], ["erase", "--user", ESCAPES, "--dry-run"],
    ["hold", "--thread", NAME, "--reason", ESCAPES], ["prune", "--policy", "history", "--dry-run"],
    ["hold", "--thread", NAME, "--release"], ["prune", "--policy", ESCAPES], ["vacuum"],
    ["export", "{tmp}/out\x1b[2J.jsonl"],
    ["import", f"{{tmp}}/{ESCAPES.replace(chr(0), '')}"], ["retire", "c1", "--thread", NAME],
]  # fmt: skip


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory in which every name and every text is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    document = folder / "report\x1b[2J\u202e.md"
    document.write_text(f"nginx {ESCAPES} is down", encoding="utf-8")
    with MemoryController.open(folder / "m") as opened:
        Documents.of(opened, namespace()).ingest(document)
        state = None
        for said in ("Never restart nginx.", "What of nginx?"):
            turn = Turn(
                observations=(
                    Observation(channel=Channel.USER, text=f"{said}{ESCAPES}"),
                    Observation(
                        channel=Channel.TOOL, name=NAME, call_id="c", text=f"nginx {ESCAPES} down"
                    ),
                    Observation(channel=Channel.AGENT, text=f"ok{ESCAPES}"),
                )
            )
            state = opened.step(state, turn, thread=NAME).state
    return folder / "m"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: inert_line(" ".join(c))[:40])
def test_no_command_prints_a_control_character(
    command: list[str], memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [argument.replace("{tmp}", str(tmp_path)) for argument in command]
    run([*arguments, "--memory", str(memory)])
    for printed in capsys.readouterr():
        assert not ACTIVE.search(printed)
        assert not any(line.startswith("forged:") for line in printed.splitlines())


def test_a_replay_and_its_report_are_inert(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = tmp_path / "in.json"
    words = f"Never restart nginx.{ESCAPES}</script><script>alert(1)</script>"
    said.write_text(json.dumps([{"role": "user", "content": words}]))
    report = tmp_path / "page.html"
    thread = f"{NAME}<img src=x onerror=alert(1)>"
    command = ["replay", str(said), "--repair", "--thread", thread, "--report", str(report)]
    assert run(command) == 0
    told = capsys.readouterr()
    assert not ACTIVE.search(told.out + told.err)
    text = report.read_text(encoding="utf-8")
    assert not ACTIVE.search(text)
    assert "<script>alert" not in text
    assert "<img" not in text


def test_json_on_stdout_keeps_its_values(memory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["threads", "--json", "--memory", str(memory)]) == 0
    assert NAME.replace("\x00", "\ufffd") in [
        entry["thread"].replace("\x00", "\ufffd") for entry in json.loads(capsys.readouterr().out)
    ]


@pytest.mark.parametrize("cell", ["=cmd|'/c calc'!A0", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_cell_of_a_csv_is_a_formula(cell: str, tmp_path: Path) -> None:
    write_csv(tmp_path / "x.csv", ["name", "figure"], [[cell, -1.5]])
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        _, (name, figure) = list(csv.reader(file))
    assert name.lstrip()[0] not in "=+-@"
    assert figure == "-1.5"


def test_a_page_holds_no_control_character(tmp_path: Path) -> None:
    write_page(document(f"x{ESCAPES}", "", style="", data={"said": ESCAPES}), tmp_path / "p.html")
    text = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert not ACTIVE.search(text)
    data = re.search(r'id="data">(.*?)</script>', text)
    assert data is not None
    assert json.loads(data[1]) == {"said": ESCAPES}


@given(st.text())
def test_inert_text_is_inert_and_json_keeps_its_value(text: str) -> None:
    shown = inert(text)
    assert not ACTIVE.search(shown)
    assert inert(shown) == shown
    assert "\n" not in inert_line(text)
    value: Any = json.loads(inert(json.dumps({"x": text}, ensure_ascii=False)))
    assert value == {"x": text}


def test_a_stream_takes_what_any_stream_takes() -> None:
    under = io.StringIO()
    stream = InertStream(under)
    assert stream.write("a\x1bb\n") == 4
    stream.writelines(["c\x00", "d"])
    with stream:
        assert not stream.isatty()
    assert under.getvalue() == "a\\u001bb\nc\\u0000d"
