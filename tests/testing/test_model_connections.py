"""The server's end: whatever hangs is broken off, and no thread or socket is left."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import openai
import pytest
from helpers_testing import IMPATIENT, WAYS, ask

from acc.testing import FAULTS, Fault, ModelServer


def test_it_refuses_connections_where_nothing_listens() -> None:
    with ModelServer.refused() as base_url:
        for how in WAYS:
            with pytest.raises(openai.APIConnectionError) as caught:
                ask(how, base_url)
            assert not isinstance(caught.value, openai.APITimeoutError)


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.001)


@pytest.mark.parametrize(
    "fault",
    [Fault("hang"), Fault("delay", seconds=600), Fault("slow_drip", seconds=600), None],
    ids=lambda fault: fault.name if fault else "idle",
)
def test_closing_breaks_off_what_hangs_and_leaves_nothing_behind(fault: Fault | None) -> None:
    before = set(threading.enumerate())
    server = ModelServer(["ok"], faults=[fault])
    port = int(server.base_url.split(":")[2].split("/")[0])
    with socket.create_connection(("127.0.0.1", port)) as client:
        body = b'{"model": "m", "messages": []}'
        head = f"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        if fault is None or fault.name == "slow_drip":
            assert client.recv(8) == b"HTTP/1.1"
        else:
            _until(lambda: len(server.requests) == 1)
        started = time.monotonic()
        server.close()
        server.close()
        assert time.monotonic() - started < 5
        assert set(threading.enumerate()) <= before
        client.settimeout(5)
        while client.recv(4096):
            pass  # what had been sent; then the end, and no time-out
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port)).close()


def test_no_fault_leaves_a_socket_or_a_thread_behind() -> None:
    def run_all() -> None:
        faults = [Fault(name, seconds=0.001, chunk=500) for name in FAULTS]
        with ModelServer(["ok"], faults=faults, repeats=True) as server:
            client = openai.OpenAI(
                base_url=server.base_url, api_key="none", max_retries=0, timeout=IMPATIENT
            )
            for _ in faults:
                with suppress(openai.OpenAIError, ValueError):
                    client.responses.create(model="m", input="hi")
            assert len(server.requests) == len(FAULTS)
            client.close()

    run_all()
    threads, files = threading.enumerate(), _open_files()
    run_all()
    assert threading.enumerate() == threads
    assert _open_files() == files


def _open_files() -> int:
    return len(os.listdir("/dev/fd"))


def test_a_client_that_hangs_up_ends_a_hanging_request() -> None:
    before = set(threading.enumerate())
    with ModelServer(faults=lambda _: Fault("hang")) as server:
        own = set(threading.enumerate()) - before
        for how in WAYS:
            with pytest.raises(openai.APITimeoutError):
                ask(how, server.base_url, timeout=IMPATIENT)
        _until(lambda: set(threading.enumerate()) - before <= own)
