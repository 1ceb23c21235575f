"""The Chroma store on a real server, on the loopback: shared, behind credentials, restarted, gone, or none."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from messages import THREAD, Journal, indexed, said

from acc.artifacts.chroma import ChromaStore
from acc.errors import ConfigurationError, StoreError

CHROMA = Path(sys.executable).with_name("chroma")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A Chroma server of its own, in a folder, on a free port; ended by its process."""

    def __init__(self, folder: Path) -> None:
        self.port, self.configuration = free_port(), folder / "server.yaml"
        chosen = {"persist_path": str(folder), "listen_address": "127.0.0.1", "port": self.port}
        self.configuration.write_text("".join(f"{k}: {json.dumps(v)}\n" for k, v in chosen.items()))
        self.start()

    def start(self) -> None:
        given: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([CHROMA, "run", self.configuration], **given)
        deadline = time.monotonic() + 30
        while not self._answers():
            assert self.process.poll() is None, "chroma run ended"
            assert time.monotonic() < deadline, "chroma run does not answer"
            time.sleep(0.02)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=10)

    def store(self) -> ChromaStore:
        return ChromaStore.server(f"http://127.0.0.1:{self.port}", timeout=10)

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 0.2).close()
        except OSError:
            return False
        return True


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("server"))
    yield running
    running.stop()


@pytest.mark.slow
@pytest.mark.skipif(not CHROMA.exists(), reason="the chroma command is not installed")
class TestServer:
    def test_two_stores_see_each_other(self, server: Server) -> None:
        with closing(server.store()) as one, closing(server.store()) as other:
            one.add(THREAD, [said(1, "the key is blue")])
            assert other.add(THREAD, [said(1, "the key is blue"), said(2, "by the other")]) == 1
            assert [a.seq for a in one.query(THREAD, "blue key", limit=1)] == [1]
            assert one.last(THREAD, "main") == 2
            assert not one.compact()
            one.delete(THREAD)

    def test_a_server_that_goes_and_comes_back(self, tmp_path: Path) -> None:
        server, journal = Server(tmp_path), Journal(first=1)
        try:
            with closing(server.store()) as store:
                index = indexed(journal, store)
                journal.write("before")
                index.committed(THREAD, "main")
                server.stop()
                with pytest.raises(StoreError, match=r"cannot be reached .*chroma run"):
                    store.count()
                journal.write("meanwhile")
                index.committed(THREAD, "main")
                assert "cannot be reached" in str(index.warnings)
                server.start()
                deadline = time.monotonic() + 10
                while not index.drain():
                    assert time.monotonic() < deadline, index.warnings
                assert store.count(THREAD) == 2
        finally:
            server.stop()
        with closing(ChromaStore.embedded(tmp_path)) as store:
            assert store.count(THREAD) == 2


def answering(status: int, body: bytes) -> tuple[HTTPServer, list[Any]]:
    """Start an HTTP server that always answers the same."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.headers)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    running = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, args=[0.02], daemon=True).start()
    return running, asked


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (401, b"who are you?", r"answers with status 401 .*headers="),
        (503, b"later", "answers with status 503"),
        (200, b"<html>", "cannot be used"),
        (200, b"[]", "To fix: "),
    ],
)
def test_what_is_no_server(status: int, body: bytes, told: str) -> None:
    running, asked = answering(status, body)
    try:
        address = f"http://127.0.0.1:{running.server_port}"
        with pytest.raises(StoreError, match=told):
            ChromaStore.server(address, headers={"X-Token": "1234"}, timeout=5)
        assert asked[0]["X-Token"] == "1234"
    finally:
        running.shutdown()
        running.server_close()


def test_nobody_there_and_one_that_never_answers() -> None:
    with pytest.raises(StoreError, match="cannot be reached") as caught:
        ChromaStore.server(f"http://user:secret@127.0.0.1:{free_port()}", timeout=5)
    assert "secret" not in str(caught.value)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(StoreError, match="does not answer in time"):
            ChromaStore.server(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.1)
    with pytest.raises(ConfigurationError, match="no address") as wrong:
        ChromaStore.server("chroma://user:secret@host")
    assert "secret" not in str(wrong.value)
