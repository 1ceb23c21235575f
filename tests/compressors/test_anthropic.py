"""Claude through LangChain, over a real socket: what the provider's own API is sent, and what it counts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from asking import GOOD, TURN, retries, stepped

pytest.importorskip("langchain_anthropic")

from langchain_anthropic import ChatAnthropic

from acc.compress.langchain import LangChainCompressor

COUNTS = {
    "input_tokens": 10, "output_tokens": 50,
    "cache_read_input_tokens": 900, "cache_creation_input_tokens": 0,
}  # fmt: skip


@contextmanager
def claude(refused: str = "") -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server of Anthropic's API that calls the tool it is given; yields its address and the requests."""
    seen: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            seen.append(asked)
            if refused and refused in asked:
                said = f"`{refused}` is deprecated for this model."
                error = {"type": "invalid_request_error", "message": said}
                self.answer(400, {"type": "error", "error": error})
                return
            call = {
                "type": "tool_use",
                "id": "t1",
                "name": asked["tools"][0]["name"],
                "input": GOOD,
            }
            message = {"id": "m1", "type": "message", "role": "assistant", "model": asked["model"]}
            ending = {"stop_reason": "tool_use", "stop_sequence": None, "usage": COUNTS}
            self.answer(200, {**message, "content": [call], **ending})

        def answer(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", seen
        finally:
            server.shutdown()


def asking(url: str, **more: Any) -> LangChainCompressor:
    model = ChatAnthropic(
        model_name="claude-test", base_url=url, api_key="none", max_retries=0, **more
    )
    return LangChainCompressor(model, retries=retries())


@pytest.mark.parametrize("how", ["sync", "async"])
def test_the_stable_part_carries_the_marker_of_the_prompt_cache(how: str) -> None:
    with claude() as (url, seen):
        step = stepped(asking(url), how=how)
    assert step.outcome == "ok"
    assert [rule.text for rule in step.state.constraints] == ["Never restart nginx"]
    (stable,) = seen[0]["system"]
    assert stable["cache_control"] == {"type": "ephemeral"}
    assert TURN.observations[0].text not in stable["text"]
    assert "cache_control" not in json.dumps(seen[0]["messages"])
    assert step.usage == {"input": 910, "output": 50, "cached": 900}


def test_a_temperature_that_the_model_refuses_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with claude(refused="temperature") as (url, seen):
        asked = asking(url, temperature=0.0)
        steps = [stepped(asked) for _ in range(2)]
    assert [step.outcome for step in steps] == ["ok", "ok"]
    assert ["temperature" in body for body in seen] == [True, False, False]
    assert all(body["tools"] for body in seen)  # the format stays
    assert "arguments=temperature" in caplog.text
