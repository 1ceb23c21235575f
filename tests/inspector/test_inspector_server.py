"""The inspector over HTTP: who may ask, and what is answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers_inspector import (
    HOME,
    HOSTILE,
    OPS,
    SAID,
    erased,
    remembered,
    threads_of,
)
from starlette.testclient import TestClient

from acc.errors import AuditError
from acc.inspector.server import application, changes_of
from acc.inspector.threads import Threads
from acc.journal import Journal, ThreadKey


def client_of(folder: Path) -> TestClient:
    async def pause() -> None:
        raise AssertionError("nothing waits here")

    return TestClient(application(threads_of(folder), pause), base_url=HOME)


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    remembered(tmp_path)
    return client_of(tmp_path)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:8765", "127.0.0.1.evil.example", "evil.localhost", "[::2]", "",
    ],
)  # fmt: skip
def test_a_foreign_host_is_refused(host: str, client: TestClient) -> None:
    for path in ("/", "/api/threads", "/api/changes", "/nothing"):
        answer = client.get(path, headers={"host": host})
        assert (answer.status_code, answer.text) == (400, "Invalid host header")


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765"])
def test_the_names_of_the_loopback_are_answered(host: str, client: TestClient) -> None:
    assert client.get("/api/threads", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:8765", ""],
)
def test_a_foreign_origin_is_refused(origin: str, client: TestClient) -> None:
    assert client.get("/api/threads", headers={"origin": origin}).status_code == 403


def test_the_own_page_is_answered(client: TestClient) -> None:
    assert client.get("/api/threads", headers={"origin": HOME}).status_code == 200


def test_every_answer_is_locked_down(client: TestClient) -> None:
    for path in ("/", "/api/threads", "/api/turn", "/nothing"):
        answer = client.get(path)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "*" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "set-cookie" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers
    assert client.post("/api/threads").status_code == 405
    for path in ("plan", "confirm", "source"):
        assert client.post(f"/api/{path}").status_code in (404, 405)  # the page only reads


def test_the_page_gets_the_list_a_thread_a_turn_and_a_source(client: TestClient) -> None:
    (row,) = client.get("/api/threads").json()["threads"]
    assert (row["thread"], row["turn"], row["log"]) == ("ops", 3, OPS)
    log = {"log": row["log"]}
    thread = client.get("/api/thread", params=log).json()
    assert [entry["turn"] for entry in thread["entries"]] == [1, 2, 3, 3]
    assert thread["branches"] == ["main"]
    again = {**log, "after": 4, "mark": thread["mark"]}
    more = client.get("/api/thread", params=again).json()
    assert (more["after"], more["entries"], more["mark"]) == (4, [], thread["mark"])
    for wrong in ({"after": 3}, {"after": 99}, {"mark": "x"}):
        whole = client.get("/api/thread", params={**again, **wrong}).json()
        assert (whole["after"], len(whole["entries"])) == (0, 4)
    turn = client.get("/api/turn", params={**log, "version": 1}).json()
    assert turn["said"][0]["text"] == SAID[0]
    assert "Never restart db-1" in turn["rendered"]
    source = client.get("/api/source", params={**log, "version": 4, "ref": "u1"}).json()
    assert source["text"] == SAID[0]


def test_what_comes_later_is_given_alone_and_after_an_erasure_all(tmp_path: Path) -> None:
    client = client_of(remembered(tmp_path))
    thread = client.get("/api/thread", params={"log": OPS}).json()
    asked = {"log": OPS, "after": 4, "mark": thread["mark"]}
    remembered(tmp_path, ["Is node-8 ready?"])
    more = client.get("/api/thread", params=asked).json()
    assert (more["after"], [entry["turn"] for entry in more["entries"]]) == (4, [4])
    erased(tmp_path, "u2")
    asked = {"log": OPS, "after": 5, "mark": more["mark"]}
    assert client.get("/api/thread", params=asked).json()["after"] == 0


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/api/thread", {}), ("/api/thread", {"log": "../x"}), ("/api/thread", {"log": "thread=no"}),
        ("/api/thread", {"log": OPS, "branch": "none"}), ("/api/turn", {"log": OPS, "version": "9"}),
        ("/api/turn", {"log": OPS, "version": "0"}), ("/api/turn", {"log": OPS, "version": "-1"}),
        ("/api/turn", {"log": OPS, "version": "\u0663"}), ("/api/turn", {"log": OPS, "version": "9" * 5_000}),
    ],
)  # fmt: skip
def test_what_is_not_there_is_an_error_with_its_reason(
    path: str, wanted: dict[str, str], client: TestClient
) -> None:
    answer = client.get(path, params=wanted)
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_a_source_that_is_not_there_says_so(client: TestClient) -> None:
    for ref in ("u9", "doc.1", "abc/u1", "../u1", ""):
        asked = {"log": OPS, "version": 1, "ref": ref}
        answer = client.get("/api/source", params=asked).json()
        assert "no message of this thread" in answer["unavailable"]


def test_one_thread_shows_nothing_of_another(tmp_path: Path) -> None:
    remembered(tmp_path, ["Ottilie has a debt."], ThreadKey("ops", user="ann"))
    client = client_of(remembered(tmp_path))
    asked = {"log": OPS, "version": 1, "ref": "u1"}
    for path in ("thread", "turn", "source"):
        assert "Ottilie" not in client.get(f"/api/{path}", params=asked).text
    assert "Ottilie" in client.get("/api/turn", params={**asked, "log": f"{OPS}&user=ann"}).text


def test_hostile_words_come_as_they_are_and_only_as_json(tmp_path: Path) -> None:
    name = HOSTILE.rstrip("\ud800")  # a journal refuses such a name
    remembered(tmp_path, [HOSTILE[:-2], "A" * 200_000], ThreadKey(name, user=name))
    client = client_of(tmp_path)
    (row,) = client.get("/api/threads").json()["threads"]
    assert "<img" in row["thread"]
    for version in (1, 2):
        answer = client.get("/api/turn", params={"log": row["log"], "version": version})
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.content.isascii()
    assert HOSTILE[:40] not in client.get("/").text


def test_the_stream_tells_which_threads_changed_and_then_waits(tmp_path: Path) -> None:
    remembered(tmp_path)

    def delete() -> None:
        with Journal.open(tmp_path) as journal:
            journal.delete_thread("ops")

    after: list[Callable[[], Any]] = [
        lambda: None,
        lambda: remembered(tmp_path, ["Is node-8 ready?"], "second"),
        delete,
    ]

    async def pause() -> None:
        after.pop(0)()

    async def told() -> list[str]:
        found: list[str] = []
        async for part in changes_of(threads_of(tmp_path), pause):
            found.append(part)
            if not after and part.startswith("event"):
                break
        return found

    events = [part for part in asyncio.run(told()) if part.startswith("event")]
    logs = [json.loads(event.partition("data: ")[2])["logs"] for event in events]
    assert logs == [[], ["thread=second"], [OPS]]


def test_a_journal_that_cannot_be_read_is_told_once_and_then_its_return(tmp_path: Path) -> None:
    class Failing(Threads):
        broken = 2

        def ends(self) -> Any:
            self.broken -= 1
            if self.broken >= 0:
                raise AuditError("the database is away")
            return super().ends()

    async def told() -> list[str]:
        async def pause() -> None: ...

        found: list[str] = []
        async for part in changes_of(Failing(threads_of(remembered(tmp_path)).journal), pause):
            found += [part] if part.startswith("event") else []
            if len(found) == 2:
                break
        return found

    first, second = asyncio.run(told())
    assert "the database is away" in first
    assert second.startswith("event: change")
