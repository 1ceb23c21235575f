"""`acc mcp` as a process: stdio and streamable HTTP, signals, kills, and who may connect."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from helpers_mcp_server import Called, call, memory_in, stored
from mcp import Client, StdioServerParameters

from acc.state.policy import Policy

PROGRAM = """
import logging, sys, threading
from acc.state.policy import Cadence, Policy
from acc.controller.controller import MemoryController
from acc.mcp_server import Serving
from acc.mcp_server.server import memory_server, serve_stdio
from acc.turn.observations import Channel
class Hang:
    name = "hang"
    def complete(self, *_, **__):
        print("asked", file=sys.stderr, flush=True)
        threading.Event().wait(99)
    async def acomplete(self, *_, **__):
        self.complete()
logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
folder, channel, thread, settings = sys.argv[1:]
serving = Serving(Channel(channel), thread=thread)
with MemoryController.open(folder, **{"store": "none", **eval(settings)}) as memory:
    serve_stdio(memory_server(memory, serving))
"""
"""What `acc mcp` runs once its options are read: folder, channel, thread, further settings."""


def program(
    folder: Path, channel: str = "agent", thread: str = "", settings: str = "{}"
) -> list[str]:
    return ["-c", PROGRAM, str(folder), channel, thread, settings]


def parameters(*arguments: Any) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=program(*arguments),
        env={**os.environ},
    )


class Raw:
    """A server over stdio whose lines a test writes and reads itself."""

    def __init__(self, arguments: list[str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._number = 0

    def send(self, method: str, **params: Any) -> None:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())["result"]

    def hello(self) -> None:
        self.send(
            "initialize", protocolVersion="2025-06-18", capabilities={},
            clientInfo={"name": "test", "version": "1"},
        )  # fmt: skip
        assert self.answer()["serverInfo"]["name"] == "acc"
        assert self.process.stdin is not None
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()

    def call(self, tool: str, **arguments: Any) -> str:
        self.send("tools/call", name=tool, arguments=arguments)
        return str(self.answer()["content"][0]["text"])

    def end(self, number: int = 0) -> tuple[str, str]:
        """What was left on stdout and stderr, after a signal or the end of stdin."""
        if number:
            self.process.send_signal(number)
            self.process.wait(30)
        return self.process.communicate(timeout=30)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_talks_over_stdio(mode: str, tmp_path: Path) -> None:
    server = parameters(tmp_path / "m", "user", "inc")

    async def conversation() -> list[str]:
        async with Client(server, mode=mode) as client:
            told = await call(client, "remember", text="Never restart nginx at noon.")
            return [told, await call(client, "read_state")]

    for turn in (1, 2):  # the second process goes on where the first stopped
        told, state = asyncio.run(conversation())
        assert told.startswith(f"stored in turn {turn}")
        assert "Never restart nginx at noon" in state


@pytest.mark.slow
def test_nothing_but_the_protocol_goes_to_stdout(tmp_path: Path) -> None:
    (tmp_path / "m" / "chroma").mkdir(parents=True)
    (tmp_path / "m" / "chroma" / "chroma.sqlite3").write_bytes(b"this is no database" * 99)
    server = Raw(program(tmp_path / "m", "user", settings="{'store': None}"))
    server.hello()
    assert server.call("remember", text="Lotte is on call.", thread="t").startswith("stored")
    assert server.call("nothing_of_the_kind").startswith("Unknown tool")
    assert server.process.stdin is not None
    server.process.stdin.write("this is no JSON\n")
    rest, errors = server.end()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert "WARNING acc.mcp_server: a stored turn has warnings" in errors
    assert "Traceback" not in errors
    assert server.process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_that_waits_for_input(number: int, tmp_path: Path) -> None:
    server = Raw(program(tmp_path / "m"))
    server.hello()
    server.call("remember", text="Lotte is on call.", thread="t")
    rest, errors = server.end(number)
    assert (rest, errors) == ("", "")
    assert server.process.returncode == 128 + number
    with memory_in(tmp_path / "m") as memory:
        assert memory.journal.waiting("t") == ()
        assert stored(memory) == ["Lotte is on call."]


@pytest.mark.slow
@pytest.mark.parametrize("channel", ["user", "agent", "tool"])
def test_a_kill_amid_remember_neither_loses_nor_doubles(channel: str, tmp_path: Path) -> None:
    said = {"text": "Lotte signed the replay.", "thread": "t", "message_id": "m-1"}
    server = Raw(
        program(
            tmp_path / "m",
            channel,
            settings="{'model': Hang(), 'policy': Policy(cadence=Cadence())}",
        )
    )
    server.hello()
    server.send("tools/call", name="remember", arguments=said)
    assert server.process.stderr is not None
    assert server.process.stderr.readline() == "asked\n"
    server.end(signal.SIGKILL)
    again = Raw(program(tmp_path / "m", channel))
    again.hello()
    assert again.call("remember", **said).startswith("stored in turn 1")
    assert again.call("remember", **said).startswith("already stored in turn 1")
    told = again.call("remember", text="The rota is done.", thread="t")
    assert told.startswith("stored in turn 2")
    again.end(signal.SIGKILL)  # after the answer: the commit stands
    last = Raw(program(tmp_path / "m", channel))
    last.hello()
    assert last.call("remember", **said).startswith("already stored in turn 1")
    last.end()
    with memory_in(tmp_path / "m") as memory:
        assert stored(memory) == ["Lotte signed the replay.", "The rota is done."]
        assert memory.journal.verify([Policy(max_tokens=1_600), memory.policy]).is_clean


PING = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {},
               "clientInfo": {"name": "test", "version": "1"}},
}  # fmt: skip
ACCEPTS = {"accept": "application/json, text/event-stream"}


@pytest.mark.slow
def test_clients_share_a_server_over_http_and_pages_of_other_hosts_are_refused(
    tmp_path: Path,
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "acc", "mcp", "--memory", str(tmp_path / "m"), "--http", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    found = re.search(r"serving .* at (http://127\.0\.0\.1:\d+/mcp)", process.stderr.readline())
    assert found is not None
    url = found[1]

    def status(**headers: str) -> int:
        return httpx2.post(url, json=PING, headers={**ACCEPTS, **headers}).status_code

    async def both() -> list[Called]:
        async with Client(url) as one, Client(url, mode="legacy") as other:
            said = (call(client, "remember", text=f"{name}{n} is up.", thread="t")
                    for n in range(3) for client, name in ((one, "web"), (other, "db")))  # fmt: skip
            told = await asyncio.gather(*said)
            return [*told, await call(one, "recall", query="Is db2 up?", thread="t")]

    *told, found_text = asyncio.run(both())
    assert sorted(int(each.split()[3]) for each in told) == list(range(1, 7))
    assert "db2 is up." in found_text
    assert status(host="evil.example") == 421
    assert status(origin="http://evil.example") == 403
    assert status(origin="http://localhost:3000") == 200
    process.send_signal(signal.SIGTERM)
    rest, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert rest == ""
    assert "Traceback" not in errors
    with memory_in(tmp_path / "m") as memory:
        assert len(stored(memory)) == 6
