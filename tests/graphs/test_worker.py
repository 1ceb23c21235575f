"""A worker over HTTP, in this process: what it answers, and what it refuses."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acc.errors import AuditError, ConflictError, InputError, PinnedOverflow, StoreError
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
        assert (status, body["turn"]) == (200, 1)
        assert "rule" not in body["answer"]


def test_a_second_request_for_a_running_thread_is_a_conflict(address: str) -> None:
    Handler.turns._busy.add("north/ann/t")
    status, body, after = asked(f"{address}/north/ann/t", message(1, "Hello."))
    assert (status, body["error"], after) == (409, "ConflictError", "1")
    assert asked(f"{address}/north/ann/other", message(1, "Hello."))[0] == 200


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
        (ConflictError("x", retry_after=7.2), (409, 7.2)),
        (ConflictError("x"), (409, 1.0)),
        (PinnedOverflow("x"), (422, None)),
        (InputError("x"), (400, None)),
        (StoreError("x"), (503, 1.0)),
        (OperationalError("x"), (503, 1.0)),
        (AuditError("x"), (500, None)),
        (KeyError("x"), (500, None)),
    ],
)
def test_each_error_has_a_status_and_says_whether_to_send_again(
    error: Exception, expected: tuple[int, float | None]
) -> None:
    assert answer_to(error) == expected
