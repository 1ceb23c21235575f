"""The inspector over HTTP: who may ask, what is answered, and what an operator may do."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any
from urllib.request import urlopen

import pytest
from inspected import HOME, HOSTILE, SAID, looking_at, only_log, remembered
from starlette.testclient import TestClient

from acc import MemoryController, Thread
from acc.cli import run
from acc.cli.inspect import OperatorActs
from acc.errors import AuditError, ConfigurationError
from acc.inspector.acts import MOST_PLANS, Desk, Plan
from acc.inspector.guard import TOKEN, is_token
from acc.inspector.logs import Logs
from acc.inspector.server import application, bound, changes_of

SECRET = "a-token-of-the-test"


def client_of(folder: Path, **more: Any) -> TestClient:
    return TestClient(application(looking_at(folder, **more)), base_url=HOME)


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    remembered(tmp_path)
    return client_of(tmp_path)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:8765", "127.0.0.1.evil.example", "[::2]", "",
        "127.0.0.1:8765@evil.example", "localhost:8765 evil",
    ],
)  # fmt: skip
def test_a_foreign_host_is_refused(host: str, client: TestClient) -> None:
    for path in ("/", "/api/threads", "/api/changes", "/nothing"):
        answer = client.get(path, headers={"host": host})
        assert answer.status_code == 403
        assert "Host" in answer.json()["error"]


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST", "[::1]:9000"])
def test_the_names_of_the_loopback_are_answered(host: str, client: TestClient) -> None:
    assert client.get("/api/threads", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:8765", ""],
)
def test_a_foreign_origin_is_refused(origin: str, client: TestClient) -> None:
    assert client.get("/api/threads", headers={"origin": origin}).status_code == 403


def test_another_site_is_refused_and_the_own_page_is_not(client: TestClient) -> None:
    for site, code in (
        ("cross-site", 403),
        ("same-site", 403),
        ("same-origin", 200),
        ("none", 200),
    ):
        assert client.get("/api/threads", headers={"sec-fetch-site": site}).status_code == code
    assert client.get("/api/threads", headers={"origin": HOME}).status_code == 200
    assert client.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 200  # a link


def test_every_answer_is_locked_down(client: TestClient) -> None:
    for path in ("/", "/api/threads", "/api/turn", "/nothing"):
        answer = client.get(path)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "*" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "set-cookie" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers
    assert client.post("/api/threads").status_code == 405
    assert client.get("/api/plan").status_code == 404  # nobody is the operator


def test_the_page_gets_the_list_a_thread_a_turn_and_a_source(client: TestClient) -> None:
    (row,) = client.get("/api/threads").json()["threads"]
    assert (row["thread"], row["turn"], row["outcome"]) == ("ops", 3, "ok")
    log = {"log": row["log"]}
    thread = client.get("/api/thread", params=log).json()
    assert [entry["turn"] for entry in thread["entries"]] == [1, 2, 3]
    last = thread["entries"][1]["digest"]
    more = client.get("/api/thread", params={**log, "last": last, "after": 2}).json()
    assert (more["after"], len(more["entries"])) == (2, 1)
    again = client.get("/api/thread", params={**log, "last": last, "after": 3}).json()
    assert (again["after"], len(again["entries"])) == (0, 3)
    turn = client.get("/api/turn", params={**log, "position": 0}).json()
    assert turn["said"][0]["text"] == SAID[0]
    assert turn["sound"]
    assert "Never restart db-1" in turn["rendered"]
    rule = next(item for item in turn["items"] if item["slot"] == "constraints")
    assert (rule["words"], rule["sources"], rule["trust"]) == ("Never restart db-1", ["u1"], "user")
    assert {"reason": "added", "detail": ""} in turn["changes"][0]["reasons"]
    source = client.get("/api/source", params={**log, "position": 2, "ref": "u1"}).json()
    assert source["text"] == SAID[0]
    last = client.get("/api/turn", params={**log, "position": 2}).json()
    assert [gone["reason"] for gone in last["left"]]
    assert last["verdicts"][0]["reason"]
    assert 0 <= last["verdicts"][0]["score"] <= 1


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/api/thread", {}), ("/api/thread", {"log": "../x"}), ("/api/turn", {"log": "LOG", "position": "9"}),
        ("/api/turn", {"log": "LOG", "position": "-1"}), ("/api/turn", {"log": "LOG", "position": "٣"}),
        ("/api/turn", {"log": "LOG", "position": "9" * 5_000}),
    ],
)  # fmt: skip
def test_what_is_not_there_is_an_error_with_its_reason(
    path: str, wanted: dict[str, str], client: TestClient, tmp_path: Path
) -> None:
    name = only_log(tmp_path)
    answer = client.get(path, params={k: v.replace("LOG", name) for k, v in wanted.items()})
    assert answer.status_code == 400
    assert answer.json()["error"]


@pytest.mark.parametrize(
    ("ref", "why"),
    [
        ("x9", "left the state"),
        ("doc.1", "document"),
        ("abc/u1", "another thread"),
        ("u9", "no record"),
    ],
)
def test_a_source_that_is_not_in_the_log_says_why(
    ref: str, why: str, client: TestClient, tmp_path: Path
) -> None:
    asked = {"log": only_log(tmp_path), "position": 2, "ref": ref}
    assert why in client.get("/api/source", params=asked).json()["unavailable"]


def test_a_schema_that_is_not_installed_leaves_the_items(tmp_path: Path) -> None:
    remembered(tmp_path)
    path = tmp_path / only_log(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"acc.state.model:Comp", b"other.package:Comp"))
    asked = {"log": path.name, "position": 0}
    turn = client_of(tmp_path).get("/api/turn", params=asked).json()
    assert turn["rendered"] is None
    assert "not installed" in turn["unread"]
    assert not turn["sound"]  # the record was changed, and the page says so
    assert "Never restart db-1" in [item["words"] for item in turn["items"]]


def test_a_log_full_of_damage_is_told_in_a_few_words(tmp_path: Path) -> None:
    remembered(tmp_path)
    path = tmp_path / only_log(tmp_path)
    path.write_bytes(b"damage\n" * 5_000 + path.read_bytes())
    told = client_of(tmp_path).get("/api/thread", params={"log": path.name}).json()
    assert [entry["turn"] for entry in told["entries"]] == [1, 2, 3]
    assert len(told["faults"]) == 21
    assert told["faults"][-1] == "and 4,980 more"


def test_hostile_words_come_as_they_are_and_only_as_json(tmp_path: Path) -> None:
    name = HOSTILE.rstrip("\ud800")  # a store refuses such a name
    remembered(tmp_path, [HOSTILE, "A" * 200_000], Thread(thread=name, user=name))
    client = client_of(tmp_path)
    (row,) = client.get("/api/threads").json()["threads"]
    assert "<img" in row["thread"]
    for position in (0, 1):
        answer = client.get("/api/turn", params={"log": row["log"], "position": position})
        assert answer.headers["content-type"] == "application/json"
        assert answer.content.isascii()
    assert HOSTILE[:40] not in client.get("/").text


def test_the_stream_tells_which_logs_changed_and_then_waits(tmp_path: Path) -> None:
    memory = remembered(tmp_path)
    name = only_log(tmp_path)
    after: list[Callable[[], Any]] = [
        lambda: None,
        lambda: remembered(tmp_path, ["Is node-8 ready?"], "second", memory),
        lambda: (tmp_path / name).unlink(),
    ]

    async def pause() -> None:
        after.pop(0)()

    async def told() -> list[str]:
        found: list[str] = []
        async for part in changes_of(Logs(tmp_path), pause):
            found.append(part)
            if not after and part.startswith("event"):
                break
        return found

    found = asyncio.run(told())
    events = [part for part in found if part.startswith("event")]
    assert [json.loads(event.partition("data: ")[2])["logs"] for event in events[:1]] == [[]]
    assert [len(json.loads(event.partition("data: ")[2])["logs"]) for event in events] == [0, 1, 1]
    assert name in events[2]


def test_a_log_that_cannot_be_read_is_told_once_and_then_its_return(tmp_path: Path) -> None:
    class Failing(Logs):
        broken = 2

        def ends(self) -> Any:
            self.broken -= 1
            if self.broken >= 0:
                raise AuditError("the database is away")
            return super().ends()

    async def told() -> list[str]:
        async def pause() -> None: ...

        found: list[str] = []
        async for part in changes_of(Failing(tmp_path), pause):
            found += [part] if part.startswith("event") else []
            if len(found) == 2:
                break
        return found

    first, second = asyncio.run(told())
    assert "the database is away" in first
    assert second.startswith("event: change")


class Recorded:
    """Acts that note what they were asked for."""

    def __init__(self) -> None:
        self.done: list[Any] = []

    def _plan(self, *asked: Any) -> Plan:
        return Plan(["planned"], lambda: self.done.append(asked) or ["done"])

    def retire(self, thread: Thread, ids: Any, reason: str) -> Plan:
        return self._plan("retire", thread.thread, tuple(ids), reason)

    def hold(self, thread: Thread, ref: str, reason: str, *, release: bool) -> Plan:
        return self._plan("hold", thread.thread, ref, reason, release)

    def erase(self, thread: Thread, what: str, ref: str) -> Plan:
        return self._plan("erase", thread.thread, what, ref)


def test_an_act_needs_the_token_and_is_done_once_after_its_plan(tmp_path: Path) -> None:
    remembered(tmp_path)
    acts = Recorded()
    client = client_of(tmp_path, acts=acts, token=SECRET)
    asked = {"log": only_log(tmp_path), "act": "retire", "ids": ["c1"], "reason": "why"}
    for token in ({}, {TOKEN: ""}, {TOKEN: "wrong"}, {TOKEN: SECRET + "x"}, {TOKEN: "\u00e9"}):
        raw = {name: value.encode("latin-1") for name, value in token.items()}
        assert client.post("/api/plan", json=asked, headers=raw).status_code == 401
    headers = {TOKEN: SECRET}
    foreign = {**headers, "origin": "http://evil.example"}
    assert client.post("/api/plan", json=asked, headers=foreign).status_code == 403
    plan = client.post("/api/plan", json=asked, headers=headers).json()
    assert plan["lines"] == ["planned"]
    assert acts.done == []
    assert client.post("/api/confirm", json={"plan": "guess"}, headers=headers).status_code == 400
    sure = {"plan": plan["plan"]}
    assert client.post("/api/confirm", json=sure).status_code == 401
    assert client.post("/api/confirm", json=sure, headers=headers).json() == {"lines": ["done"]}
    assert client.post("/api/confirm", json=sure, headers=headers).status_code == 400
    assert acts.done == [("retire", "ops", ("c1",), "why")]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", 400), (b"[1]", 400), (b"{" * 9_000, 400), (b'{"act":"retire"}', 400), (b"x" * 70_000, 413),
        (b'{"log":"LOG","act":"format"}', 400), (b'{"log":"LOG","act":"retire","ids":"c1"}', 400),
        (b'{"log":"LOG","act":"hold","ref":7}', 400), (b'{"log":7,"act":"retire"}', 400),
    ],
)  # fmt: skip
def test_a_malformed_act_does_nothing(body: bytes, code: int, tmp_path: Path) -> None:
    remembered(tmp_path)
    acts = Recorded()
    client = client_of(tmp_path, acts=acts, token=SECRET)
    body = body.replace(b"LOG", only_log(tmp_path).encode())
    answer = client.post("/api/plan", content=body, headers={TOKEN: SECRET})
    assert (answer.status_code, acts.done) == (code, [])
    assert answer.json()["error"]


def test_old_plans_are_dropped() -> None:
    desk, thread = Desk(Recorded()), Thread(thread="t")
    first = desk.plan(thread, {"act": "erase", "what": "thread"})["plan"]
    for _ in range(MOST_PLANS):
        desk.plan(thread, {"act": "erase", "what": "thread"})
    with pytest.raises(Exception, match="no such plan waits"):
        desk.confirm(first)


def test_no_token_is_no_key() -> None:
    assert not is_token("", "")
    assert is_token(SECRET, SECRET)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("written") / "memory"
    with MemoryController.open(path) as memory:
        remembered(path / "audit", memory=memory)
    return path


@pytest.fixture
def kept(written: Path, tmp_path: Path) -> Path:
    """A memory in a folder that no process holds."""
    return copytree(written, tmp_path / "memory")


def operated(memory: Path) -> Callable[..., dict[str, Any]]:
    """Plans and confirms an act of the operator on the memory's only thread; returns what was told."""
    audit = memory / "audit"
    client = client_of(audit, acts=OperatorActs(memory, None, None), token=SECRET)

    def act(*, confirm: bool = True, **asked: Any) -> dict[str, Any]:
        headers = {TOKEN: SECRET}
        body = {"log": only_log(audit), **asked}
        told = client.post("/api/plan", json=body, headers=headers).json()
        if confirm and "plan" in told:
            told["done"] = client.post(
                "/api/confirm", json={"plan": told["plan"]}, headers=headers
            ).json()
        return dict(told)

    return act


def test_an_operator_retires_an_item(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    act = operated(kept)
    index = Logs(kept / "audit").index(only_log(kept / "audit"))
    last = Logs(kept / "audit").record(only_log(kept / "audit"), index.last)
    item = last["state"]["relational_map"][0]["id"]
    assert "no item zz9" in act(act="retire", ids=["zz9"])["error"]
    assert len(Logs(kept / "audit").index(only_log(kept / "audit")).entries) == 3
    told = act(act="retire", ids=[item], reason="audit freeze")
    assert told["lines"][0].startswith(f"retire {item}: ")
    assert told["done"]["lines"][0].startswith(f"retired {item}: ")
    entries = Logs(kept / "audit").index(only_log(kept / "audit")).entries
    assert [entry["kind"] for entry in entries] == ["turn", "turn", "turn", "operator"]
    assert run(["verify", "--memory", str(kept)]) == 0
    capsys.readouterr()


def test_an_erasure_shows_its_plan_and_then_leaves_no_trace(kept: Path) -> None:
    act = operated(kept)
    whole = (kept / "audit" / only_log(kept / "audit")).read_bytes()
    told = act(act="erase", what="evidence", ref="u2", confirm=False)
    assert "u2" in told["lines"][0]
    assert (kept / "audit" / only_log(kept / "audit")).read_bytes() == whole
    told = act(act="erase", what="evidence", ref="u2")
    assert re.search("no trace left in [0-9]+ files", " ".join(told["done"]["lines"]))
    log = only_log(kept / "audit")
    assert b"40 pods" not in (kept / "audit" / log).read_bytes()
    turn = client_of(kept / "audit").get("/api/turn", params={"log": log, "position": 1}).json()
    assert [part["text"] for part in turn["said"]] == [""]
    assert any(entry["kind"] == "erasure" for entry in Logs(kept / "audit").index(log).entries)
    source = {"log": log, "position": 1, "ref": "u2"}
    assert (
        "erasure"
        in client_of(kept / "audit").get("/api/source", params=source).json()["unavailable"]
    )


def test_a_hold_stops_an_erasure_until_it_is_released(kept: Path) -> None:
    act = operated(kept)
    assert "done" in act(act="hold", reason="legal")
    assert "a hold protects this evidence: legal" in act(act="erase", what="thread")["error"]
    assert act(act="release")["done"] == {"lines": ["no holds"]}
    assert "done" in act(act="erase", what="thread")
    assert list((kept / "audit").glob("*.jsonl")) == []


def test_while_another_holds_the_store_acts_are_refused_and_reading_goes_on(kept: Path) -> None:
    act = operated(kept)
    name = only_log(kept / "audit")
    logs = Logs(kept / "audit")
    (item, *_) = logs.record(name, logs.index(name).last)["state"]["relational_map"]
    with MemoryController.open(kept):
        for asked in (
            {"act": "retire", "ids": [item["id"]]},
            {"act": "hold", "reason": "legal"},
            {"act": "erase", "what": "thread"},
        ):
            told = act(**asked)
            assert "done" not in told
            assert "stop it, or act from within it; reading goes on" in told["hint"]
        assert len(Logs(kept / "audit").index(name).entries) == 3


def test_a_port_in_use_is_an_error_that_says_so() -> None:
    with bound(0) as first:
        assert first.getsockname()[0] == "127.0.0.1"
        with pytest.raises(ConfigurationError, match="cannot be used"):
            bound(first.getsockname()[1])


@pytest.mark.slow
def test_an_interrupt_ends_the_server_although_a_page_follows(kept: Path) -> None:
    command = [sys.executable, "-m", "acc", "inspect", "--port", "0", "--memory", str(kept)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with urlopen(f"{process.stdout.readline().strip()}api/changes", timeout=60) as stream:
        assert stream.readline() == b"event: change\n"
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_without_its_packages_the_command_says_what_to_install(package: str, kept: Path) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None; from acc.cli import run;"
        f"sys.exit(run(['inspect', '--memory', {str(kept)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'agent-cognitive-compressor[inspect]'" in done.stderr


def test_a_folder_without_a_memory_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["inspect", "--memory", str(tmp_path / "none")]) == 1
    assert "no memory in this folder" in capsys.readouterr().err
