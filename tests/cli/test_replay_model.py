"""`acc replay --model`: a model compresses, its answers are recorded, and the table tells its tokens."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conversation_files import as_lines, operations
from helpers_cli import Capsys, MonkeyPatch, printed, told

from acc.cli import run
from acc.testing import Fault, ModelServer, Request

EACH_TURN = ["--compress-over", "0"]


@pytest.fixture
def three(tmp_path: Path) -> Path:
    return as_lines(tmp_path / "nodes.jsonl", operations(3))


def notes(request: Request) -> Any:
    """Answer with the rule of the newest message of the user."""
    text = request.messages[-1].text
    rule = re.findall(r"Never restart db-\d+ before noon", text)[-1]
    return {"rules": [{"quote": rule, "ref": f"u{re.findall(r'[0-9]+', rule)[0]}"}]}


def at(server: ModelServer, monkeypatch: MonkeyPatch) -> list[str]:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return ["--model", "test-model"]


def test_the_table_tells_tokens_and_outcomes(
    three: Path, monkeypatch: MonkeyPatch, capsys: Capsys
) -> None:
    def answer(request: Request) -> Any:
        return Fault("refusal") if request.number == 2 else notes(request)

    with ModelServer(answer) as server:
        lines = printed(capsys, "replay", three, *at(server, monkeypatch), *EACH_TURN).splitlines()
    rows = [
        line.split() for line in lines if re.match(r"\s+\d+\s+[\d,]+.*(compressed|refusal)$", line)
    ]
    assert [row[-1] for row in rows] == ["compressed", "refusal", "compressed"]
    read = [int(row[-4].replace(",", "")) for row in rows]
    assert read[0] == server.requests[0].input_tokens
    assert any("the compressor failed: refusal: the model did not answer" in line for line in lines)
    assert "1 compression failed" in lines[-1]
    assert f"read {sum(r.input_tokens for r in server.requests):,} tokens" in lines[-1]
    assert '- "Never restart db-3 before noon."' in lines


def test_recorded_answers_make_the_same_states_without_a_network(
    three: Path, tmp_path: Path, monkeypatch: MonkeyPatch, capsys: Capsys
) -> None:
    answers = tmp_path / "answers.jsonl"
    first, again = tmp_path / "first", tmp_path / "again"
    with ModelServer(notes) as server:
        model = [*at(server, monkeypatch), "--compress-over", "0", "--record", answers]
        printed(capsys, "replay", three, *model, "--memory", first)
        asked = len(server.requests)
    model = ["--model", f"recorded:{answers}", "--compress-over", "0"]
    printed(capsys, "replay", three, *model, "--memory", again)
    assert len(answers.read_text().splitlines()) == asked == 3
    states = [told(capsys, "show", "--memory", each)["state"]["hash"] for each in (first, again)]
    assert states[0] == states[1]
    assert told(capsys, "verify", "--memory", again)["is_clean"]


def test_a_resumed_run_tells_what_the_record_holds(
    three: Path, tmp_path: Path, monkeypatch: MonkeyPatch, capsys: Capsys
) -> None:
    command = ["replay", str(three), "--memory", str(tmp_path / "memory"), "--json"]
    with ModelServer(notes) as server:
        assert run([*command, *at(server, monkeypatch), *EACH_TURN, "--turns", "2"]) == 0
        first = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert run([*command, *at(server, monkeypatch), *EACH_TURN, "--turns", "2"]) == 0
        again = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert len(server.requests) == 2
    shown = ("failure", "notes", "reads")
    assert [[t[k] for k in shown] for t in first] == [[t[k] for k in shown] for t in again]
    assert (first[0]["outcome"], first[0]["usage"]["requests"]) == ("compressed", 1)
    assert again[0]["usage"]["requests"] == 0


def test_what_waits_in_the_tail_costs_no_request(
    three: Path, monkeypatch: MonkeyPatch, capsys: Capsys
) -> None:
    with ModelServer(notes) as server:
        out = printed(capsys, "replay", three, *at(server, monkeypatch))
        assert list(server.requests) == []
    assert re.search(r"^\s+3 .* kept$", out, re.MULTILINE)
    assert "[user] Never restart db-1 before noon." in out
