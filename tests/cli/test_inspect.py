"""`acc show`, `diff`, `verify`, `retire` and `threads` on a memory that a replay left."""

from __future__ import annotations

import importlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from conversation_files import agent, as_lines, operations, user

from acc import MemoryController, Policy, Turn
from acc.audit import segments
from acc.cli import run
from acc.testing.scripted import ScriptedCompressor

RULES = [
    "Never restart db-7 before noon.",
    "Always write times in UTC.",
    "Never page anybody outside 07:00 to 19:00.",
]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inspect")
    messages = []
    for rule in RULES:
        messages += [user(rule), agent("Understood.")]
    assert run(["replay", str(as_lines(folder / "rules.jsonl", messages)), "--memory",
                str(folder / "memory"), "--quiet"]) == 0  # fmt: skip
    return folder / "memory"


@pytest.fixture
def told(memory: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command on the memory; its exit code, stdout and stderr."""

    def command(name: str, *arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run([name, "--memory", str(memory), *arguments])
        out, error = capsys.readouterr()
        return code, out, error

    return command


def test_show_tells_the_state_after_any_turn(told: Any) -> None:
    code, out, _ = told("show")
    assert code == 0
    assert out.startswith("thread 'rules', after turn 3: ")
    assert all(rule.rstrip(".") in out for rule in RULES)
    _, out, _ = told("show", "--turn", "1", "--style", "predicates")
    assert "constraints:\n" in out
    assert RULES[2].rstrip(".") not in out
    _, out, _ = told("show", "--turn", "0")
    assert out.startswith("thread 'rules', after turn 0: 0 of")
    code, _, error = told("show", "--turn", "9")
    assert code == 1
    assert "no turn 9" in error


def test_show_in_json_and_with_provenance(told: Any) -> None:
    shown = json.loads(told("show", "--json")[1])
    assert set(shown) == {"thread", "turn", "tokens", "rendered", "state"}
    assert shown["thread"]["thread"] == "rules"
    constraint = shown["state"]["constraints"][0]
    _, out, _ = told("show", "--provenance")
    assert "\x1b" not in out
    (row,) = [line for line in out.splitlines() if line.startswith(constraint["id"] + " ")]
    assert constraint["text"] in row
    assert re.search(r"\buser\b.*\bu1\b.*\b1$", row)


def test_diff_gives_the_reasons(told: Any) -> None:
    code, out, _ = told("diff")
    assert code == 0
    assert "turn 2 to 3" in out
    assert re.search(r"^\+ c\d+ constraints: ", out, re.MULTILINE)
    assert "    turn 3: added" in out
    changes = json.loads(told("diff", "0", "3", "--json")[1])
    assert (changes["from"], changes["to"]) == (0, 3)
    added = [c for c in changes["changes"] if c["slot"] == "constraints"]
    assert [c["reasons"][0]["turn"] for c in added] == [1, 2, 3]
    assert told("diff", "3", "1")[0] == 1


def test_verify_recomputes_and_finds_a_changed_byte(
    told: Any, memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = told("verify")
    assert (code, out.count("3 commits recomputed, all equal")) == (0, 1)
    (checked,) = json.loads(told("verify", "--json", "--thread", "rules")[1])
    assert checked["commits"] == 3
    assert f"head {checked['head']}" in out
    for kept in (checked["head"], checked["state"]):
        assert told("verify", "--head", kept)[0] == 0
    assert told("verify", "--head", "0" * 64)[0] == 1
    assert told("verify", "--max-tokens", "640")[0] == 1
    (log,) = (memory / "audit").glob("*.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    forged = tmp_path / "audit" / log.name
    forged.parent.mkdir()
    forged.write_bytes(lines[0] + lines[1].replace(b"UTC", b"CET", 1) + lines[2])
    assert run(["verify", "--memory", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"{forged}, line 2" in error


def test_a_thread_that_takes_liftings_at_the_compressors_word_verifies_and_goes_on_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = [
        {"text": rule.rstrip("."), "quote": rule.rstrip("."), "cites": ["u1"]} for rule in RULES
    ]
    lifts = {"retire": [{"id": "c1", "cites": ["u2"], "quote": "Do as you like with db-7"}]}
    with MemoryController.open(
        tmp_path,
        compressor=ScriptedCompressor([{"constraints": rules}, lifts]),
        policy=Policy(lifting="accept"),
    ) as memory:
        first = memory.step(None, Turn.said(" ".join(RULES)), thread="lenient")
        done = memory.step(first.state, Turn.said("Do as you like with db-7."), thread="lenient")
    assert len(done.state.constraints) == len(RULES) - 1, "doubtful words lift, as configured"
    assert run(["retire", "c2", "--memory", str(tmp_path)]) == 0
    capsys.readouterr()
    assert run(["verify", "--memory", str(tmp_path)]) == 0
    assert "3 commits recomputed, all equal" in capsys.readouterr().out
    (log,) = (tmp_path / "audit").glob("*.jsonl")
    policies = [json.loads(line)["policy"] for line in log.read_text("utf-8").splitlines()]
    assert {policy["lifting"] for policy in policies} == {"accept"}, "the command keeps the policy"


def test_verify_tells_of_a_torn_record_an_emptied_log_and_none_at_all(
    memory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut"
    shutil.copytree(memory, cut)
    (log,) = (cut / "audit").glob("*.jsonl")
    log.write_bytes(log.read_bytes()[:-100])
    assert run(["verify", "--memory", str(cut)]) == 0
    assert (
        "2 commits recomputed, all equal; skipped an incomplete last record of"
        in capsys.readouterr().out
    )
    assert run(["verify", "--json", "--memory", str(cut)]) == 0
    assert json.loads(capsys.readouterr().out)[0]["torn_bytes"] > 0
    log.write_bytes(b"")
    assert run(["verify", "--memory", str(cut)]) == 1
    assert f"the audit log has no record ({log})" in capsys.readouterr().err
    log.unlink()
    assert run(["verify", "--memory", str(cut)]) == 1
    assert "no audit log" in capsys.readouterr().err


def test_threads_are_listed_and_must_be_named_where_there_are_several(
    told: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (listed,) = json.loads(told("threads", "--json")[1])
    assert (listed["thread"], listed["turns"]) == ("rules", 3)
    assert "rules" in told("threads")[1]
    both = tmp_path / "both"
    for name in ("one", "two"):
        file = as_lines(tmp_path / f"{name}.jsonl", operations(1))
        assert run(["replay", str(file), "--memory", str(both), "--quiet"]) == 0
    capsys.readouterr()
    assert run(["show", "--memory", str(both)]) == 1
    assert "one, two" in capsys.readouterr().err
    assert run(["show", "--memory", str(both), "--thread", "two"]) == 0
    assert run(["show", "--memory", str(both), "--thread", "three"]) == 1
    assert "no thread 'three'" in capsys.readouterr().err
    for log in (both / "audit").glob("two-*"):
        log.rename(log.with_name(f"renamed-{log.name}"))
    assert run(["show", "--memory", str(both), "--thread", "two"]) == 0


def test_show_reads_no_log_of_another_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a memory of thousands of threads, reading the newest record of each takes seconds."""
    for name in ("one", "two", "two-more"):
        file = as_lines(tmp_path / f"{name}.jsonl", operations(1))
        assert run(["replay", str(file), "--memory", str(tmp_path / "m"), "--quiet"]) == 0
    opened: list[str] = []
    newest_first = segments.newest_first

    def counted(path: Path) -> Any:
        opened.append(path.name)
        return newest_first(path)

    monkeypatch.setattr(segments, "newest_first", counted)
    assert run(["show", "--memory", str(tmp_path / "m"), "--thread", "one"]) == 0
    assert opened
    assert all(name.startswith("one-") for name in opened)


def test_the_way_out_of_too_many_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = [
        "Never restart the payments gateway on a working day.",
        "Always write every timestamp in UTC.",
        "Never mention customers by their names.",
        "Please keep each answer below eighty words.",
        "Do not page the network team at night.",
        "Always attach the ticket number to a change.",
        "Never delete a backup without asking Dana.",
        "Only book trains, no flights within Europe.",
        "Do not share the quarterly figures with anybody.",
        "Always ask finance before any refund.",
    ]
    messages = [message for rule in rules for message in (user(rule), agent("Ok."))]
    file = as_lines(tmp_path / "rules.jsonl", messages)
    replay = ["replay", str(file), "--memory", str(tmp_path / "m"), "--max-tokens", "90", "--quiet"]
    seen = 0
    while (code := run(replay)) != 0:
        error = capsys.readouterr().err
        assert code == 1
        assert error.count("\n") == 1
        assert "acc retire ID" in error
        ids = re.findall(r"\bc\d+\b", error)
        assert run(["retire", ids[0], "nothing", "--memory", str(tmp_path / "m")]) == 1
        unknown = capsys.readouterr().err
        assert "no item 'nothing'" in unknown
        assert ids[0] in unknown
        retire = ["retire", *ids[:-1], "--memory", str(tmp_path / "m"), "--reason", "obsolete"]
        assert run(retire) == 0
        assert f"retired {ids[0]}: " in capsys.readouterr().out
        seen += 1
    assert seen > 0
    assert f"{len(rules)} turns" in capsys.readouterr().out
    assert run(["verify", "--memory", str(tmp_path / "m")]) == 0
    assert f"{len(rules) + seen} commits recomputed" in capsys.readouterr().out


def test_the_environment_names_a_schema_of_the_operators_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own_desk.py").write_text(
        "from acc import CompressedCognitiveState\n"
        'class DeskState(CompressedCognitiveState):\n    """A desk."""\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    schema = importlib.import_module("own_desk").DeskState
    with MemoryController.open(tmp_path / "m", schema=schema) as memory:
        memory.step(None, Turn.said(RULES[0]), thread="t")
    monkeypatch.delenv("ACC_SCHEMA", raising=False)
    show = ["show", "--memory", str(tmp_path / "m")]
    assert run(show) == 1
    assert "or set ACC_SCHEMA=own_desk:DeskState" in capsys.readouterr().err
    for named in ("own_desk:DeskState", str(tmp_path / "own_desk.py")):
        monkeypatch.setenv("ACC_SCHEMA", named)
        assert run(show) == 0
        assert run(["verify", "--memory", str(tmp_path / "m")]) == 0
    monkeypatch.setenv("ACC_SCHEMA", "acc.state:CompressedCognitiveState")
    assert run(show) == 1
