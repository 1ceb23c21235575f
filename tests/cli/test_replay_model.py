"""`acc replay --model`: a model compresses, and the table tells what it cost."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conversation_files import as_lines, operations
from processes import one_line

from acc.cli import run
from acc.compress.openai_calls import forget
from acc.testing import Fault, ModelServer, Request

TURNS = 3


@pytest.fixture
def conversation(tmp_path: Path) -> Path:
    return as_lines(tmp_path / "nodes.jsonl", operations(TURNS))


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def noting(request: Request) -> Any:
    ref = re.findall(r"^<<\w{8} user (\S+)", request.messages[1].text, re.MULTILINE)[-1]
    rule = re.findall(r"Never restart db-\d+ before noon", request.messages[1].text)[-1]
    held = {"text": rule, "kind": "prohibition", "quote": rule, "cites": [ref], "id": ""}
    return {
        "constraints": [held],
        "episodic_trace": [{"text": f"noted {ref}", "cites": [ref], "id": ""}],
    }


def asked_of(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def test_the_table_tells_tokens_money_and_outcomes(
    conversation: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(noting, faults=[None, Fault("refusal")]) as server:
        asked_of(server, monkeypatch)
        arguments = ["--model", "test-model", "--mode", "revise", "--price", "2,8,0.5"]
        assert run(["replay", str(conversation), *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    heading = next(line.split() for line in lines if "outcome" in line.split())
    assert heading[-5:] == ["in", "out", "cached", "money", "outcome"]
    rows = [line.split() for line in lines if re.match(r"\s+\d+\s+[\d,]+.*(ok|refusal)$", line)]
    assert [row[-1] for row in rows] == ["ok", "refusal", "ok"]
    read = [int(row[-5].replace(",", "")) for row in rows]
    assert read == [request.input_tokens for request in server.requests]
    assert all(float(row[-2]) > 0 for row in rows)
    assert any("the compressor failed: CompressionError: refusal" in line for line in lines)
    total = f"model read {sum(read):,} tokens"
    assert total in lines[-1]
    assert "money 0.0" in lines[-1]
    assert "1 compression failed" in lines[-1]


def test_json_tells_the_same_and_a_resumed_run_tells_it_from_the_record(
    conversation: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["replay", str(conversation), "--memory", str(tmp_path / "memory"), "--json", "-"]
    with ModelServer(noting) as server:
        asked_of(server, monkeypatch)
        assert (
            run([*command, "--model", "openai:test-model", "--price", "1,1", "--turns", "2"]) == 0
        )
    first = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert run([*command, "--turns", "2"]) == 0
    again = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = ("outcome", "usage", "money", "failure")
    assert [[t[k] for k in told] for t in first] == [[t[k] for k in told] for t in again]
    assert first[0]["outcome"] == "ok"
    assert first[0]["money"] == (first[0]["usage"]["input"] + first[0]["usage"]["output"]) / 1e6
    assert run(["verify", "--memory", str(tmp_path / "memory")]) == 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--model", "gpt-x"], 1, "set OPENAI_API_KEY"),
        (["--model", "nowhere:x"], 1, "PROVIDER:MODEL"),
        (["--model", "gpt-x", "--price", "cheap"], 2, "IN,OUT"),
        (["--model", "gpt-x", "--price", "1"], 2, "IN,OUT"),
        (["--model", "gpt-x", "--price", "1,-1"], 1, "negative"),
        (["--model", "gpt-x", "--mode", "both"], 2, "mode"),
    ],
)
def test_what_cannot_work_ends_in_one_line_with_the_fix(
    arguments: list[str],
    code: int,
    says: str,
    conversation: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["replay", str(conversation), *arguments]) == code
    told = one_line(capsys.readouterr().err)
    assert says in told


def test_a_refused_key_ends_in_one_line_with_the_fix(
    conversation: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(faults=[Fault("401")]) as server:
        asked_of(server, monkeypatch)
        assert run(["replay", str(conversation), "--model", "test-model"]) == 1
    assert "rejects the key" in one_line(capsys.readouterr().err)
