"""The embedders that ship, on a real SDK and socket: order, batches, and what is missing."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from acc.errors import ConfigurationError, StoreError
from acc.recall.dense import Dense, openai_embedder, sentence_transformer


class _Embeddings(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server: Any = self.server
        server.asked.append(asked["input"])
        rows = [
            {"object": "embedding", "index": n, "embedding": [float(len(text)), 1.0]}
            for n, text in enumerate(asked["input"])
        ]
        reply = {"object": "list", "model": asked["model"], "data": rows[::-1]}
        body = json.dumps(reply).encode()
        self.send_response(server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def endpoint() -> Iterator[Any]:
    server: Any = HTTPServer(("127.0.0.1", 0), _Embeddings)
    server.asked, server.status = [], 200
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_openais_embeddings_come_in_the_order_of_the_texts(endpoint: Any) -> None:
    import openai

    url = f"http://127.0.0.1:{endpoint.server_port}/v1"
    client = openai.OpenAI(api_key="none", base_url=url, max_retries=0)
    embed = openai_embedder("small", client)
    texts = ["a" * n for n in range(300)]
    assert [row[0] for row in embed(texts)] == [1.0, *range(1, 300)]
    assert [len(batch) for batch in endpoint.asked] == [256, 44]
    assert endpoint.asked[0][0] == " "
    assert Dense(embed).title == "openai:small"
    endpoint.status = 400
    with pytest.raises(StoreError, match="cannot embed texts: BadRequestError"):
        embed(["a"])


def test_what_an_embedder_lacks_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        openai_embedder()
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigurationError, match=r"\[dense\]"):
        sentence_transformer(str(tmp_path))
