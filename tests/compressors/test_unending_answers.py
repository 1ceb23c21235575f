"""Answers that never end: the call ends at its deadline, its thread and connection with it, its body is bounded."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import openai
import pytest

import acc.compress.openai
from acc.compress.endpoint import _CallThread
from acc.compress.model import ModelCompressor
from acc.compress.openai import OpenAICompressor
from acc.errors import CompressionError
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Outcome
from acc.turn.turn import Turn

pytestmark = pytest.mark.slow

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def headers(client: socket.socket) -> None:
    client.sendall(OK)
    while True:
        client.sendall(b"X-A: b\r\n")
        time.sleep(0.05)


def interim(client: socket.socket) -> None:
    while True:
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.05)


def body(client: socket.socket) -> None:
    client.sendall(OK + b"\r\n")
    while True:
        client.sendall(b" ")
        time.sleep(0.05)


def flood(client: socket.socket) -> None:
    client.sendall(OK + b"\r\n")
    while True:
        client.sendall(b" " * 65_536)


def bomb(client: socket.socket) -> None:
    packed = gzip.compress(b" " * (64 << 20))
    head = f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    client.sendall(OK + head.encode() + packed)
    client.recv(1)  # until the client closes the connection, or sends again


class Server:
    """Answers each connection with ``how``; counts the connections that are still open."""

    def __init__(self, how: Callable[[socket.socket], None]) -> None:
        self._how = how
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self.served = self.open = 0
        self._clients: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for each in (self._socket, *self._clients):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                self._clients.append(client)
                self.served += 1
                self.open += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            client.recv(65_536)
            self._how(client)
        self.open -= 1


@contextmanager
def served(how: Callable[[socket.socket], None]) -> Iterator[Server]:
    server = Server(how)
    try:
        yield server
    finally:
        server.close()


def holds(what: Callable[[], bool]) -> bool:
    end = time.monotonic() + 10
    while not what() and time.monotonic() < end:
        time.sleep(0.02)
    return what()


def call_threads() -> int:
    return sum(thread.name == "acc-model-call" for thread in threading.enumerate())


def asked(compressor: ModelCompressor, how: str) -> CompressionError:
    given = Turn.said("Why?").numbered(1), CompressedCognitiveState.empty(), ()
    ask = compressor if how == "sync" else lambda *it: asyncio.run(compressor.acompress(*it))
    with pytest.raises(CompressionError) as caught:
        ask(*given)
    return caught.value


def compressor(url: str, whose: str) -> ModelCompressor:
    times = {"deadline": 3.0, "timeout": 2.5}
    if whose == "own":
        return OpenAICompressor("m", base_url=url, **times)  # type: ignore[arg-type]
    client = openai.OpenAI(base_url=url, api_key="none")
    return OpenAICompressor("m", client=client, **times)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")


@pytest.mark.parametrize("how", [headers, interim, body], ids=lambda how: how.__name__)
@pytest.mark.parametrize("whose", ["own", "the caller's"])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_dripping_server_keeps_neither_thread_nor_connection(
    how: Callable[[socket.socket], None], whose: str, way: str
) -> None:
    before = call_threads()
    with served(how) as server:
        asking = compressor(server.url, whose)
        started = time.monotonic()
        outcome = asked(asking, way).account.outcome  # type: ignore[union-attr]
        assert time.monotonic() - started < 12
        assert outcome in (Outcome.DEADLINE, Outcome.TIMEOUT)
        assert server.served
        assert holds(lambda: call_threads() == before)
        assert holds(lambda: not server.open)


@pytest.mark.parametrize("how", [flood, bomb], ids=lambda how: how.__name__)
@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_body_without_an_end_is_cut_off(
    how: Callable[[socket.socket], None], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acc.compress.openai, "MOST_BYTES", 1 << 20)
    with served(how) as server:
        failed = asked(OpenAICompressor("m", base_url=server.url, deadline=20.0), way)
        assert failed.account is not None
        assert failed.account.outcome is Outcome.MALFORMED_REPLY
        assert "longer than 1,048,576 bytes" in str(failed)
        assert holds(lambda: not server.open)


def test_a_thread_that_is_over_is_not_ended_again() -> None:
    running = _CallThread(lambda: 7)
    assert running.result.result(10) == 7
    running._thread.join(10)
    running.abandon()
    assert not running._thread.is_alive()
