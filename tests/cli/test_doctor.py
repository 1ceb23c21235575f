"""`acc doctor`: on which rung an endpoint stands and what ails it; and whether what is installed works."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from processes import one_line

from acc.cli import run
from acc.compress.openai_calls import forget
from acc.controller import MemoryController
from acc.testing import Capabilities, Fault, ModelServer, Request
from acc.turn.turn import Turn

GREETING = {"greeting": "Bonjour", "letters": 7}


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def greets(_: Request) -> Any:
    return GREETING


def told(server: ModelServer, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    code = run(["doctor", "--endpoint", server.base_url, "--model", "test-model", *more])
    out = capsys.readouterr()
    assert (code == 0) == (not out.err)
    return code, " ".join(out.out.split())


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(
    ("formats", "says"),
    [
        (("json_schema", "tool", "json_object"), "JSON schema: the endpoint"),
        (("tool", "json_object"), "forced tool call"),
        (("json_object",), "JSON object: the endpoint ensures JSON"),
        ((), "plain text"),
    ],
)
@pytest.mark.parametrize("unsupported", ["refuse", "ignore"])
def test_the_rung_is_told_in_words(
    formats: Any, says: str, unsupported: Any, api: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    can = Capabilities(formats=formats, unsupported=unsupported)

    def answers(request: Request) -> Any:
        # A model that nothing holds to JSON answers in words; asked to write JSON, it does.
        held = can.knows(request.format) and request.format != "text"
        asked = any("JSON Schema" in m.text for m in request.messages)
        return GREETING if held or (request.format == "text" and asked) else "Bonjour! Seven."

    with ModelServer(answers, capabilities=can) as server:
        code, said = told(server, capsys, "--api", api)
    assert code == 0
    assert says in said
    assert "a call took" in said
    if not formats or "json_schema" not in formats:
        assert ("accepted and ignored" in said) == (unsupported == "ignore")
        assert ("json_schema: refused" in said) == (unsupported == "refuse")


@pytest.mark.parametrize(
    ("fault", "says", "hint"),
    [
        (Fault("401"), "rejects the key", "OPENAI_API_KEY"),
        (Fault("404", code="model_not_found"), "does not know the model", "GET /v1/models"),
        (Fault("429"), "rate_limited", "wait, raise the rate limit"),
        (Fault("500"), "server_error", "read the server's log"),
        (Fault("html_page"), "malformed_reply", "ends in /v1"),
        (Fault("hang"), "deadline", "too slow"),
        (Fault("refusal"), "refusal", "use another model"),
        (Fault("truncated"), "truncated", "max_output_tokens"),
        (Fault("wrong_shape"), "wrong_shape", "use a stronger model"),
        (Fault("no_response"), "connection_reset", "read the server's log"),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else "",
)
def test_what_ails_it_and_how_to_mend_it(
    fault: Fault, says: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(greets, faults=lambda _: fault) as server:
        code = run(
            ["doctor", "--endpoint", server.base_url, "--model", "test-model", "--seconds", "0.5"]
        )
    out = capsys.readouterr()
    assert code == 1
    assert says in out.out
    assert hint in " ".join(out.out.split())
    assert says in one_line(out.err)


def test_nobody_listens(capsys: pytest.CaptureFixture[str]) -> None:
    with ModelServer.refused() as url:
        assert run(["doctor", "--endpoint", url, "--model", "m"]) == 1
        assert "start the server" in capsys.readouterr().out
        assert run(["doctor", "--endpoint", url]) == 1
        assert "start the server" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("endpoint", "hint"),
    [
        ("127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
        ("localhost:8000", "http://localhost:8000"),
        ("models.example.com/v1", "http://models.example.com/v1"),
    ],
)
def test_an_address_without_its_beginning_is_no_model(
    endpoint: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", "--endpoint", endpoint]) == 1
    assert hint in one_line(capsys.readouterr().err)


@pytest.mark.parametrize("name", ["llama3:8b", "meta-llama/Llama-3.1-8B", "qwen2.5:72", "gpt-x"])
def test_a_models_name_is_asked_for(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(greets, capabilities=Capabilities(models=(name,))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        assert run(["doctor", "--endpoint", name]) == 0
    assert name in capsys.readouterr().out


def test_a_server_without_tls_is_told_from_one_that_is_not_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ModelServer(greets) as server:
        url = server.base_url.replace("http:", "https:")
        assert run(["doctor", "--endpoint", url, "--model", "m"]) == 1
    assert "begin with http://" in " ".join(capsys.readouterr().out.split())


def test_a_model_alone_needs_an_endpoint(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--model", "gpt-x"]) == 1
    assert "--endpoint gpt-x" in one_line(capsys.readouterr().err)


def test_the_key_and_the_model_are_those_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    can = Capabilities(api_key="right", models=("one", "two"))
    with ModelServer(greets, capabilities=can) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert run(["doctor", "--endpoint", "two"]) == 1
        assert "OPENAI_API_KEY" in one_line(capsys.readouterr().err)
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        assert run(["doctor", "--endpoint", "two"]) == 0
        assert "two at http" in capsys.readouterr().out
        assert run(["doctor", "--endpoint", server.base_url]) == 0  # the first it lists
        assert "one at http" in capsys.readouterr().out
        assert run(["doctor", "--endpoint", "three"]) == 1
        assert "three" in one_line(capsys.readouterr().err)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-0123456789")
        assert run(["doctor", "--endpoint", "two"]) == 1
        told = capsys.readouterr()
        assert "rejects the key" in told.out
        assert "sk-wrong" not in told.out + told.err


def test_a_slow_endpoint_and_one_without_usage_are_noted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("acc.cli.doctor_endpoint.SLOW", 0.05)
    faults = [Fault("delay", seconds=0.2)]
    with ModelServer(greets, faults=faults) as server:
        _, said = told(server, capsys)
    assert "commits in the background" in said
    with ModelServer(greets, faults=[Fault("missing_usage")]) as server:
        _, said = told(server, capsys, "--json")
    levels = [(c["level"], c["what"]) for c in json.loads(said)["checks"]]
    assert any(level == "note" and "does not report used tokens" in what for level, what in levels)


@pytest.mark.slow
def test_the_installation_and_a_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "memory"
    assert run(["doctor", "--memory", str(folder), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert all(check["level"] != "bad" for check in first["checks"])
    assert "no memory" in first["checks"][-1]["what"]
    assert not folder.exists()  # looking makes nothing
    with MemoryController.open(folder) as memory:
        memory.step(None, Turn.said("Never restart nginx."), thread="t")
        assert run(["doctor", "--memory", str(folder)]) == 0
        assert "open in this process" in capsys.readouterr().out
    assert run(["doctor", "--memory", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["records"] > 0
    assert found["checks"][-1]["what"].startswith("the store opens, and its")
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as database, database:
        database.execute(
            "UPDATE embedding_metadata SET string_value = 'Restart nginx.' WHERE key = 'chroma:document' "
            "AND string_value LIKE 'Never restart nginx%'"
        )
    assert run(["doctor", "--memory", str(folder)]) == 1
    assert "the text of a record was changed" in one_line(capsys.readouterr().err)


def test_a_package_of_the_wrong_version_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = ["numpy>=999", "nothing-of-the-kind>=1", 'matplotlib>=3.9; extra == "plots"']
    monkeypatch.setattr("acc.cli.doctor.requires", lambda _: declared)
    assert run(["doctor", "--memory", str(tmp_path / "none")]) == 1
    out = capsys.readouterr().out
    assert "numpy" in out
    assert "pip install 'numpy>=999'" in out
    assert "nothing-of-the-kind is not installed" in out
    assert "matplotlib" not in out
