"""The Chroma store on a server behind TLS that asks for credentials, as a proxy in front of Chroma does."""

from __future__ import annotations

import http.client
import shutil
import ssl
import subprocess
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from messages import keeps_promises
from test_artifact_server import CHROMA, Server, free_port

from acc import MemoryController, Turn
from acc.artifacts.chroma import ChromaStore
from acc.errors import StoreError

TOKEN = {"Authorization": f"Basic {b64encode(b'acc:pass:word').decode()}"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMA.exists(), reason="the chroma command is not installed"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed"),
]


class _Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    behind = 0

    def _forward(self) -> None:
        if self.headers.get("Authorization") != TOKEN["Authorization"]:
            self._answer(401, b"who are you?", "text/plain")
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with closing(http.client.HTTPConnection("127.0.0.1", self.behind, timeout=20)) as chroma:
            kept = {"Content-Type": self.headers.get("Content-Type", "application/json")}
            chroma.request(self.command, self.path, body, kept)
            answer = chroma.getresponse()
            self._answer(answer.status, answer.read(), answer.getheader("Content-Type", ""))

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _forward  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str]]:
    """The port of the proxy, and the certificate that signed its own."""
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = str(folder / "key.pem"), str(folder / "certificate.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    chroma = Server(tmp_path_factory.mktemp("chroma"))
    handler = type("Proxy", (_Proxy,), {"behind": chroma.port})
    proxy = ThreadingHTTPServer(("localhost", free_port()), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    proxy.socket = context.wrap_socket(proxy.socket, server_side=True)
    threading.Thread(target=proxy.serve_forever, args=[0.02], daemon=True).start()
    yield proxy.server_address[1], certificate
    proxy.shutdown()
    proxy.server_close()
    chroma.stop()


def _store(place: tuple[int, str], **how: Any) -> ChromaStore:
    given = {"headers": TOKEN, "verify": place[1], "timeout": 20.0, **how}
    return ChromaStore.server(f"https://localhost:{place[0]}", **given)


def test_it_keeps_the_promises(place: tuple[int, str]) -> None:
    keeps_promises(_store(place))


def test_a_memory_fills_and_asks_it(place: tuple[int, str], tmp_path: Path) -> None:
    with MemoryController.open(tmp_path, store=_store(place)) as memory:
        memory.step(None, Turn.said("The pump in hall 4 is broken."), thread="tls")
        step = memory.step(None, Turn.said("What about the pump?"), thread="tls")
        assert not step.warnings
        assert memory.settle(20)
    assert not list(tmp_path.glob("chroma*"))


def test_an_address_may_have_the_credentials(place: tuple[int, str]) -> None:
    address = f"https://acc:pass%3Aword@localhost:{place[0]}"
    with closing(ChromaStore.server(address, verify=place[1])) as store:
        assert store.count() >= 0
    with pytest.raises(StoreError, match="answers with status 401") as caught:
        ChromaStore.server(address.replace("pass%3Aword", "hidden"), verify=place[1])
    assert "hidden" not in str(caught.value)


def test_a_certificate_that_nobody_signed_is_refused(place: tuple[int, str]) -> None:
    with pytest.raises(StoreError, match="cannot be reached"):
        _store(place, verify=True)


def test_other_credentials_are_refused_and_not_repeated(place: tuple[int, str]) -> None:
    with pytest.raises(StoreError, match="answers with status 401") as caught:
        _store(place, headers={"Authorization": "Bearer wrong-one"})
    assert "wrong-one" not in str(caught.value)
