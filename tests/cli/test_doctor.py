"""`acc doctor`: what a model's server can do and what ails it; and whether what is installed works."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from helpers_cli import Capsys, MonkeyPatch, files_of, one_line, printed, taken, told

from acc.cli import run
from acc.controller.controller import MemoryController
from acc.testing import Fault, ModelServer, Request
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

GREETING = {"greeting": "Bonjour", "letters": 7}


def asked(server: ModelServer, capsys: Capsys, *more: str) -> tuple[int, str]:
    code = run(["doctor", "--endpoint", f"test-model@{server.base_url}", *more])
    out = capsys.readouterr()
    assert (code == 0) == (not out.err)
    return code, " ".join(out.out.split())


@pytest.mark.parametrize("refuses", [False, True])
def test_the_format_that_the_server_takes_is_told(refuses: bool, capsys: Capsys) -> None:
    def answer(request: Request) -> Any:
        return Fault("400") if refuses and request.schema else GREETING

    with ModelServer(answer) as server:
        code, said = asked(server, capsys)
    assert code == 0
    assert "it answers by a JSON Schema" in said
    assert "the answer took" in said
    assert ("the server refuses a JSON Schema" in said) == refuses


@pytest.mark.parametrize(
    ("fault", "says", "hint"),
    [
        (Fault("401"), "key_refused", "OPENAI_API_KEY"),
        (Fault("404", code="model_not_found"), "not_found", "GET /v1/models"),
        (Fault("429"), "rate_limited", "make fewer requests"),
        (Fault("html_page"), "malformed_reply", "chat completions API"),
        (Fault("refusal"), "refusal", "use another model"),
        (Fault("truncated"), "cut off", "reason less"),
        (Fault("wrong_shape"), "unexpected", "use a stronger model"),
        (Fault("no_response"), "unreachable", "check that the server runs"),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else "",
)
def test_what_ails_it_and_how_to_mend_it(
    fault: Fault, says: str, hint: str, capsys: Capsys
) -> None:
    with ModelServer(lambda _: fault) as server:
        code = run(["doctor", "--endpoint", f"test-model@{server.base_url}"])
    out = capsys.readouterr()
    assert code == 1
    assert says in out.out
    assert hint in " ".join(out.out.split())
    assert says in one_line(out.err)


@pytest.mark.parametrize("name", ["llama3:8b", "meta-llama/Llama-3.1-8B"])
def test_a_models_name_is_asked_for_with_the_key_of_the_environment(
    name: str, monkeypatch: MonkeyPatch, capsys: Capsys
) -> None:
    def answer(request: Request) -> Any:
        if request.headers["authorization"] != "Bearer right":
            return Fault("401")
        return GREETING if request.model == name else Fault("404")

    with ModelServer(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        assert name in printed(capsys, "doctor", "--endpoint", f"openai:{name}")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-0123456789")
        assert run(["doctor", "--endpoint", f"openai:{name}"]) == 1
        out = capsys.readouterr()
        assert "key_refused" in out.out
        assert "sk-wrong" not in out.out + out.err


def test_a_memory_of_an_agent_that_runs_is_checked(folder: Path, capsys: Capsys) -> None:
    with MemoryController.open(folder, store="none") as memory:
        memory.record([Observation(channel=Channel.AGENT, text="I look.")], thread="inc")
        out = printed(capsys, "doctor", "--memory", folder)
    assert "the journal has 1 thread, 5 messages, 4 commits" in out
    assert "note  inc: 1 message of a turn without a commit" in out
    assert "note  there is no index" in out
    assert told(capsys, "doctor", "--memory", folder)["health"]["messages"] == 5
    assert "chroma" not in "".join(files_of(folder))


@pytest.mark.slow
def test_what_the_index_lacks_is_told_and_built(folder: Path, capsys: Capsys) -> None:
    assert "4 messages of 1 thread in the index" in printed(capsys, "reindex", "--memory", folder)
    assert "ok    the index has every message" in printed(capsys, "doctor", "--memory", folder)
    taken(folder, "inc", "More.")
    assert "note  the index lacks 1 message: inc 1" in printed(capsys, "doctor", "--memory", folder)
    with MemoryController.open(folder) as memory:
        memory.step(None, Turn.said("And more."), thread="inc")
    assert "ok    the index has every message" in printed(capsys, "doctor", "--memory", folder)


@pytest.mark.slow
def test_a_damaged_index_is_built_anew(folder: Path, capsys: Capsys) -> None:
    printed(capsys, "reindex", "--memory", folder)
    file = folder / "chroma" / "chroma.sqlite3"
    file.write_bytes(b"no database" * 1_000 + file.read_bytes()[11_000:])
    assert "acc reindex" in printed(capsys, "doctor", "--memory", folder)
    out = printed(capsys, "reindex", "--memory", folder)
    assert "4 messages of 1 thread in the index" in out
    assert "the index has every message" in printed(capsys, "doctor", "--memory", folder)


def test_a_damaged_file_is_told(folder: Path, capsys: Capsys) -> None:
    file = folder / "journal.sqlite3"
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("PRAGMA journal_mode=DELETE")
    data = bytearray(file.read_bytes())
    for page in range(4, len(data) // 4096):
        data[page * 4096 : page * 4096 + 100] = b"\xff" * 100
    file.write_bytes(data)
    assert run(["doctor", "--memory", str(folder)]) == 1
    assert "bad " in capsys.readouterr().out
    assert run(["verify", "--memory", str(folder)]) == 1
