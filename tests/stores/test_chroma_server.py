"""The Chroma store on a real server, on the loopback: shared, restarted, gone, or not one."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import chromadb
import pytest
import tenacity
from chromadb.config import Settings
from store_processes import Record

from acc.errors import StoreError, StoreMismatchError
from acc.stores.chroma.collections import collection_name, identity
from acc.stores.chroma.store import ChromaArtifactStore
from acc.stores.protocol import RECORD_BYTES
from acc.testing import check_store

CHROMA = Path(sys.executable).with_name("chroma")
AT_ONCE = tenacity.wait_none()

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMA.exists(), reason="the chroma command is not installed"),
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A Chroma server of its own, in a directory, on a free port."""

    def __init__(self, directory: Path, **more: object) -> None:
        self.port = free_port()
        chosen = {"persist_path": str(directory), "listen_address": "127.0.0.1", "port": self.port}
        self.configuration = directory / "server.yaml"
        self.configuration.write_text(
            "".join(f"{key}: {json.dumps(value)}\n" for key, value in {**chosen, **more}.items())
        )
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [CHROMA, "run", self.configuration],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
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

    def store(self, **given: Any) -> ChromaArtifactStore:
        return ChromaArtifactStore.server(port=self.port, wait=AT_ONCE, **given)

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 0.2).close()
        except OSError:
            return False
        return True


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    # A low limit: a hundred of the longest records are beyond it.
    running = Server(tmp_path_factory.mktemp("server"), max_payload_size_bytes=1_500_000)
    yield running
    running.stop()


def test_it_keeps_what_a_store_promises(server: Server) -> None:
    check_store(server.store)


def test_two_stores_see_each_other(server: Server, record: Record) -> None:
    with closing(server.store()) as one, closing(server.store()) as other:
        assert one.shared
        assert other.get("two stores", ["thread.main:1"]) == []
        one.add("two stores", [record(1, "by one")])
        other.add("two stores", [record(1, "by the other"), record(2, "by the other")])
        ids = ["thread.main:2", "thread.main:1"]
        wanted = [record(2, "by the other"), record(1, "by one")]
        assert one.get("two stores", ids) == other.get("two stores", ids) == wanted


def test_stores_that_race_for_the_first_record_agree(server: Server, record: Record) -> None:
    stores = [server.store() for _ in range(4)]
    start = threading.Barrier(len(stores))

    def race(number: int) -> None:
        start.wait()
        stores[number].add("race", [record(1, f"by {number}")])

    racers = [threading.Thread(target=race, args=[number]) for number in range(len(stores))]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    views = [store.get("race", ["thread.main:1"]) for store in stores]
    assert len(views[0]) == 1
    assert views == views[:1] * len(stores)
    for store in stores:
        store.close()


def test_another_embedder_is_found_while_the_store_is_open(server: Server, record: Record) -> None:
    raw: Any = chromadb.HttpClient("127.0.0.1", server.port, settings=Settings(_env_file=None))
    with closing(server.store()) as store:
        store.add("a tenant", [record(1)])
        other = f"{collection_name('a newer one')[:-8]}ffffffff"
        metadata = {**identity(), "acc:embed_version": 99}
        raw.create_collection(other, metadata=metadata, embedding_function=None)
        with pytest.raises(StoreMismatchError, match="acc:embed_version=99; here"):
            store.add("a newer one", [record(1)])
        with pytest.raises(StoreMismatchError, match="acc:embed_version=99; here"):
            store.get("a newer one", ["thread.main:1"])
        assert store.get("a tenant", ["thread.main:1"]) == [record(1)]
        raw.delete_collection(other)
        store.add("a newer one", [record(1)])
    raw.close()


def test_a_request_that_is_too_large(server: Server, record: Record) -> None:
    with closing(server.store()) as store:
        long = [record(seq, "x" * RECORD_BYTES) for seq in range(100)]
        with pytest.raises(StoreError, match="max_payload_size_bytes"):
            store.add("large", long)
        store.add("large", long[:10])
        assert store.get("large", [long[3].id]) == [long[3]]


def test_a_server_that_comes_back_and_makes_way_for_an_embedded_store(
    tmp_path: Path, record: Record
) -> None:
    server = Server(tmp_path)
    try:
        with closing(server.store()) as store:
            store.add("tenant", [record(1, "before")])
            server.stop()
            with pytest.raises(StoreError, match=r"cannot be reached .*chroma run"):
                store.get("tenant", ["thread.main:1"])
            with pytest.raises(StoreError, match=r"cannot be reached .*chroma run"):
                store.add("tenant", [record(2)])
            server.start()
            assert store.get("tenant", ["thread.main:1"]) == [record(1, "before")]
            store.add("tenant", [record(2, "after")])
            store.close()
            with pytest.raises(StoreError, match="the store is closed"):
                store.get("tenant", ["thread.main:1"])
    finally:
        server.stop()
    with closing(ChromaArtifactStore.embedded(tmp_path)) as store:
        wanted = [record(1, "before"), record(2, "after")]
        assert store.get("tenant", [one.id for one in wanted]) == wanted


class TestNoServer:
    @pytest.fixture
    def pretend(self) -> Iterator[Callable[[int, bytes], tuple[int, list[Any]]]]:
        """Starts an HTTP server that always answers the same; its port, and what was asked."""
        running: list[HTTPServer] = []

        def start(status: int, body: bytes) -> tuple[int, list[Any]]:
            asked: list[Any] = []

            class Handler(BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    asked.append(self.headers)
                    self.send_response(status)
                    self.end_headers()
                    self.wfile.write(body)

                def log_message(self, *_: Any) -> None:
                    pass

            running.append(HTTPServer(("127.0.0.1", 0), Handler))
            threading.Thread(target=running[-1].serve_forever, args=[0.02], daemon=True).start()
            return running[-1].server_port, asked

        yield start
        for server in running:
            server.shutdown()
            server.server_close()

    def test_nobody_there(self) -> None:
        port = free_port()
        with pytest.raises(StoreError, match=f"cannot be reached .127.0.0.1:{port}."):
            ChromaArtifactStore.server(port=port, wait=AT_ONCE)

    def test_secrets_are_not_told(self) -> None:
        with pytest.raises(StoreError) as caught:
            ChromaArtifactStore.server("http://user:secret@127.0.0.1:9", wait=AT_ONCE)
        assert "secret" not in str(caught.value)

    def test_one_that_never_answers(self) -> None:
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            port = silent.getsockname()[1]
            with pytest.raises(StoreError, match="does not answer in time"):
                ChromaArtifactStore.server(port=port, timeout=0.1, wait=AT_ONCE)

    def test_something_else(self, pretend: Callable[..., tuple[int, list[Any]]]) -> None:
        for body in (b"<html>", b"{}", b"[]"):
            port, _ = pretend(200, body)
            with pytest.raises(StoreError, match="To fix: "):
                ChromaArtifactStore.server(port=port, wait=AT_ONCE)

    def test_one_that_is_overloaded_is_asked_again(
        self, pretend: Callable[..., tuple[int, list[Any]]]
    ) -> None:
        port, asked = pretend(503, b"later")
        with pytest.raises(StoreError, match="cannot be reached"):
            ChromaArtifactStore.server(port=port, attempts=4, wait=AT_ONCE)
        assert len(asked) == 4

    def test_a_proxy_that_wants_a_token(
        self, pretend: Callable[..., tuple[int, list[Any]]]
    ) -> None:
        port, asked = pretend(401, b"who are you?")
        with pytest.raises(StoreError, match=r"refuses the credentials .*headers="):
            ChromaArtifactStore.server(port=port, headers={"X-Token": "1234"}, wait=AT_ONCE)
        assert [headers["X-Token"] for headers in asked] == ["1234"]
