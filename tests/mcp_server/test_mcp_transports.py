"""`acc mcp` as a process: stdio and streamable HTTP, signals, kills, and who may connect."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from clients import Called, call
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from acc import MemoryController
from acc.cli import run
from acc.errors import ConfigurationError
from acc.mcp_server.transports import Address
from acc.stores.protocol import Thread
from acc.testing import Fault, ModelServer
from acc.thread.log import ThreadLog

SECRET = "correct-horse-battery-staple"
ACC = [sys.executable, "-m", "acc", "mcp"]


class Raw:
    """A server over stdio whose lines a test writes and reads itself."""

    def __init__(self, arguments: list[str], environment: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*ACC, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})},
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


@contextmanager
def serving_http(*arguments: str, token: str = "") -> Iterator[tuple[str, subprocess.Popen[str]]]:
    process = subprocess.Popen(
        [*ACC, "--http", "--port", "0", *arguments], stdout=subprocess.PIPE, text=True,
        stderr=subprocess.PIPE, env={**os.environ, "ACC_MCP_TOKEN": token},
    )  # fmt: skip
    try:
        assert process.stderr is not None
        found = None
        while found is None:
            line = process.stderr.readline()
            assert line, process.wait(10)
            found = re.search(r"http://\S+/mcp", line)
        yield found[0], process
    finally:
        process.kill()
        process.communicate()


def texts(memory: MemoryController, thread: str) -> list[str]:
    state = memory.last_state(thread)
    log = ThreadLog(memory.artifacts, Thread(thread=thread), str)
    branch = log.branch(state.branch if state else "main")
    return [a.text for a in branch.artifacts if a.kind == "observation"]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_talks_over_stdio(mode: str, tmp_path: Path) -> None:
    arguments = ["-m", "acc", "mcp", "--memory", str(tmp_path / "m"), "--speaks-for", "user",
                 "--thread", "inc"]  # fmt: skip
    server = StdioServerParameters(
        command=sys.executable, args=arguments, env={**os.environ, "ACC_MCP_TOKEN": "unused"}
    )

    async def conversation() -> list[str]:
        async with Client(server, mode=mode) as client:
            told = await call(client, "remember", text="Never restart nginx at noon.")
            state = await client.read_resource("acc://inc/state")
            return [told, str(state.contents[0].text)]  # type: ignore[union-attr]

    for turn in (1, 2):  # the second process goes on where the first stopped
        told, state = asyncio.run(conversation())
        assert told.startswith(f"stored in turn {turn}")
        assert "Never restart nginx at noon" in state


@pytest.mark.slow
def test_nothing_but_the_protocol_goes_to_stdout(tmp_path: Path) -> None:
    server = Raw(["--memory", str(tmp_path / "m"), "--speaks-for", "user"])
    server.hello()
    told = server.call("remember", text="Bitte niemals freitags etwas ausrollen.", thread="t")
    assert "language_not_read" in told
    assert server.call("nothing_of_the_kind").startswith("Unknown tool")
    assert server.process.stdin is not None
    server.process.stdin.write("this is no JSON\n")
    rest, errors = server.end()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert "WARNING acc." in errors
    assert "is not English" in errors
    assert "Traceback" not in errors
    assert server.process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_server_that_waits_for_input(number: int, tmp_path: Path) -> None:
    server = Raw(["--memory", str(tmp_path / "m")])
    server.hello()
    server.call("remember", text="Lotte is on call.", thread="t")
    rest, errors = server.end(number)
    assert (rest, errors) == ("", "")
    assert server.process.returncode == 128 + number
    with MemoryController.open(tmp_path / "m") as memory:
        assert memory.resumed == []
        assert texts(memory, "t") == ["Lotte is on call."]


@pytest.mark.slow
@pytest.mark.parametrize("channel", ["user", "agent", "tool"])
def test_a_kill_amid_remember_neither_loses_nor_doubles(channel: str, tmp_path: Path) -> None:
    folder = ["--memory", str(tmp_path / "m"), "--speaks-for", channel]
    said = {"text": "Lotte signed the replay.", "thread": "t", "message_id": "m-1"}
    with ModelServer(faults=lambda _: Fault("hang")) as model:
        environment = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "none"}
        server = Raw([*folder, "--model", "test-model"], environment)
        server.hello()
        server.send("tools/call", name="remember", arguments=said)
        asyncio.run(_until(lambda: bool(model.requests)))
        server.end(signal.SIGKILL)
    again = Raw(folder)
    again.hello()
    assert again.call("remember", **said).startswith("stored in turn 1")
    assert again.call("remember", **said).startswith("already stored in turn 1")
    assert again.call("remember", text="The rota is done.", thread="t").startswith(
        "stored in turn 2"
    )
    again.end(signal.SIGKILL)  # after the answer: the commit stands
    last = Raw(folder)
    last.hello()
    assert last.call("remember", **said).startswith("already stored in turn 1")
    last.end()
    with MemoryController.open(tmp_path / "m") as memory:
        assert texts(memory, "t") == ["Lotte signed the replay.", "The rota is done."]
    assert run(["verify", "--memory", str(tmp_path / "m")]) == 0


async def _until(holds: Any) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.05)


@pytest.mark.slow
def test_a_second_server_on_the_folder_says_what_to_do(tmp_path: Path) -> None:
    first = Raw(["--memory", str(tmp_path / "m")])
    first.hello()
    second = Raw(["--memory", str(tmp_path / "m")])
    rest, errors = second.end()
    first.end()
    assert second.process.returncode == 1
    assert rest == ""
    assert errors.startswith("acc: ")
    assert "To fix:" in errors
    assert errors.count("\n") == 1


@pytest.mark.slow
def test_clients_share_a_server_over_http(tmp_path: Path) -> None:
    with serving_http("--memory", str(tmp_path / "m")) as (url, process):

        async def both() -> list[Called]:
            async with Client(url) as one, Client(url, mode="legacy") as other:
                said = (call(client, "remember", text=f"{name}{n} is up.", thread="t")
                        for n in range(3) for client, name in ((one, "web"), (other, "db")))  # fmt: skip
                told = await asyncio.gather(*said)
                return [*told, await call(one, "recall", query="Is db2 up?", thread="t")]

        *told, found = asyncio.run(both())
        assert sorted(int(each.split()[3]) for each in told) == list(range(1, 7))
        assert "db2 is up." in found
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert rest == ""
    assert "Traceback" not in errors
    with MemoryController.open(tmp_path / "m") as memory:
        assert len(texts(memory, "t")) == 6


@contextmanager
def chroma(folder: Path) -> Iterator[str]:
    """A Chroma server; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [
        str(Path(sys.executable).with_name("chroma")),
        "run",
        "--path",
        str(folder),
        "--port",
    ]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([*command, str(port)], stdout=quiet, stderr=quiet)

    def answers() -> bool:
        assert process.poll() is None
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            return True
        return False

    try:
        asyncio.run(_until(answers))
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(10)


@pytest.mark.slow
def test_two_servers_share_a_thread_through_a_chroma_server(tmp_path: Path) -> None:
    with chroma(tmp_path / "chroma") as address:
        parameters = StdioServerParameters(
            command=sys.executable, env=dict(os.environ),
            args=["-m", "acc", "mcp", "--memory", str(tmp_path / "m"), "--server", address],
        )  # fmt: skip

        async def each(client: Client, name: str) -> list[Called]:
            return [await call(client, "remember", text=f"{name}{n} is up.", thread="t")
                    for n in range(3)]  # fmt: skip

        async def both() -> list[Called]:
            async with Client(parameters) as one, Client(parameters) as other:
                told = await asyncio.gather(each(one, "web"), each(other, "db"))
                state = [await call(client, "read_state", thread="t") for client in (one, other)]
                assert state[0] == state[1]
                return [*told[0], *told[1]]

        told = asyncio.run(both())
        assert sorted(int(each.split()[3]) for each in told if not each.failed) == list(range(1, 7))


PING = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {},
               "clientInfo": {"name": "test", "version": "1"}},
}  # fmt: skip
ACCEPTS = {"accept": "application/json, text/event-stream"}


@pytest.mark.slow
def test_pages_of_other_hosts_and_clients_without_the_token_are_refused(tmp_path: Path) -> None:
    token = SECRET
    bearer = {"authorization": f"Bearer {token}"}
    with serving_http("--memory", str(tmp_path / "m"), token=token) as (url, _):

        def status(**headers: str) -> int:
            return httpx2.post(url, json=PING, headers={**ACCEPTS, **headers}).status_code

        assert status(**bearer) == 200
        assert [status(), status(authorization="Bearer wrong"), status(authorization=token)] == [
            401
        ] * 3
        assert status(**bearer, host="evil.example") == 421
        assert status(**bearer, origin="http://evil.example") == 403
        assert status(**bearer, origin="http://localhost:3000") == 200

        async def conversation() -> Called:
            async with (
                httpx2.AsyncClient(headers=bearer) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                return await call(client, "remember", text="Lotte is on call.", thread="t")

        assert asyncio.run(conversation()).startswith("stored in turn 1")


@pytest.mark.parametrize(
    ("address", "token", "why"),
    [
        (Address("0.0.0.0"), "", "without a token"),
        (Address("10.1.2.3"), "", "without a token"),
        (Address("example.org"), "", "without a token"),
        (Address("::"), "", "without a token"),
        (Address("0.0.0.0"), SECRET, "every name"),
        (Address("::"), SECRET, "every name"),
        (Address("10.1.2.3"), "short", "shorter than 16"),
        (Address(), f"{SECRET} ", "no header"),
        (Address(), f"{SECRET}\u00e9", "no header"),
        (Address(), f"{SECRET}\udcff", "no header"),
    ],
)
def test_others_reach_the_server_only_with_a_token_and_by_a_name(
    address: Address, token: str, why: str
) -> None:
    with pytest.raises(ConfigurationError, match=why):
        address.check(token)


@pytest.mark.parametrize(
    ("address", "token"),
    [
        (Address(), ""),
        (Address("localhost"), ""),
        (Address("::1"), ""),
        (Address("127.0.0.9"), ""),
        (Address("10.1.2.3"), SECRET),
        (Address("0.0.0.0", names=("memory.example",)), SECRET),
    ],
)
def test_this_machine_needs_no_token(address: Address, token: str) -> None:
    address.check(token)


def test_only_named_hosts_are_accepted() -> None:
    allowed = Address("0.0.0.0", names=("memory.example",)).security
    assert {"memory.example", "memory.example:*", "localhost:*"} <= {*allowed.allowed_hosts}
    assert "https://memory.example" in allowed.allowed_origins
    assert allowed.enable_dns_rebinding_protection
    assert "[::1]:*" in Address("::1").security.allowed_hosts


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--http", "--host", "0.0.0.0"], "without a token"),
        (["--port", "9000"], "without HTTP"),
        (["--host", "0.0.0.0"], "without HTTP"),
        (["--mode", "revise"], "needs a model"),
        (["--speaks-for", "operator"], "operator"),
        (["--thread", "a\nb"], "control characters"),
        (["--http", "--host", "192.0.2.1", "--allow-host", "x"], "without a token"),
    ],
)
def test_a_wrong_option_is_one_line_that_says_what_fits(
    arguments: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.delenv("ACC_MCP_TOKEN", raising=False)
    monkeypatch.chdir(tmp_path)
    assert run(["mcp", *arguments]) in (1, 2)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert why in shown.err
    assert "To fix:" in shown.err
    assert shown.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_without_the_extra_the_command_names_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        "from acc.cli import run\n"
        f"sys.exit(run(['mcp', '--memory', {str(tmp_path / 'm')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'agent-cognitive-compressor[mcp]'" in done.stderr
    assert not (tmp_path / "m").exists()
