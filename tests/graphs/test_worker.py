"""A worker over HTTP, in this process: what it answers, and what it refuses."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from servers import chroma, postgresql

from acc.errors import (
    AuditError,
    ConflictError,
    InputError,
    PinnedOverflow,
    StoreError,
    StoreUnavailableError,
)
from acc_graphs import triage
from acc_graphs.deployment import deployed, prepare
from acc_graphs.worker import Handler, Server, Turns, answer_to


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A worker on a folder and a file."""
    monkeypatch.delenv("ACC_MODEL", raising=False)
    where = str(tmp_path / "memory"), str(tmp_path / "checkpoints.sqlite")
    prepare(where[1])
    with deployed(*where) as parts, Server(("127.0.0.1", 0), Handler) as server:
        monkeypatch.setattr(Handler, "turns", Turns(parts), raising=False)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def asked(url: str, body: bytes | None = None) -> tuple[int, dict[str, Any], str | None]:
    """Status, body and Retry-After of the answer."""
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, body), timeout=30)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, json.load(answer), answer.headers.get("Retry-After")


def message(number: int, text: str) -> bytes:
    return json.dumps({"id": f"m{number}", "text": text}).encode()


def test_a_message_that_is_sent_again_is_taken_in_once(address: str) -> None:
    said = message(1, "Never restart a pipeline during clinic hours.")
    first = asked(f"{address}/north/ann/t", said)
    assert first[0] == 200
    assert asked(f"{address}/north/ann/t", said) == first
    second = asked(f"{address}/north/ann/t", message(2, "Get it moving."))[1]
    assert (first[1]["turn"], second["turn"]) == (1, 2)
    assert second["answer"].startswith("Not yet, by your own rule: Never restart a pipeline")


def test_threads_of_one_name_are_apart_by_tenant_and_user(address: str) -> None:
    asked(f"{address}/north/ann/t", message(1, "Never restart a pipeline during clinic hours."))
    for place in ("south/ann/t", "north/bob/t", "north/ann/t2"):
        status, body, _ = asked(f"{address}/{place}", message(1, "Get it moving."))
        assert (status, body["turn"]) == (200, 2), "the message, and what the tool did"
        assert "rule" not in body["answer"]


def test_a_second_request_for_a_running_thread_is_a_conflict(address: str) -> None:
    with Handler.turns.queues.place("north/ann/t"):
        status, body, after = asked(f"{address}/north/ann/t", message(1, "Hello."))
    assert (status, body["error"], after) == (409, "ConflictError", "1")
    assert asked(f"{address}/north/ann/other", message(1, "Hello."))[0] == 200


@pytest.mark.slow
def test_a_message_that_two_workers_get_is_answered_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go = [], threading.Event()
    decide = triage.decide

    def waiting(prompt: Any) -> Any:
        asked.append(prompt)
        assert go.wait(60)
        return decide(prompt)

    monkeypatch.delenv("ACC_MODEL", raising=False)
    monkeypatch.setattr(triage, "decide", waiting)
    said = ("north/ann/t", "m1", "Never restart a pipeline during clinic hours.")
    with chroma(tmp_path / "chroma") as server, postgresql() as address:
        prepare(address)
        where = str(tmp_path / "memory"), address, server
        with (
            deployed(*where) as parts, closing(Turns(parts)) as first,
            deployed(*where) as others, closing(Turns(others)) as other,
            ThreadPoolExecutor(1) as pool,
        ):  # fmt: skip
            running = pool.submit(first.turn, *said)
            while not asked:
                time.sleep(0.02)
            with pytest.raises(ConflictError, match="another worker") as conflict:
                other.turn(*said)
            assert answer_to(conflict.value)[0] == 409
            go.set()
            answer = running.result(60)
            assert other.turn(*said) == answer
            assert len(asked) == 1
            end_connections(address)
            assert other.turn("north/ann/t", "m2", "Get it moving.")["turn"] == 2


def end_connections(address: str) -> None:
    """End every other connection, as a restart of the server does."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("north/ann", message(1, "Hello.")), ("north//t", message(1, "Hello.")), ("n/a/t", b"{"),
        ("n/a/t", b"[]"), ("n/a/t", b'{"id": "1"}'), ("n/a/t", b'{"id": 1, "text": "x"}'),
    ],
)  # fmt: skip
def test_a_request_without_thread_or_message_is_refused(
    address: str, path: str, body: bytes
) -> None:
    status, told, after = asked(f"{address}/{path}", body)
    assert (status, told["error"], after) == (400, "InputError", None)


def test_probes(address: str) -> None:
    assert [asked(f"{address}/{name}")[0] for name in ("live", "ready", "other")] == [200, 200, 404]
    Handler.turns._parts["memory"].close()
    assert [asked(f"{address}/{name}")[0] for name in ("live", "ready")] == [200, 503]


class OperationalError(Exception):
    """As a database's driver has it (PEP 249)."""


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConflictError("x"), (409, "1")),
        (PinnedOverflow("x"), (422, None)),
        (InputError("x"), (400, None)),
        (StoreUnavailableError("x"), (503, "5")),
        (StoreError("x"), (503, None)),
        (OperationalError("x"), (503, "5")),
        (AuditError("x"), (500, None)),
        (KeyError("x"), (500, None)),
    ],
)
def test_each_error_has_a_status_and_says_whether_to_send_again(
    error: Exception, expected: tuple[int, str | None]
) -> None:
    status, headers, _ = answer_to(error)
    assert (status, headers.get("Retry-After")) == expected
