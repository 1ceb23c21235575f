"""`acc inspect`, `acc mcp` and `acc schema`, and commands that other packages add."""

from __future__ import annotations

import json
import signal
import sys
import urllib.request
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import typer
from conversation_files import as_lines, operations
from helpers_cli import Capsys, MonkeyPatch, failing, printed, started, told

from acc import cli
from acc.cli.serve import bound

extra = typer.Typer(add_completion=False)


@extra.command()
def probe(number: int) -> None:
    """Probe."""
    print("probed", number)


@extra.command()
def judge() -> None:
    """Judge."""


def joining(monkeypatch: MonkeyPatch, value: str) -> None:
    entry = EntryPoint("eval", value, cli.GROUP)
    monkeypatch.setattr(cli, "joined", lambda: {"eval": entry})


def test_another_package_adds_commands_by_an_entry_point(
    monkeypatch: MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.setitem(sys.modules, "acc_more", sys.modules[__name__])
    joining(monkeypatch, "acc_more:extra")
    assert "eval     Commands of the package acc_more." in printed(capsys, "--help")
    assert printed(capsys, "eval", "probe", "7") == "probed 7\n"
    assert "see acc eval probe --help" in failing(capsys, "eval", "probe", "x", code=2)


def test_a_package_that_cannot_be_loaded_is_one_line(
    monkeypatch: MonkeyPatch, capsys: Capsys
) -> None:
    joining(monkeypatch, "acc_nowhere:app")
    assert "acc eval cannot be loaded" in failing(capsys, "eval", "probe")
    assert "threads  List the threads" in printed(capsys, "--help")


@pytest.mark.parametrize(("command", "module"), [("inspect", "uvicorn"), ("mcp", "mcp")])
def test_a_server_without_its_extra_says_what_to_install(
    command: str, module: str, folder: Path, monkeypatch: MonkeyPatch, capsys: Capsys
) -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    for package in ("inspector", "mcp_server"):
        for name in [
            n for n in sys.modules if n.startswith(f"{cli.__name__.rpartition('.')[0]}.{package}")
        ]:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    said = failing(capsys, command, "--memory", folder)
    assert f"pip install 'agent-cognitive-compressor[{command}]'" in said


def test_what_no_server_can_serve_is_refused(tmp_path: Path, capsys: Capsys) -> None:
    place = ["--memory", tmp_path / "m"]
    assert "control characters" in failing(capsys, "mcp", "--thread", "a\nb", *place)
    with bound(0, "") as taken:
        assert taken.getsockname()[0] == "127.0.0.1"
        port = taken.getsockname()[1]
        assert f"port {port} cannot be used" in failing(capsys, "mcp", "--http", port, *place)
    assert not (tmp_path / "m").exists()


@pytest.mark.slow
def test_the_inspector_is_served_and_ends_with_ctrl_c(folder: Path) -> None:
    process = started(["inspect", "--memory", folder, "--port", "0"])
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    with urllib.request.urlopen(f"{url}api/threads", timeout=10) as answer:
        rows = json.load(answer)["threads"]
    assert len(rows) == 1
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0


def test_schemas_are_listed_though_one_of_them_cannot_be_loaded(
    monkeypatch: MonkeyPatch, capsys: Capsys
) -> None:
    from acc.cli import schema

    value = "acc.state.model:CompressedCognitiveState"
    entries = {"broken": "nowhere:X", "generic": value}
    found = {name: EntryPoint(name, v, "acc.schemas") for name, v in entries.items()}
    monkeypatch.setattr(schema, "published", lambda: found)
    rows = {row["name"]: row for row in told(capsys, "schema")}
    assert rows["generic"]["class"] == value
    assert "cannot be loaded" in rows["broken"]["summary"]
    assert "generic" in printed(capsys, "schema")


CLINIC = """
from typing import Annotated
from acc import CompressedCognitiveState, Slot
from acc.state.items import Name, Record

class Case(Record):
    key = ("case",)
    case: Name

class ClinicState(CompressedCognitiveState):
    cases: Annotated[tuple[Case, ...], Slot("cases", "h", "Cases", places=8)] = ()
"""


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "clinic.py").write_text(CLINIC, encoding="utf-8")
    yield "clinic.py"
    sys.modules.pop("clinic", None)


def test_a_schema_is_shown_and_exported(clinic: str, capsys: Capsys) -> None:
    assert "ClinicState: " in (shown := printed(capsys, "schema", clinic))
    assert "plus 9 slots of the generic state" in shown
    assert told(capsys, "schema", clinic)["schema"] == "ClinicState"
    document = json.loads(printed(capsys, "schema", clinic, "--as", "state"))
    assert {"cases", "constraints"} <= document["properties"].keys()
    assert "cases" in printed(capsys, "schema", clinic, "--as", "wire")


def test_a_thread_of_a_schema_of_ones_own_is_replayed_shown_and_verified(
    clinic: str, tmp_path: Path, monkeypatch: MonkeyPatch, capsys: Capsys
) -> None:
    file = as_lines(tmp_path / "nodes.jsonl", operations(2))
    place = ["--memory", tmp_path / "memory"]
    printed(capsys, "replay", file, "--schema", clinic, *place)
    assert "a schema that is not installed (ClinicState)" in failing(capsys, "show", *place)
    out = printed(capsys, "verify", *place)
    assert "2 commits not recomputed: the schema ClinicState is not known here" in out
    assert "set ACC_SCHEMA=file.py" in out
    monkeypatch.setenv("ACC_SCHEMA", clinic)
    state = told(capsys, "show", *place)["state"]
    assert state["schema_name"] == "ClinicState"
    assert told(capsys, "verify", *place)["is_clean"]
    printed(capsys, "replay", file, "--schema", clinic, *place)
